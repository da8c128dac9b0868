"""The seam to what operators look at."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import Protocol

from gateway.monitoring.observer import Observer, Unobserved

Check = Callable[[], Awaitable[str]]
"""Why a part of the gateway is not ready, in a few words of ours; "" where it is. Asked again and
again, so it costs little."""


class Monitor(Protocol):
    @property
    def observer(self) -> Observer:
        """Who is to be told of what happens."""
        ...

    async def open(self, parts: Mapping[str, Check], children: Callable[[], int]) -> None:
        """Be there to be asked. `parts`, by short names: what must be ready besides the database;
        `children`: how many delegations are worked on now.

        Misconfigured, for people, where the place to listen cannot be had.
        """
        ...

    def depends_on(self, tasks: Iterable["asyncio.Task[None]"]) -> None:
        """The gateway lives no longer than these, which may end by themselves."""
        ...

    async def run(self) -> None:
        """Look at the event loop until cancelled; from then on the gateway is not ready."""
        ...

    def drain(self) -> None:
        """From now on the gateway takes nothing new: it is not ready, but lives."""
        ...

    async def close(self) -> None:
        """Be there no more. Closing again, or before `open`, does nothing."""
        ...


class Unmonitored:
    """Nobody listens."""

    def __init__(self) -> None:
        self.observer: Observer = Unobserved()

    async def open(self, parts: Mapping[str, Check], children: Callable[[], int]) -> None:
        pass

    def depends_on(self, tasks: Iterable["asyncio.Task[None]"]) -> None:
        pass

    async def run(self) -> None:
        pass

    def drain(self) -> None:
        pass

    async def close(self) -> None:
        pass
