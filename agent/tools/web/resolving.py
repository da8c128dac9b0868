"""Addresses of a name: from the system, or, beside it, as somebody wrote them down."""

import asyncio
import socket
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Protocol

LOOKUPS_AT_ONCE = 4


class Resolver(Protocol):
    async def addresses(self, host: str, port: int) -> Sequence[str]:
        """Every address of a name, in the order in which to try them. OSError where there is none.

        Both kinds of address, without brackets.
        """
        ...

    def close(self) -> None: ...


class SystemResolver:
    """What the machine itself says, hosts file included.

    Lookups have threads of their own: one that hangs keeps nothing but other lookups waiting.
    """

    def __init__(self) -> None:
        self._threads = ThreadPoolExecutor(LOOKUPS_AT_ONCE, thread_name_prefix="lookup")

    async def addresses(self, host: str, port: int) -> Sequence[str]:
        found = await asyncio.get_running_loop().run_in_executor(
            self._threads, _look_up, host, port
        )
        return list(dict.fromkeys(found))

    def close(self) -> None:
        self._threads.shutdown(wait=False, cancel_futures=True)


class ScriptedResolver:
    """Says what it was given: for each name its answers in turn, the last one again and again."""

    def __init__(self, answers: Mapping[str, Sequence[Sequence[str]]]) -> None:
        self._answers = {host: list(given) for host, given in answers.items()}
        self.asked: list[str] = []

    async def addresses(self, host: str, port: int) -> Sequence[str]:
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
