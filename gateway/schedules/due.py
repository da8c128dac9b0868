"""Looks after what is scheduled: fires what is due, and waits for the next time.

Between two times nothing is read: a commit that changes a schedule says so (`changed`). The clock
is looked at each half second, because it may be set while we sleep.
"""

import asyncio
import logging
import math
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial

from gateway.schedules.firing import FAILED, Firing, Step, earlier, plan
from storage.errors import StoreUnavailable
from storage.records.tools.schedules import Schedule
from storage.store import Store, Transaction

log = logging.getLogger(__name__)

BATCH = 250
"""Schedules that one transaction fires, in some 20 ms. Each waits in one line with the turns that
those before it began."""
GLANCE = 0.5
"""Seconds between looks at the clock, while something is scheduled."""
LOOK_EVERY = 30.0
"""Seconds between looks at the store, for what no commit of this process told of."""
RETRY = 1.0
"""Seconds until the next look after one that failed."""


class DueSchedules:
    """Its times are Unix seconds of the `clock`, which may jump."""

    def __init__(
        self, store: Store, firing: Firing, clock: Callable[[], float] = time.time
    ) -> None:
        self._store = store
        self._firing = firing
        self._clock = clock
        self._news = asyncio.Event()
        self._next = -math.inf

    def changed(self) -> None:
        """Something may be due at another time than before."""
        self._news.set()

    async def look(self) -> None:
        """Fire what is due, and note what is due next. StoreUnavailable."""
        self._news.clear()
        self._next = self._clock() + RETRY
        await self._follow_the_clock()
        while True:
            now = self._clock()
            due, next_ = await self._store.read(partial(_read, now=now))
            if not due:
                break
            await self._fire(await asyncio.to_thread(_plans, due, now))
        self._next = next_ if next_ is not None else math.inf

    async def wait(self) -> None:
        """Return when something is due, may be due now, or was not looked at for long."""
        give_up = time.monotonic() + LOOK_EVERY
        while not self._news.is_set():
            left = self._next - self._clock()
            patience = give_up - time.monotonic()
            if left <= 0 or patience <= 0:
                break
            glance = GLANCE if self._next < math.inf else patience
            with suppress(TimeoutError):
                async with asyncio.timeout(min(left, glance, patience)):
                    await self._news.wait()

    async def _fire(self, steps: Sequence[Step]) -> None:
        """Together; where that fails, each by itself, and what fails then is paused: it must
        neither stop the others nor be tried for ever."""
        try:
            return await self._store.run(partial(self._firing.fire, steps=steps))
        except StoreUnavailable:
            raise
        except Exception:
            log.exception("%d schedules cannot be fired together; each by itself now", len(steps))
        for step in steps:
            try:
                await self._store.run(partial(self._firing.fire, steps=[step]))
            except StoreUnavailable:
                raise
            except Exception:
                log.exception("schedule %d cannot be fired; it is paused", step.schedule.id)
                give_up = partial(self._firing.give_up, schedule=step.schedule, why=FAILED)
                await self._store.run(give_up)

    async def _follow_the_clock(self) -> None:
        """Where the clock was ahead and was set back, what was fired meanwhile would wait until it
        is there again."""
        now = self._clock()
        ahead = await self._store.read(lambda tx: tx.schedules.ahead(now))
        sooner = [(each, at) for each in ahead if (at := earlier(each, now)) is not None]
        if sooner:
            await self._store.run(partial(_bring_forward, sooner=sooner, now=now))


def _plans(due: Sequence[Schedule], now: float) -> list[Step]:
    return [plan(schedule, now) for schedule in due]


def _read(tx: Transaction, now: float) -> tuple[list[Schedule], float | None]:
    due = tx.schedules.due(now, BATCH)
    return due, None if due else tx.schedules.next_due()


def _bring_forward(tx: Transaction, sooner: Sequence[tuple[Schedule, float]], now: float) -> None:
    for schedule, at in sooner:
        tx.schedules.change(schedule, next=at, fired=now)
