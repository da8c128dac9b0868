"""Everything that is said waits here for its turn, so that no platform has to ask us to slow down.

What lasts (the outbox) waits: answers and questions first, then what no person waits for. What is
fleeting (typing, progress, drafts) goes at once or not at all, and leaves places for what lasts.
Among equals who waits longest goes first, and of drafts the chat that was shown something longest
ago. Each conversation sends one message at a time: a chat with much to say takes one turn of many.
"""

import asyncio
import math
import time
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass

from adapters.base import Throttled
from adapters.events import Conversation
from adapters.pacing import MANY, MESSAGES, Pacer, Rates, Urgency

AGAIN = 0.25
"""Seconds after which what is fleeting may be tried again where nobody knows when there is room."""
LONGEST_SLEEP = 60.0
"""Seconds after which the clock is looked at again, at the latest."""
LONG = 10.0
"""Seconds after which a notice goes like an answer: many answers do not keep it back for ever."""


@dataclass(frozen=True, slots=True, eq=False)
class _Waiter:
    to: Conversation
    kind: str
    urgency: Urgency
    since: float
    admitted: "asyncio.Future[Callable[[bool], None]]"


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

    def held(self, to: Conversation, kind: str) -> float:
        """Seconds for which the platform has asked to wait there."""
        line = self._lines.get(to.platform)
        return line.pacer.held(to, kind) if line is not None else 0.0

    @asynccontextmanager
    async def turn(
        self,
        to: Conversation,
        kind: str,
        urgency: Urgency = Urgency.ANSWER,
        *,
        patience: float | None = None,
    ) -> AsyncIterator[None]:
        """Send within the block: something of a kind, "post", "edit", "typing" … Throttled where
        what is fleeting must not now, or where it took more than `patience` seconds. A Throttled
        that is raised within holds up that chat, or all, for as long as it says."""
        line = self._lines.get(to.platform)
        if line is None:
            with self._telling(to.platform):
                yield
            return
        if urgency is Urgency.FLEETING:
            end = line.at_once(to, kind)
        else:
            end = await line.in_turn(to, kind, urgency, patience)
        accepted = False
        try:
            with self._telling(to.platform):
                yield
            accepted = True
        except Throttled as error:
            line.pacer.refused(to, kind, error.retry_after, everywhere=error.everywhere)
            raise
        finally:
            end(accepted)
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
        self._shown: dict[str, float] = {}
        """When something was shown in a chat for the last time."""
        self._wanting: dict[str, float] = {}
        """Chats whose draft found no room in all, and until when their places are kept."""

    def at_once(self, to: Conversation, kind: str) -> Callable[[bool], None]:
        now, shows = self.pacer.clock(), kind in MESSAGES
        wait = self.pacer.wait(to, kind, Urgency.FLEETING, self._ahead(to.chat, now, shows))
        if wait <= 0 and any(waiter.to.chat == to.chat for waiter in self._waiting):
            wait = AGAIN  # nobody is overtaken
        if wait > 0:
            wait = wait if wait < math.inf else AGAIN
            if shows and self.pacer.wait_in_chat(to, kind, Urgency.FLEETING) <= 0:
                self._wanting[to.chat] = now + wait + AGAIN
            raise Throttled(wait)
        return self._take(to, kind, Urgency.FLEETING)

    def _ahead(self, chat: str, now: float, shows: bool) -> int:
        """How many chats that found no room were shown something longer ago, or never. What shows
        no text is behind all of them."""
        for each in [each for each, until in self._wanting.items() if until < now]:
            del self._wanting[each]
        own = self._shown.get(chat, -math.inf) if shows else math.inf
        others = (each for each in self._wanting if each != chat)
        return sum(self._shown.get(each, -math.inf) < own for each in others)

    def _take(self, to: Conversation, kind: str, urgency: Urgency) -> Callable[[bool], None]:
        if kind in MESSAGES:
            self._wanting.pop(to.chat, None)
            self._shown.pop(to.chat, None)
            self._shown[to.chat] = self.pacer.clock()
            if len(self._shown) > MANY:
                del self._shown[next(iter(self._shown))]
        return self.pacer.take(to, kind, urgency)

    async def in_turn(
        self, to: Conversation, kind: str, urgency: Urgency, patience: float | None
    ) -> Callable[[bool], None]:
        admitted = asyncio.get_running_loop().create_future()
        waiter = _Waiter(to, kind, urgency, self.pacer.clock(), admitted)
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
            admitted.result()(False)
        self.move_up()

    def move_up(self) -> None:
        """Admit who may send now, and look again when the next one may."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        soonest, left, now = math.inf, [], self.pacer.clock()
        for waiter in sorted(self._waiting, key=lambda one: (_rank(one, now), one.since)):
            if waiter.admitted.done():
                continue  # cancelled; it leaves by itself
            urgency = _rank(waiter, now)
            wait = self.pacer.wait(waiter.to, waiter.kind, urgency)
            if wait <= 0:
                waiter.admitted.set_result(self._take(waiter.to, waiter.kind, urgency))
            else:
                soonest = min(soonest, wait)
                if urgency is not Urgency.ANSWER:
                    soonest = min(soonest, waiter.since + LONG - now)
                left.append(waiter)
        self._waiting = left
        if soonest < math.inf:
            loop = asyncio.get_running_loop()
            self._timer = loop.call_later(min(soonest, LONGEST_SLEEP), self.move_up)


def _rank(waiter: _Waiter, now: float) -> Urgency:
    """Which it has by now."""
    return Urgency.ANSWER if now - waiter.since >= LONG else waiter.urgency
