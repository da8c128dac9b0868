"""Whether the place where operators ask is free, or a Bough's already. Nothing stays open."""

import asyncio
import socket
from contextlib import suppress

from adapters.serving.listening import Listen

PATIENCE = 5.0
"""Seconds for who is there already to answer."""
_ASKS = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
_ANSWERS = b'{"alive": '
_MOST = 4_096


async def looked_at(listen: Listen) -> tuple[bool, str]:
    """Whether a gateway can have the place, or has it; and what of that people are told."""
    where = f"{listen.host}, port {listen.port}"
    try:
        await asyncio.to_thread(_take, listen)
    except OSError as error:
        if await _is_ours(listen):
            return True, f"a bough that runs answers at {where}"
        why = (error.strerror or "the system does not say why").lower()
        cure = "change [server] listen, or end the program that is there"
        return False, f"nothing can listen at {where} ({why}): {cure}"
    return True, f"{where} is free"


def _take(listen: Listen) -> None:
    """OSError where it cannot be had."""
    found = socket.getaddrinfo(listen.host, listen.port, type=socket.SOCK_STREAM)
    for family, kind, protocol, _, address in found:
        with socket.socket(family, kind, protocol) as place:
            place.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            if family is socket.AF_INET6:
                place.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, not listen.everywhere)
            place.bind(address)


async def _is_ours(listen: Listen) -> bool:
    with suppress(OSError, TimeoutError):
        async with asyncio.timeout(PATIENCE):
            reader, writer = await asyncio.open_connection(listen.host, listen.port)
            try:
                writer.write(_ASKS)
                return _ANSWERS in await reader.read(_MOST)
            finally:
                writer.close()
    return False
