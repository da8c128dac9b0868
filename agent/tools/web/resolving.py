"""Addresses of a name: from the system, or, beside it, as somebody wrote them down."""

import socket
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Protocol

from agent.fairness import FairThreads

LOOKUPS_AT_ONCE = 16
"""Each is a thread, which waits for as long as the name's own servers let it."""


class Resolver(Protocol):
    async def addresses(self, host: str, port: int, whose: str) -> Sequence[str]:
        """Every address of a name, in the order in which to try them. OSError where there is none.

        Both kinds of address, without brackets. `whose`: the conversation that asks.
        """
        ...

    def close(self) -> None: ...


class SystemResolver:
    """What the machine itself says, hosts file included.

    Lookups have threads of their own, which conversations share fairly: names whose servers never
    answer keep only the conversation waiting that asked for them.
    """

    def __init__(self) -> None:
        self._threads = FairThreads(LOOKUPS_AT_ONCE, "looking up names")

    async def addresses(self, host: str, port: int, whose: str) -> Sequence[str]:
        found = await self._threads.run(whose, partial(_look_up, host, port))
        return list(dict.fromkeys(found))

    def close(self) -> None:
        self._threads.close()


class ScriptedResolver:
    """Says what it was given: for each name its answers in turn, the last one again and again."""

    def __init__(self, answers: Mapping[str, Sequence[Sequence[str]]]) -> None:
        self._answers = {host: list(given) for host, given in answers.items()}
        self.asked: list[str] = []

    async def addresses(self, host: str, port: int, whose: str) -> Sequence[str]:
        self.asked.append(host)
        given = self._answers.get(host)
        if not given:
            raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")
        return given.pop(0) if len(given) > 1 else given[0]

    def close(self) -> None:
        pass


def _look_up(host: str, port: int) -> list[str]:
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except UnicodeError as error:  # a label that its codec refuses
        raise OSError(str(error)) from None
    return [str(address[0]) for *_, address in found]
