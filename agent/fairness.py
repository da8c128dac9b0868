"""Places that conversations share fairly, and threads that are given out by the same rule.

A conversation takes another place only while it holds fewer places than are free. So it never holds
more than half of them (rounded up), and each further conversation still finds one: sixteen places
are used up only by five conversations together. Who waits is served in turns, by conversation.
"""

import asyncio
import contextvars
import os
from collections import Counter, OrderedDict
from collections.abc import AsyncIterator, Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import asynccontextmanager
from functools import partial
from typing import TypeVar

from agent.errors import ToolError

T = TypeVar("T")
_Queue = OrderedDict[asyncio.Future[None], None]


def is_fair(held: int, free: int) -> bool:
    """Whether who holds so many places may take another."""
    return held < free


class FairPlaces:
    """A bounded number of places. Belongs to one event loop at a time."""

    def __init__(self, most: int, what: str, patience: float | None = None) -> None:
        """`what`: for whom or what the places are, in words that follow "places for". `patience`:
        seconds for which a place is waited for; None: for ever."""
        self.most = most
        self._what = what
        self._patience = patience
        self._held: Counter[str] = Counter()
        self._waiting: OrderedDict[str, _Queue] = OrderedDict()
        """By conversation; the next to be served is the first."""

    @property
    def free(self) -> int:
        return self.most - self._held.total()

    def held(self, whose: str) -> int:
        """Places of one conversation."""
        return self._held[whose]

    def may_take(self, whose: str) -> bool:
        """Whether a conversation may take a place now, whoever waits."""
        return is_fair(self._held[whose], self.free)

    @asynccontextmanager
    async def place(self, whose: str) -> AsyncIterator[None]:
        """Hold a place of a conversation. ToolError, which says why, where none came in time."""
        await self.take(whose)
        try:
            yield
        finally:
            self.give_back(whose)

    async def take(self, whose: str, *, patient: bool = False) -> None:
        """As `place`; each is given back once. `patient`: it is waited for as long as it takes,
        because what is done there must not be left undone."""
        place: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.setdefault(whose, OrderedDict())[place] = None
        self._serve()
        if place.done():
            return
        try:
            async with asyncio.timeout(None if patient else self._patience):
                await place
        except BaseException as error:
            self._leave(whose, place)
            if isinstance(error, TimeoutError):
                raise ToolError(self._why(whose)) from None
            raise

    def give_back(self, whose: str) -> None:
        self._held[whose] -= 1
        if not self._held[whose]:
            del self._held[whose]
        self._serve()

    def _serve(self) -> None:
        """Give the free places to those who wait: each conversation gets one, then the next."""
        while (whose := next(filter(self.may_take, self._waiting), None)) is not None:
            queue = self._waiting.pop(whose)
            place, _ = queue.popitem(last=False)
            if queue:
                self._waiting[whose] = queue
            if not place.done():
                self._held[whose] += 1
                place.set_result(None)

    def _leave(self, whose: str, place: asyncio.Future[None]) -> None:
        if place.done() and not place.cancelled():
            return self.give_back(whose)  # it came just as its waiter went away
        queue = self._waiting.get(whose)
        if queue is not None and queue.pop(place, place) is None and not queue:
            del self._waiting[whose]

    def _why(self, whose: str) -> str:
        if held := self._held[whose]:
            return (
                f"{held} of the {self.most} places for {self._what} are this conversation's own, "
                "and the rest is kept for others; nothing was done. Try again when one of them is "
                "done"
            )
        return (
            f"all {self.most} places for {self._what} are taken by other conversations; nothing "
            "was done. Try again in a minute"
        )


class FairThreads:
    """Threads for what blocks: apart from the event loop's own, which everything shares."""

    def __init__(self, most: int, what: str, patience: float | None = None) -> None:
        """As FairPlaces."""
        self._given = (most, what, patience)
        self._process = os.getpid()
        self._renew()

    def _renew(self) -> None:
        most, what, patience = self._given
        self.places = FairPlaces(most, what, patience)
        self._threads = ThreadPoolExecutor(most, thread_name_prefix="fair")

    async def run(self, whose: str, work: Callable[[], T], *, patient: bool = False) -> T:
        """What the work gives, which blocks. ToolError where no thread came in time, but for the
        `patient`. Cancelled, the work goes on, and keeps its place until it ends."""
        if self._process != os.getpid():
            self._process = os.getpid()
            self._renew()  # a process that was forked off has none of the threads
        await self.places.take(whose, patient=patient)
        loop = asyncio.get_running_loop()
        try:
            future = self._threads.submit(contextvars.copy_context().run, work)
        except BaseException:
            self.places.give_back(whose)
            raise
        future.add_done_callback(partial(self._done, loop, whose))
        return await asyncio.wrap_future(future)

    def close(self) -> None:
        """What runs is not waited for."""
        self._threads.shutdown(wait=False, cancel_futures=True)

    def _done(self, loop: asyncio.AbstractEventLoop, whose: str, _: Future[T]) -> None:
        """Called in the thread."""
        try:
            loop.call_soon_threadsafe(self.places.give_back, whose)
        except RuntimeError:  # the loop is closed: nothing on it waits for a place
            self.places.give_back(whose)
