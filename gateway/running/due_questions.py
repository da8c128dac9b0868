"""Escalates and expires open questions, each when it is due."""

import asyncio
import logging
import time
from collections.abc import Callable
from functools import partial

from gateway.questions.service import Questions
from gateway.schedules.alarm import Alarm
from gateway.turns.failures import Tries
from storage.errors import StoreUnavailable
from storage.store import Store, Transaction

log = logging.getLogger(__name__)


class DueQuestions:
    def __init__(
        self, store: Store, questions: Questions, clock: Callable[[], float] = time.time
    ) -> None:
        self._store = store
        self._questions = questions
        self._clock = clock
        self._alarm = Alarm(clock)
        self._looking = asyncio.Lock()
        self._failures = Tries()
        self._stuck: set[int] = set()
        """Questions that failed each time: only a person can decide them now."""

    def changed(self) -> None:
        """Something may be due at another time than before."""
        self._alarm.changed()

    async def wait(self) -> None:
        """Until something is due, or may be."""
        await self._alarm.wait()

    async def look(self) -> None:
        """Do what is due, and note what is due next. StoreUnavailable."""
        async with self._looking:
            self._alarm.begin()
            while True:
                due, next_ = await self._store.read(partial(self._read, now=self._clock()))
                due = [question for question in due if question not in self._stuck]
                if not due:
                    break
                if not await self._tick(due):
                    return  # it is tried again before long
            self._alarm.set(next_)

    async def _tick(self, due: list[int]) -> bool:
        """Each by itself: one that fails must not stop the others. Whether all went well."""
        well = True
        for question in due:
            try:
                await self._store.run(partial(self._questions.tick, question=question))
            except StoreUnavailable:
                raise
            except Exception:
                log.exception("question %d cannot be looked after", question)
                if not self._failures.again(question):
                    self._stuck.add(question)
                well = False
            else:
                self._failures.forget(question)
        return well

    def _read(self, tx: Transaction, now: float) -> tuple[list[int], float | None]:
        return self._questions.due(tx, now), self._questions.next_due(tx, now)
