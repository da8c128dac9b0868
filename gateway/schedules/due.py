"""Looks after what is scheduled: fires what is due, and waits for the next time.

Between two times nothing is read: a commit that changes a schedule says so (`changed`).
"""

import asyncio
import logging
import time
from collections.abc import Callable, Sequence
from functools import partial

from gateway.schedules.alarm import Alarm
from gateway.schedules.firing import FAILED, Firing, Step, earlier, plan
from storage.errors import StoreUnavailable
from storage.records.tools.schedules import Schedule
from storage.store import Store, Transaction

log = logging.getLogger(__name__)

BATCH = 250
"""Schedules that one transaction fires, in some 20 ms. Each waits in one line with the turns that
those before it began."""


class DueSchedules:
    """Its times are Unix seconds of the `clock`, which may jump."""

    def __init__(
        self, store: Store, firing: Firing, clock: Callable[[], float] = time.time
    ) -> None:
        self._store = store
        self._firing = firing
        self._clock = clock
        self._alarm = Alarm(clock)
        self._looking = asyncio.Lock()

    def changed(self) -> None:
        """Something may be due at another time than before."""
        self._alarm.changed()

    async def look(self) -> None:
        """Fire what is due, and note what is due next. StoreUnavailable."""
        async with self._looking:
            self._alarm.begin()
            await self._follow_the_clock()
            while True:
                now = self._clock()
                due, next_ = await self._store.read(partial(_read, now=now))
                if not due:
                    break
                await self._fire(await asyncio.to_thread(_plans, due, now))
            self._alarm.set(next_)

    async def wait(self) -> None:
        """Until something is due, or may be."""
        await self._alarm.wait()

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
