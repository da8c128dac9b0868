"""The tasks that go on as long as a gateway does. Alone it does all of them itself; beside others
each process looks after itself, and what one does for all are the job engine's periodic tasks."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from dataclasses import dataclass, field
from functools import partial

from gateway.processes.membership import Membership
from gateway.processes.shares import CLOCK
from gateway.retention.service import Retention
from gateway.running.due_questions import DueQuestions
from gateway.running.housekeeping import Housekeeping
from gateway.schedules.due import DueSchedules
from gateway.turns.policy.interruptions import Interruptions
from storage.errors import StoreUnavailable
from storage.faults import Faults
from storage.jobs import Advance, Jobs, Periodic
from storage.news import Committed
from storage.search.indexer import follow
from storage.store import Store

log = logging.getLogger(__name__)

SWEEP_EVERY = 30.0
TICK_EVERY = 1.0
"""Seconds between looks at what a question's policy makes due, where one follows another."""
UNSWEPT = "unfinished work cannot be looked through"
UNPRUNED = "what is old cannot be looked after"
UNFORGOTTEN = "who is to be forgotten cannot be looked after"
UNREAD = "it cannot be seen what other processes changed"
UNHEARD = "it cannot be seen whether talk goes on"
UNASKED = "questions cannot be looked after"
UNSCHEDULED = "what is scheduled cannot be looked after"

Work = Callable[[], Awaitable[None]]


@dataclass
class Upkeep:
    membership: Membership
    store: Store
    housekeeping: Housekeeping
    schedules: DueSchedules
    questions: DueQuestions
    retention: Retention
    interruptions: Interruptions
    advance: Advance
    """Does what is due in a session, in this process."""
    _stale: asyncio.Event = field(default_factory=asyncio.Event, init=False)
    _faults: Faults = field(default_factory=lambda: Faults(log), init=False)

    def tasks(self) -> Mapping[str, Coroutine[object, object, None]]:
        """By name; all go on until they are cancelled."""
        tasks = {"menus": self._keep_menus(), "sweep": self._sweep()}
        if self.membership.role.works:
            tasks["follower"] = follow(self.store)
            tasks |= {"tick": self._tick(), "schedules": self._look_ahead()}
        jobs = self.store.jobs
        if jobs is None:
            return {**tasks, "retention": self._keep()}
        tasks |= {"listener": self.store.listen(), "others": self._stay_current()}
        if self.membership.role.works:
            tasks |= {"jobs": self._share(jobs), "interruptions": self._hear_talk()}
            tasks["forgetting"] = self._forget()
        return tasks

    def begin_no_more(self) -> None:
        """Leave what is due to others, or to the next start."""
        self.housekeeping.runner.due.begin_no_more()
        if self.store.jobs is not None:
            self.store.jobs.fetch_no_more()

    def committed(self, news: Committed) -> None:
        """A commit, of whatever process."""
        if news.schedules:
            self.schedules.changed()
        if news.questions:
            self.questions.changed()
        self.retention.committed(news)
        if self.store.jobs is not None:
            self.interruptions.arrived(news.sessions)
        if news.elsewhere and news.settings:
            self._stale.set()

    async def _sweep(self) -> None:
        """Alone: all of it. Beside others: what each process does for itself."""
        while True:
            await self._try(self.housekeeping.receives, "the time cannot be noted")
            if self.store.jobs is None:
                await self._try(self.housekeeping.sweep, UNSWEPT)
            await self._try(self.housekeeping.refresh, UNREAD)
            await asyncio.sleep(SWEEP_EVERY)

    async def _share(self, jobs: Jobs) -> None:
        """Carry out what is due, of whatever process, and what one process does for all."""
        sweep = partial(self.housekeeping.sweep, shared=True)
        periodic = {
            "look ahead": Periodic("* * * * * 5,35", self._look_at_the_clock),
            "sweep": Periodic("* * * * * 0,30", self._tried(sweep, UNSWEPT)),
            "retention": Periodic("* * * * * 15,45", self._tried(self.retention.prune, UNPRUNED)),
        }
        await jobs.work(self.advance, periodic)

    async def _look_at_the_clock(self) -> None:
        """In case that whoever keeps the clock does not."""
        await self._try(self.questions.look, UNASKED)
        await self._try(self.schedules.look, UNSCHEDULED)

    async def _stay_current(self) -> None:
        """See what other processes changed, as soon as they say so."""
        while True:
            await self._stale.wait()
            self._stale.clear()
            await self._try(self.housekeeping.reread, UNREAD)

    async def _hear_talk(self) -> None:
        """End turns here that talk interrupts which other processes took in."""
        while True:
            await self.interruptions.wait()
            await self._try(self.interruptions.look, UNHEARD)

    async def _keep_menus(self) -> None:
        menus = self.housekeeping.menus
        while True:
            await menus.wait()
            await self._try(menus.look, "the menus of owners cannot be set")

    async def _look_ahead(self) -> None:
        """Begin what is scheduled, each at its time."""
        while True:
            await self._has_the_clock()
            await self._try(self.schedules.look, UNSCHEDULED)
            await self.schedules.wait()

    async def _keep(self) -> None:
        """Forget whom it is asked for, and prune what has had its time."""
        while True:
            await self._try(self.retention.forget, UNFORGOTTEN)
            await self._try(self.retention.prune, UNPRUNED)
            await self.retention.wait()

    async def _forget(self) -> None:
        """Beside others one process forgets people, as soon as any process notes them."""
        while True:
            await self._has_the_clock()
            await self._try(self.retention.forget, UNFORGOTTEN)
            await self.retention.wait()

    async def _tick(self) -> None:
        """Escalate and expire questions when they are due."""
        while True:
            await self._has_the_clock()
            await self._try(self.questions.look, UNASKED)
            await asyncio.sleep(TICK_EVERY)  # many may be asked one after the other
            await self.questions.wait()

    async def _has_the_clock(self) -> None:
        """Wait until no other process keeps it. It is the first to know what comes next, but what
        it begins is begun once, whoever looks."""
        duties = self.membership.duties
        if not duties.mine(CLOCK):
            await duties.other_than(CLOCK, {})

    def _tried(self, work: Work, what: str) -> Work:
        async def run() -> None:
            await self._try(work, what)

        return run

    async def _try(self, work: Work, what: str) -> None:
        """The boundary of a task that goes on as long as the gateway does: what fails now is tried
        the next time, and no other task ends with it."""
        try:
            await work()
        except StoreUnavailable as error:
            self._faults.failed(what, error)
        except Exception:
            log.exception("%s; it is tried again", what)
