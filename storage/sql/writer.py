"""The one writer of a database: a thread, a connection, and a queue of jobs.

What waits when the writer is free is committed together, because a commit costs a flush to the
disk however much is in it. Where a job of such a group fails, the group is done again with a
savepoint for each, so that the others are left alone. Nobody hears of a success before the commit.
"""

import asyncio
import logging
from collections.abc import Callable
from dataclasses import dataclass
from queue import Empty, SimpleQueue
from threading import Thread
from typing import Any, Generic, TypeVar

from sqlalchemy import Connection
from sqlalchemy.exc import DBAPIError

from storage.errors import StoreLost, StoreUnavailable

T = TypeVar("T")

_GROUP_LIMIT = 256

log = logging.getLogger(__name__)


@dataclass(slots=True)
class _Job(Generic[T]):
    work: Callable[[], T]
    future: "asyncio.Future[T]"
    result: T | None = None
    error: BaseException | None = None


class Writer:
    """Belongs to the event loop it was made in. It closes the connection when it is closed.

    `translate` makes errors of the database into errors of the store. `vouch` says after every
    commit why what was committed is not kept in spite of that. `tell` gets the result of each job
    that was committed, on the event loop, before its caller goes on.
    """

    def __init__(
        self,
        connection: Connection,
        translate: Callable[[BaseException], BaseException],
        tell: Callable[[Any], None],
        vouch: Callable[[], StoreUnavailable | None],
    ) -> None:
        self._connection = connection
        self._translate = translate
        self._tell = tell
        self._vouch = vouch
        self._loop = asyncio.get_running_loop()
        self._jobs: SimpleQueue[_Job[Any] | None] = SimpleQueue()
        self._closed = False
        self._last: Callable[[Connection], None] | None = None
        # A daemon: an interpreter that ends without close() must not hang, and a commit that is
        # cut off there was promised to nobody.
        self._thread = Thread(target=self._write, name="bough-writer", daemon=True)
        self._thread.start()

    async def run(self, work: Callable[[], T]) -> T:
        """Do `work` within a transaction. A caller that is cancelled stops waiting, no more."""
        if self._closed:
            raise StoreUnavailable("the store is closed")
        job: _Job[T] = _Job(work, self._loop.create_future())
        self._jobs.put(job)
        return await job.future

    async def close(self, last: Callable[[Connection], None] | None = None) -> None:
        """Finish what is queued and take no more. `last` gets the connection in the writer's
        thread, outside of any transaction, before it is closed."""
        if not self._closed:
            self._closed = True
            self._last = last
            self._jobs.put(None)
        await asyncio.to_thread(self._thread.join)

    def _write(self) -> None:
        with self._connection:
            while group := self._next_group():
                self._commit(group)
                if (lost := self._vouch()) is not None:
                    for job in group:
                        job.error = job.error or lost
                self._loop.call_soon_threadsafe(self._settle, group)
            if self._last is not None:
                self._last(self._connection)

    def _next_group(self) -> list[_Job[Any]]:
        """Wait for a job and take what else is there; empty after the last one."""
        group: list[_Job[Any]] = []
        job = self._jobs.get()
        while job is not None:
            group.append(job)
            if len(group) == _GROUP_LIMIT:
                break
            try:
                job = self._jobs.get_nowait()
            except Empty:
                break
        else:
            self._jobs.put(None)  # for the next time, when the group is done
        return group

    def _commit(self, group: list[_Job[Any]]) -> None:
        try:
            if not self._commit_together(group) and len(group) > 1:
                self._commit_apart(group)
        except Exception as error:  # noqa: BLE001 - handed to each caller
            # SQLite keeps a transaction open whose commit failed.
            self._connection.connection.rollback()
            for job in group:
                job.error = job.error or self._translate(error)

    def _commit_together(self, group: list[_Job[Any]]) -> bool:
        """All or, where one fails, none. Savepoints would cost a fifth of the time."""
        with self._connection.begin() as transaction:
            for job in group:
                self._attempt(job)
                if job.error is not None:
                    transaction.rollback()
                    return False
        return True

    def _commit_apart(self, group: list[_Job[Any]]) -> None:
        with self._connection.begin():
            for job in group:
                job.error = None
                self._attempt_apart(job)

    def _attempt_apart(self, job: _Job[Any]) -> None:
        self._connection.exec_driver_sql("SAVEPOINT job")
        self._attempt(job)
        if job.error is not None:
            try:
                self._connection.exec_driver_sql("ROLLBACK TO SAVEPOINT job")
            except DBAPIError:
                # The database has given up the whole transaction (a full disk does that), so what
                # stopped this job stops the group.
                raise job.error from None
        self._connection.exec_driver_sql("RELEASE SAVEPOINT job")

    def _attempt(self, job: _Job[Any]) -> None:
        try:
            job.result = job.work()
        except StopIteration as error:
            job.error = RuntimeError("work raised StopIteration")
            job.error.__cause__ = error
        except BaseException as error:  # noqa: BLE001 - handed to the caller
            job.error = self._translate(error)

    def _settle(self, group: list[_Job[Any]]) -> None:
        for job in group:
            if job.error is None:
                self._tell(job.result)
            if job.future.cancelled():
                if isinstance(job.error, StoreLost):
                    continue  # every other call is told that too
                if isinstance(job.error, StoreUnavailable):
                    log.warning("a job failed after its caller was cancelled: %s", job.error)
                elif job.error is not None:
                    log.warning("a job failed after its caller was cancelled", exc_info=job.error)
            elif job.error is not None:
                job.future.set_exception(job.error)
            else:
                job.future.set_result(job.result)
