"""procrastinate's worker, for a database that may be away for a while and a process that may stand
still: what it runs goes on without the one, and is given up after the other."""

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass
from functools import partial
from typing import Any

from procrastinate import App
from procrastinate.exceptions import ConnectorException, UniqueViolation
from procrastinate.job_context import JobContext
from procrastinate.jobs import Job, Notification, Status
from procrastinate.periodic import PeriodicDeferrer, PeriodicTask
from procrastinate.types import JSONDict
from procrastinate.worker import Worker
from sqlalchemy import Connection

from storage.errors import StoreUnavailable
from storage.faults import Faults
from storage.sql.shared.alone import Write
from storage.sql.shared.statements import finish, sign

log = logging.getLogger(__name__)

SESSIONS, PERIODIC = "sessions", "periodic"
"""Queues."""
BEAT_EVERY = 2.0
SIGN_AT_THE_LATEST = 3.0
STALLED_AFTER = 8.0
"""Seconds: between signs of life of a worker, while one waits for others to write, and without one
until its jobs are taken over."""
WATCH_EVERY = 3.0
"""Seconds between looks for workers that are gone."""
LOOK_EVERY = 5.0
"""Seconds between looks for jobs that nobody was told of: a notice was lost, or whoever worked on
the same session begins nothing more."""
PAUSE = 1.0
"""Seconds until a database that is away is asked again."""
AT_ONCE = 500
"""Jobs that one process works on: most of them wait for a model."""
NOT_FETCHED = "jobs cannot be fetched"


class LatestDeferrer(PeriodicDeferrer):
    """Does what was due last, once, whatever the clock did meanwhile. procrastinate's own makes a
    job of each time that went by, and none before the clock is where it was before it was set
    back."""

    def get_timestamps(
        self, periodic_task: PeriodicTask[..., Any, Any], since: int | None, until: float
    ) -> Iterable[int]:
        latest = super().get_timestamps(periodic_task, None, until)
        return (timestamp for timestamp in latest if timestamp != since)


@dataclass(slots=True)
class Queue:
    """What is known of it."""

    grew: bool = False
    """A job came since the last one was asked for, which may not have been seen."""
    waits: bool = True
    """Jobs may wait for one that is begun: of those nobody is told when they can be begun."""


class PatientWorker(Worker):
    """Overrides what ends procrastinate's worker where its database is away, and what it writes of
    jobs that may be others' by now. A job that ends makes it look for those that waited for it."""

    def __init__(
        self,
        app: App,
        faults: Faults,
        queue: Queue,
        fetches: Callable[[], bool],
        watch: Callable[[], Awaitable[None]],
        write: Write,
    ) -> None:
        """`fetches`: whether it is to begin jobs; `watch` looks for workers that are gone."""
        super().__init__(
            app,
            queues=[SESSIONS, PERIODIC],
            concurrency=AT_ONCE,
            fetch_job_polling_interval=LOOK_EVERY,
            listen_notify=False,  # it listens by itself, see below
            install_signal_handlers=False,
            delete_jobs="always",
            shutdown_graceful_timeout=0.0,
            update_heartbeat_interval=BEAT_EVERY,
            stalled_worker_timeout=STALLED_AFTER,
        )
        self._faults = faults
        self._queue = queue
        self._fetches = fetches
        self._watch = watch
        self._write = write
        self._beat = time.monotonic()
        """When it last gave a sign of life."""
        self._unheard: frozenset[int] = frozenset()
        """Jobs that it had at the last look, by the database's word, and had not begun."""

    @property
    def takes(self) -> bool:
        """Whether it may begin a job that was not fetched; in any thread."""
        goes = self.worker_id is not None and not self._stop_event.is_set()
        return (
            goes and self._fetches() and not self._is_late() and len(self._running_jobs) < AT_ONCE
        )

    @property
    def number(self) -> int:
        """As the engine knows it; 0 where it is gone."""
        return self.worker_id or 0

    def begin(self, job: Job) -> None:
        """Do a job that this worker has without having fetched it."""
        if self._stop_event.is_set():
            log.info("%s is left to the next worker", job.call_string)
            return
        context = JobContext(
            app=self.app,
            worker_name=self.worker_name,
            worker_queues=self.queues,
            job=job,
            abort_reason=lambda: self._job_ids_to_abort.get(job.id or 0),
            start_timestamp=time.time(),
        )
        task = asyncio.create_task(self._in_its_turn(context), name=job.call_string)
        self._running_jobs[task] = context
        task.add_done_callback(self._running_jobs.pop)

    async def _in_its_turn(self, context: JobContext) -> None:
        async with self._job_semaphore:
            await self._process_job(context)

    def _log_extra(self, *args: Any, **kwargs: Any) -> JSONDict:
        """Nothing, for each of six lines about a job: what they say is in their text."""
        return {}

    def _is_late(self) -> bool:
        return time.monotonic() - self._beat >= STALLED_AFTER

    async def _update_heartbeat(self) -> None:
        while True:
            began = time.monotonic()
            if self._is_late():
                log.warning("this process stood still: others go on with what it had begun")
                self.stop()  # type: ignore[no-untyped-call]
                return
            try:
                assert self.worker_id is not None
                await self._give_sign(self.worker_id)
                self._beat = began
            except ConnectorException as error:
                self._away(error)
            except StoreUnavailable as error:
                self._faults.failed(NOT_FETCHED, error)
            await asyncio.sleep(max(began + BEAT_EVERY - time.monotonic(), 0.1))

    async def _give_sign(self, worker: int) -> None:
        """By the process's writer, who refers to the same row with each job that it takes, and
        would be in its own way; while that one waits for something, without it."""
        given = False

        def give(connection: Connection) -> None:
            if not given:
                sign(connection, worker)

        writing = asyncio.ensure_future(self._write(give))
        done, _ = await asyncio.wait([writing], timeout=SIGN_AT_THE_LATEST)
        if done:
            return writing.result()
        given = True
        writing.add_done_callback(_seen)
        await self.app.job_manager.update_heartbeat(worker)

    def _start_side_tasks(self) -> list[asyncio.Task[Any]]:
        tasks = super()._start_side_tasks()
        more = {"listener": self._listen, "watch": self._keep_watch}
        for name, work in more.items():
            tasks.append(asyncio.create_task(self._patiently(work), name=name))
        return tasks

    async def _keep_watch(self) -> None:
        while True:
            await self._watch()
            await self._begin_unheard()
            await asyncio.sleep(WATCH_EVERY)

    async def _begin_unheard(self) -> None:
        """Begin what this worker has and was never told of: the answer to a fetch, or to a commit
        that took it, was lost with its connection. While it lives, nobody else would. What is on
        its way here, or ends, is seen so in one look and not in the next. ConnectorException."""
        if not self._fetches():
            return
        manager, doing = self.app.job_manager, Status.DOING.value
        found = await manager.list_jobs_async(worker_id=self.number, status=doing)
        ours = {job.id or 0: job for job in found}
        begun = {context.job.id for context in self._running_jobs.values()}
        unheard = frozenset(ours.keys() - begun)
        for number in sorted(unheard & self._unheard):
            log.info("%s is begun, of which this process had not heard", ours[number].call_string)
            self.begin(ours[number])
        self._unheard = unheard

    async def _listen(self) -> None:
        await self.app.job_manager.listen_for_jobs(
            on_notification=self._handle_notification, queues=self.queues
        )

    async def _periodic_deferrer(self) -> None:
        await self._patiently(self._defer_periodically)

    async def _defer_periodically(self) -> None:
        registry = self.app.periodic_registry
        await LatestDeferrer(registry, **self.app.periodic_defaults).worker()

    async def _poll_jobs_to_abort(self) -> None:
        """Nobody aborts jobs: turns are cut by those who hold their session."""
        await asyncio.Event().wait()

    async def _patiently(self, work: Callable[[], Awaitable[None]]) -> None:
        """Again and again, while the database is away."""
        while True:
            try:
                await work()
            except ConnectorException as error:
                self._away(error)
            await asyncio.sleep(PAUSE)

    async def _fetch_and_process_jobs(self) -> None:
        if not self._fetches():
            self._new_job_event.clear()
            return
        try:
            self._queue.grew = True
            while self._queue.grew and not self._stop_event.is_set():
                await super()._fetch_and_process_jobs()  # type: ignore[no-untyped-call]
        except UniqueViolation:
            # Another process took a job of the same session in that moment.
            self._new_job_event.set()
        except ConnectorException as error:
            self._away(error)
            await asyncio.sleep(PAUSE)

    async def _handle_notification(self, *, channel: str, notification: Notification) -> None:
        self._queue.grew = True
        await super()._handle_notification(channel=channel, notification=notification)

    async def _process_job(self, context: JobContext) -> None:
        try:
            await super()._process_job(context)
        finally:
            if self._queue.waits:
                self._new_job_event.set()

    async def _persist_job_status(self, job: Job, *_args: Any, **_kwargs: Any) -> None:
        """While it is not written down that a job is over, nobody works on its session. That is
        given up with the worker, and not before: what is late now may not be in a moment."""
        assert job.id is not None
        while True:
            try:
                await self._write(partial(finish, job=job.id, worker=self.number))
            except StoreUnavailable as error:
                self._faults.failed(NOT_FETCHED, error)
                if self._is_late() and self._stop_event.is_set():
                    return
                await asyncio.sleep(PAUSE)
            else:
                self._job_ids_to_abort.pop(job.id, None)
                return

    def _away(self, error: ConnectorException) -> None:
        self._faults.failed(NOT_FETCHED, in_our_words(error))


def _seen(writing: "asyncio.Future[None]") -> None:
    """It came late, and nobody waits for what became of it."""
    if not writing.cancelled() and (error := writing.exception()) is not None:
        log.debug("a sign of life was not written: %s", error)


def in_our_words(error: ConnectorException) -> StoreUnavailable:
    said = str(error.__cause__ or error).partition("\n")[0].strip()
    return StoreUnavailable(f"the job engine's database: {said}")
