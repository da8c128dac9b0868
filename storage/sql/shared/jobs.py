"""Wake-ups as jobs of procrastinate: one for each session, which stands in the queue once
(`queueing_lock`) and is carried out by one worker at a time (`lock`)."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from functools import partial
from typing import Any, TypeVar

from procrastinate import App, PsycopgConnector, SyncPsycopgConnector
from procrastinate.exceptions import AlreadyEnqueued, ConnectorException, UniqueViolation
from procrastinate.job_context import JobContext
from procrastinate.jobs import Job, Status
from procrastinate.manager import JobManager
from procrastinate.schema import SchemaManager
from psycopg import AsyncConnection
from psycopg.errors import AdminShutdown, CrashShutdown, IdleSessionTimeout, RaiseException
from psycopg_pool import AsyncConnectionPool
from sqlalchemy import Connection, text

from storage.errors import StoreUnavailable
from storage.faults import Faults
from storage.jobs import Advance, Periodic, TakenJob
from storage.sql.prepared import Prepared, failure
from storage.sql.shared.alone import Write
from storage.sql.shared.patient_connection import PatientConnection
from storage.sql.shared.statements import FETCH, take
from storage.sql.shared.worker import (
    NOT_FETCHED,
    PAUSE,
    PERIODIC,
    SESSIONS,
    STALLED_AFTER,
    PatientWorker,
    Queue,
    in_our_words,
)

log = logging.getLogger(__name__)

T = TypeVar("T")

ADVANCE = "advance"
TAKE_OVER = "take over"
CONNECTIONS = 4
LET_GO = 3.0
"""Seconds to say at the end that a worker is gone."""


def create_tables(connection: Connection) -> None:
    """The engine's own tables, as its installed version wants them."""
    driver: Any = connection.connection.driver_connection
    driver.execute(SchemaManager.get_schema())


def defer(connection: Connection, sessions: Sequence[int]) -> frozenset[int]:
    """Make jobs in a transaction; for which sessions. Those of the others stand in the queue
    already: they may be begun before this transaction commits, so whoever commits it is to wake
    them once more. DBAPIError."""
    if not sessions:
        return frozenset()
    if len(sessions) > 1 and _defer_in_one(connection, sessions):
        return frozenset(sessions)
    # In their order: two transactions that wait for each other's jobs would wait for ever.
    return frozenset(one for one in sorted(sessions) if _defer_in_one(connection, [one]))


def _defer_in_one(connection: Connection, sessions: Sequence[int]) -> bool:
    """False where one of them stands in the queue."""
    driver: Any = connection.connection.driver_connection
    jobs = [_job(session) for session in sorted(sessions)]
    _SAVEPOINT.run(connection, {})
    try:
        _given.batch_defer_jobs(jobs, connection=driver)
    except AlreadyEnqueued:
        _BACK.later(connection, {})
        return False
    except ConnectorException as error:
        cause = error.__cause__
        if not isinstance(cause, Exception):
            raise
        raise failure(connection, "defer", cause) from error
    _RELEASE.later(connection, {})
    return True


# Not SQLAlchemy's: where psycopg sees a rollback, it has the server forget all that is prepared.
_SAVEPOINT = Prepared(text("SAVEPOINT defer"))
_BACK = Prepared(text("ROLLBACK TO SAVEPOINT defer"))
_RELEASE = Prepared(text("RELEASE SAVEPOINT defer"))

_given = JobManager(SyncPsycopgConnector())
"""Works on connections that it is given."""


def _job(session: int) -> Job:
    return Job(
        queue=SESSIONS,
        task_name=ADVANCE,
        lock=_lock(session),
        queueing_lock=_lock(session),
        task_kwargs={"session": session},
    )


def _taking_over() -> Job:
    return Job(queue=PERIODIC, task_name=TAKE_OVER, lock=TAKE_OVER, queueing_lock=TAKE_OVER)


def _lock(session: int) -> str:
    return f"session:{session}"


class ProcrastinateJobs:
    """Belongs to the event loop it is first used in."""

    def __init__(self, conninfo: str) -> None:
        connector = _connector(conninfo, CONNECTIONS, _commit_each)
        self._fetching = _connector(conninfo, 1, configure_fetches)
        self._app = App(connector=connector)
        self._queue = Queue()
        self._app.job_manager = QuickToFetch(connector, self._fetching, self._queue)
        self._opening = asyncio.Lock()
        self._open = False
        self._fetches = True
        self._worker: PatientWorker | None = None
        self._works: dict[int, Callable[[], Awaitable[None]]] = {}
        """What jobs that were taken do, by their ids, where it is not what each does."""
        self._write: Write = _nowhere

    def written_by(self, write: Write) -> None:
        self._write = write

    def take(self, connection: Connection, session: int) -> TakenJob | None:
        """A job that is begun already, while this process may begin any; in any thread."""
        worker = self._worker
        if worker is None or not worker.takes:
            return None
        return take(connection, _job(session), session, worker.number)

    def begin(self, taken: Sequence[TakenJob]) -> None:
        """On the event loop. What is of a worker that is gone is taken over like all it had."""
        for each in taken:
            if self._worker is None or self._worker.worker_id != each.worker:
                log.info("session %d is left to the next worker", each.session)
                continue
            if each.work is not None:
                self._works[each.id] = each.work
            self._worker.begin(_job(each.session).evolve(id=each.id, worker_id=each.worker))

    async def wake(self, sessions: Collection[int]) -> None:
        manager = await self._manager()
        for session in sorted(sessions):
            with suppress(AlreadyEnqueued):
                await _asked(partial(manager.defer_job_async, _job(session)))

    async def working(self, session: int) -> bool:
        manager = await self._manager()
        working = partial(manager.list_jobs_async, lock=_lock(session), status=Status.DOING.value)
        return bool(list(await _asked(working)))

    async def work(self, advance: Advance, periodic: Mapping[str, Periodic]) -> None:
        self._register(advance, periodic)
        faults = Faults(log)
        while True:
            try:
                await self._manager()
                with _asking():
                    await self._work(faults)
            except StoreUnavailable as error:
                faults.failed(NOT_FETCHED, error)
            except Exception:
                # The engine's own fault ends no other task; what it left is taken up by the next.
                log.exception("%s; it is begun anew", NOT_FETCHED)
            if (task := asyncio.current_task()) is not None and task.cancelling():
                raise asyncio.CancelledError  # what went wrong in the end stood in its place
            await asyncio.sleep(PAUSE)

    async def _work(self, faults: Faults) -> None:
        worker = PatientWorker(
            self._app, faults, self._queue, lambda: self._fetches, self._watch, self._write
        )
        self._worker = worker
        try:
            await worker.run()  # type: ignore[no-untyped-call]
        finally:
            self._worker = None
            self._works.clear()

    def fetch_no_more(self) -> None:
        self._fetches = False

    async def close(self) -> None:
        # Also where opening was cut off in the middle: a pool that stays open may outlive the loop.
        self._open = False
        await self._app.close_async()
        await self._fetching.close_async()

    def _register(self, advance: Advance, periodic: Mapping[str, Periodic]) -> None:
        async def look(context: JobContext, session: int) -> None:
            work = self._works.pop(context.job.id or 0, None)
            try:
                await (advance(session) if work is None else work())
            except asyncio.CancelledError:
                # This job ends with its worker, and what was begun is not over.
                await self.wake([session])
                raise

        self._app.task(name=ADVANCE, queue=SESSIONS, pass_context=True)(look)
        self._app.task(name=TAKE_OVER, queue=PERIODIC)(self._take_over)
        for name, each in periodic.items():
            task = self._app.task(name=name, queue=PERIODIC, queueing_lock=name)(_timed(each))
            self._app.periodic(cron=each.cron, periodic_id=name)(task)

    async def _watch(self) -> None:
        """Where workers are gone, have one of the others take over what they left: two of them
        might take it from each other. ConnectorException."""
        await self._app.connector.execute_query_async(_SET_BACK, stalled_after=STALLED_AFTER)
        stalled = await self._stalled()
        for job in stalled:
            if job.task_name == TAKE_OVER:  # it is in the way of the next one
                await self._forget(job)
        if stalled:
            await self.have_taken_over()

    async def have_taken_over(self) -> None:
        """Have somebody look at once what there is to take over. ConnectorException."""
        with suppress(AlreadyEnqueued):
            await self._app.job_manager.defer_job_async(_taking_over())

    async def _stalled(self) -> list[Job]:
        manager = self._app.job_manager
        return list(await manager.get_stalled_jobs(seconds_since_heartbeat=STALLED_AFTER))

    async def _forget(self, job: Job) -> None:
        try:
            await self._app.job_manager.finish_job(job, Status.ABORTED, delete_job=True)
        except ConnectorException as error:
            if not _is_over(error):
                raise
            log.debug("%s was seen to by another process", job.call_string)

    async def _take_over(self) -> None:
        """Put what stalled workers left into the queue again."""
        manager = await self._manager()
        with _asking():
            stalled = await self._stalled()
        for job in stalled:
            if job.task_name == TAKE_OVER:
                continue
            try:
                await _put_back(manager, job)
            except ConnectorException as error:
                if not _is_over(error):
                    raise in_our_words(error) from error
                log.debug("%s is not to be taken over any more", job.call_string)
            else:
                log.info("%s is taken over from a process that is gone", job.call_string)

    async def _manager(self) -> JobManager:
        async with self._opening:
            if not self._open:
                with _asking():
                    await self._app.open_async()
                    await self._fetching.open_async()
                self._open = True
        return self._app.job_manager


class QuickToFetch(JobManager):
    """Jobs are fetched one after the other, so no fetch waits for the server's disk. One that a
    crash of the server takes back makes a wake-up come twice, which does no harm."""

    def __init__(
        self, connector: PsycopgConnector, fetching: PsycopgConnector, queue: Queue
    ) -> None:
        super().__init__(connector)
        self._fetching = fetching
        self._queue = queue

    async def fetch_job(self, queues: Iterable[str] | None, worker_id: int) -> Job | None:
        self._queue.grew = False
        asked = {"queues": queues, "worker_id": worker_id}
        row = await self._fetching.execute_query_one_async(query=FETCH, **asked)
        self._queue.waits = row["waits"]
        return Job.from_row(row) if row["id"] is not None else None

    async def unregister_worker(self, worker_id: int) -> None:
        """A process that ends waits for no database: where it cannot say so, the others notice."""
        try:
            async with asyncio.timeout(LET_GO):
                await super().unregister_worker(worker_id)
        except (ConnectorException, TimeoutError):
            log.info("others notice in some seconds that nobody is at work here any more")


_SET_BACK = """
UPDATE procrastinate_workers SET last_heartbeat = now()
WHERE last_heartbeat > now() + make_interval(secs => %(stalled_after)s)
"""
"""Signs of life from before the server's clock was set back: of who is gone they would stand for as
long as it was, and nobody would take over what is left."""


def _connector(
    conninfo: str,
    connections: int,
    configure: "Callable[[AsyncConnection[Any]], Awaitable[None]]",
) -> PsycopgConnector:
    return PsycopgConnector(
        conninfo=conninfo,
        min_size=1,
        max_size=connections,
        timeout=10.0,
        configure=configure,
        pool_factory=_unchecked,
    )


_SLOW_WAYS = ("seqscan", "bitmapscan", "sort", "hashjoin", "mergejoin")
"""Of finding the next job: all that wait are read for each. The server takes one of them where it
counted its rows while the queue was empty, as it is most of the time."""


async def configure_fetches(connection: "AsyncConnection[Any]") -> None:
    """For a connection over which jobs are fetched."""
    await _commit_each(connection)
    await connection.execute("SET synchronous_commit = off")
    for way in _SLOW_WAYS:
        await connection.execute(f"SET enable_{way} = off")


async def _commit_each(connection: "AsyncConnection[Any]") -> None:
    """Each statement is a transaction."""
    await connection.set_autocommit(True)


def _unchecked(check: object, **settings: Any) -> "AsyncConnectionPool[Any]":
    """A pool that does not ask each connection whether it lives before it is used: that makes three
    round trips of one, and who uses one that broke does it again."""
    return AsyncConnectionPool(**settings, connection_class=PatientConnection)


def _timed(each: Periodic) -> Callable[[int], Awaitable[None]]:
    async def run(timestamp: int) -> None:
        await each.run()

    return run


_AT_ONCE = datetime.fromtimestamp(0, UTC)
"""Long ago by every clock: the server's own says when a job's time has come, and the next wake-ups
of a session wait behind one whose time has not."""


async def _nowhere(work: Callable[[Connection], None]) -> None:
    raise StoreUnavailable("the store is closed")


async def _put_back(manager: JobManager, job: Job) -> None:
    try:
        await manager.retry_job(job, retry_at=_AT_ONCE)
    except UniqueViolation:  # another wake-up of that session stands in the queue
        await manager.finish_job(job, Status.ABORTED, delete_job=True)


def _is_over(error: ConnectorException) -> bool:
    """Whether a job had ended before it could be changed, or another process was faster: one that
    woke up late, say."""
    return isinstance(error.__cause__, RaiseException)


async def _asked(question: Callable[[], Awaitable[T]]) -> T:
    """What may be asked twice, and is, as often as the pool may have a connection that the server
    has ended meanwhile: it is told of that only when it uses it. StoreUnavailable."""
    for _ in range(CONNECTIONS):
        try:
            return await question()
        except ConnectorException as error:
            if not isinstance(error.__cause__, (AdminShutdown, CrashShutdown, IdleSessionTimeout)):
                raise in_our_words(error) from error
    with _asking():
        return await question()


@contextmanager
def _asking() -> Iterator[None]:
    """StoreUnavailable where the database cannot be asked."""
    try:
        yield
    except ConnectorException as error:
        raise in_our_words(error) from error
