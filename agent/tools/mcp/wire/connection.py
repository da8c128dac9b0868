"""A connection to one server, as the rest sees it: the SDK behind it is imported late."""

from collections.abc import Callable, Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import Protocol

from agent.errors import AgentError
from storage.records.entries import Json

LONGEST_CALL = 3_600.0
"""Seconds of a call, however much it says that it makes progress."""


class Unreachable(AgentError):
    """The server cannot be used, or no more. The text says why, in words without secrets."""


class Refused(AgentError):
    """The server answered, with an error. The text is the server's own: untrusted."""


class Late(AgentError):
    """The server did not answer in time."""


@dataclass(frozen=True, slots=True)
class Endpoint:
    """How a server is reached: by a command, or at a URL."""

    command: tuple[str, ...] = ()
    env: Mapping[str, str] | None = None
    url: str = ""
    headers: Mapping[str, str] | None = None
    old: bool = False
    """Whether to begin as servers before 2026 know it, without asking what they speak."""
    start_seconds: float = 60.0
    """For the answer to the greeting."""


class Connection(Protocol):
    async def tools(self) -> list[Json]:
        """What the server lists, mended. Raises Unreachable, Refused, Late."""
        ...

    async def call(
        self, tool: str, arguments: Json, seconds: float, progress: Callable[[str], None]
    ) -> Json:
        """The result, mended. `seconds` count anew with each sign of progress, of which `progress`
        is told, up to LONGEST_CALL. Raises Unreachable, Refused, Late. Cancelled, it tells the
        server."""
        ...

    async def lost(self) -> str:
        """Returns when the connection is gone, with the reason."""
        ...


Connect = Callable[
    [Endpoint, Callable[[], None], Callable[[str], None]],
    AbstractAsyncContextManager[Connection],
]
"""An endpoint; what is called when the list of tools changed, and with each line of a program's
standard error. Entering raises Unreachable."""
