"""Ports for those who cannot take any that is free: they are told one, or take it again later."""

import random
import socket

_FIRST, _LAST = 20_000, 32_000
"""Below those that a kernel gives to who takes any: nobody else comes by them in the meantime."""


def free_port() -> int:
    """One of 127.0.0.1 at which nobody listens."""
    chance = random.SystemRandom()
    while True:
        port = chance.randint(_FIRST, _LAST)
        with socket.socket() as taken:
            try:
                taken.bind(("127.0.0.1", port))
            except OSError:
                continue
        return port
