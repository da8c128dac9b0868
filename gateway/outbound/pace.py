"""Everything that is said waits here for its turn, so that no platform has to ask us to slow down.

What lasts (the outbox) waits; what is fleeting (typing, progress) goes at once or not at all, and
leaves places for what lasts. Whoever waits longest goes first, and each conversation sends one
message at a time: a chat with much to say takes one turn of many.
"""

import asyncio
import math
import time
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass

from adapters.base import Throttled
from adapters.events import Conversation
from adapters.pacing import Pacer, Rates

AGAIN = 0.25
"""Seconds after which what is fleeting may be tried again where nobody knows when there is room."""
LONGEST_SLEEP = 60.0
"""Seconds after which the clock is looked at again, at the latest."""


@dataclass(frozen=True, slots=True, eq=False)
class _Waiter:
    to: Conversation
    kind: str
    admitted: "asyncio.Future[Callable[[], None]]"


class Pace:
    def __init__(
        self,
        rates: Mapping[str, Rates] | None = None,
        clock: Callable[[], float] = time.monotonic,
        throttled: Callable[[str], None] = lambda _: None,
        part: Callable[[], float] = lambda: 1.0,
    ) -> None:
        """`rates`: by platform; one that has none sends as fast as it can. `throttled`: told of a
        platform each time that it asks to wait. `part`: how much of what a platform allows a bot in
        all is this process's."""
        self._throttled = throttled
        self._lines = {
            name: _Line(Pacer(each, clock, part)) for name, each in (rates or {}).items()
        }

    def divided_anew(self) -> None:
        """This process's part is another one than before."""
        for line in self._lines.values():
            line.move_up()

    @asynccontextmanager
    async def turn(
        self, to: Conversation, kind: str, *, fleeting: bool = False, patience: float | None = None
    ) -> AsyncIterator[None]:
        """Send within the block: something of a kind, "post", "edit", "typing" … Throttled where
        what is fleeting must not now, or where it took more than `patience` seconds. A Throttled
        that is raised within holds up that chat for as long as it says."""
        line = self._lines.get(to.platform)
        if line is None:
            with self._telling(to.platform):
                yield
            return
        end = line.at_once(to, kind) if fleeting else await line.in_turn(to, kind, patience)
        try:
            with self._telling(to.platform):
                yield
        except Throttled as error:
            line.pacer.block(to, kind, error.retry_after, everywhere=error.everywhere)
            raise
        finally:
            end()
            line.move_up()

    @contextmanager
    def _telling(self, platform: str) -> Iterator[None]:
        try:
            yield
        except Throttled:
            self._throttled(platform)
            raise


class _Line:
    """Those who wait to send on one platform."""

    def __init__(self, pacer: Pacer) -> None:
        self.pacer = pacer
        self._waiting: list[_Waiter] = []
        self._timer: asyncio.TimerHandle | None = None

    def at_once(self, to: Conversation, kind: str) -> Callable[[], None]:
        wait = self.pacer.wait(to, kind, fleeting=True)
        if wait <= 0 and any(waiter.to.chat == to.chat for waiter in self._waiting):
            wait = AGAIN  # nobody is overtaken
        if wait > 0:
            raise Throttled(wait if wait < math.inf else AGAIN)
        return self.pacer.take(to, kind)

    async def in_turn(
        self, to: Conversation, kind: str, patience: float | None
    ) -> Callable[[], None]:
        waiter = _Waiter(to, kind, asyncio.get_running_loop().create_future())
        self._waiting.append(waiter)
        self.move_up()
        try:
            async with asyncio.timeout(patience):
                return await waiter.admitted
        except (TimeoutError, asyncio.CancelledError) as error:
            self._leave(waiter)
            if isinstance(error, TimeoutError):
                raise Throttled(AGAIN) from None
            raise

    def _leave(self, waiter: _Waiter) -> None:
        """It will not send, whether it was admitted meanwhile or not."""
        if waiter in self._waiting:
            self._waiting.remove(waiter)
        admitted = waiter.admitted
        if admitted.done() and not admitted.cancelled():
            admitted.result()()
        self.move_up()

    def move_up(self) -> None:
        """Admit whoever may send now, and look again when the next one may."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        soonest, left = math.inf, []
        for waiter in self._waiting:
            if waiter.admitted.done():
                continue  # cancelled; it leaves by itself
            wait = self.pacer.wait(waiter.to, waiter.kind)
            if wait <= 0:
                waiter.admitted.set_result(self.pacer.take(waiter.to, waiter.kind))
            else:
                soonest = min(soonest, wait)
                left.append(waiter)
        self._waiting = left
        if soonest < math.inf:
            loop = asyncio.get_running_loop()
            self._timer = loop.call_later(min(soonest, LONGEST_SLEEP), self.move_up)
