"""What this process alone does now: polls a bot, holds a connection, sends to a part of the chats.

Each duty is a lease in the database, renewed by one heartbeat. It is ours only while that is
certain by our own clock, which is asked again before each request: so a process that stood still,
or cannot reach the database, knows that it is late before anybody hears of it.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass

from adapters.timeliness import only_while
from gateway.processes.shares import Share

Idle = Callable[[str], bool]
"""Whether nothing of a duty is under way."""


class Lapsed(Exception):
    """A duty is another process's by now, or may be."""


@dataclass(slots=True, eq=False)
class Hold:
    """Of one piece of work, on the duty that it needs."""

    timeout: asyncio.Timeout | None = None
    acts: bool = False
    """Nothing is waited for any more: what is under way comes to its end, though the duty is to be
    given to another process."""


class Duties:
    """With a database of our own: we have every duty, and nothing to renew."""

    alone = True

    def want(self, share: Share, idle: Idle) -> None:
        """Take part in these, from the next heartbeat on."""

    def leave(self, share: Share) -> None:
        """Take part no more. Nothing of it may be under way."""

    def tenure(self, name: str) -> int | None:
        """While a duty is surely ours, a number that is another each time it comes; else None."""
        return 0

    def has(self, name: str) -> bool:
        return self.tenure(name) is not None

    def mine(self, share: Share) -> Mapping[str, int]:
        """Those that are surely ours, with their tenures."""
        return dict.fromkeys(share.names, 0)

    def part(self, share: Share) -> float:
        """How much of it is ours, from 0 to 1."""
        return 1.0

    def watch(self, listener: Callable[[], None]) -> None:
        """Have `listener` called, on the event loop, when duties come or go."""

    def settled(self) -> None:
        """Something ended that was under way: a duty may be given to another process now."""

    def alive(self) -> bool:
        """Whether other processes surely know that this one lives."""
        return True

    @property
    def living(self) -> frozenset[str]:
        """The names of other processes that live."""
        return frozenset()

    async def other_than(self, share: Share, had: Mapping[str, int]) -> Mapping[str, int]:
        """What we have of a share, as soon as it is not what we had."""
        while (mine := self.mine(share)) == had:
            await asyncio.Event().wait()
        return mine

    @asynccontextmanager
    async def hold(self, name: str, tenure: int) -> AsyncIterator[Hold]:
        """Do something of a duty within the block, which is cut off with Lapsed where the duty
        may become another's meanwhile."""
        yield Hold()

    async def begin(self) -> None:
        """Take what is wanted so far and free. StoreUnavailable."""

    async def run(self) -> None:
        """Renew until cancelled."""
        await asyncio.Event().wait()

    async def end(self) -> None:
        """Let everything go. StoreUnavailable."""


@asynccontextmanager
async def cut_off(hold: Hold, until: float, check: Callable[[], bool]) -> AsyncIterator[None]:
    """`until`: by the clock of the event loop, unless the hold's time-out is put off. Lapsed."""
    try:
        async with asyncio.timeout_at(until) as hold.timeout:
            with only_while(check):
                yield
    except TimeoutError:
        if hold.timeout is not None and hold.timeout.expired():
            raise Lapsed from None
        raise
