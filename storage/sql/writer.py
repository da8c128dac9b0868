"""The one writer of a process: a thread and a queue of jobs, so that they are done in the order in
which they were given.

What waits when the writer is free is a group, which the database's committer commits, at best all
at once. Nobody hears of a success before the commit.
"""

import asyncio
import logging
from collections.abc import Callable, Sequence
from contextvars import Context, copy_context
from dataclasses import dataclass, field
from queue import Empty, SimpleQueue
from threading import Thread
from typing import Any, Generic, Protocol, TypeVar

from sqlalchemy import Connection

from storage.errors import EpochLost, LeafMoved, StoreError, StoreUnavailable

T = TypeVar("T")

_GROUP_LIMIT = 256
_EXPECTED = (StoreUnavailable, EpochLost, LeafMoved)
"""Errors of which a caller that was cancelled need not be told: of a database that is away every
other call hears, and who lost a session is cancelled for that. What is left is a fault of ours."""

log = logging.getLogger(__name__)


@dataclass(slots=True)
class Job(Generic[T]):
    work: Callable[[Connection], T]
    future: "asyncio.Future[T]"
    result: T | None = None
    error: BaseException | None = None
    context: Context = field(default_factory=copy_context)
    """Of who gave it: its work knows of which trace it is."""

    def attempt(self, connection: Connection) -> None:
        """Do the work within a transaction; its result or its error are kept here."""
        self.error = None
        try:
            self.result = self.context.run(self.work, connection)
        except StopIteration as error:
            self.error = RuntimeError("work raised StopIteration")
            self.error.__cause__ = error
        except BaseException as error:  # noqa: BLE001 - handed to the caller
            self.error = error


class Committer(Protocol):
    """A database's way to commit. Used by one thread at a time."""

    def commit(self, group: Sequence[Job[Any]]) -> None:
        """Do jobs in their order. Afterwards each is committed or has an error, of the store's or
        its work's own. Raises nothing."""
        ...

    def moved(self) -> str:
        """Why what is committed is not in the database that its URL names any more, for people; ""
        where it is. In any thread."""
        ...

    def rescue(self) -> str:
        """Save what can be saved of a database that was taken away; what came of that and what to
        do, for people."""
        ...

    def hasten(self) -> None:
        """Wait only moments from now on for another process that holds the database. In any
        thread."""
        ...

    def close(self) -> None: ...


class Writer:
    """Belongs to the event loop it was made in. It closes the committer when it is closed.

    `vouch` is called in the writer's thread after every group: it gives errors to jobs that are
    committed and yet not kept. `tell` gets the result of each job that is kept, on the event loop,
    before its caller goes on.
    """

    def __init__(
        self,
        committer: Committer,
        vouch: Callable[[Sequence[Job[Any]]], None],
        tell: Callable[[Any], None],
    ) -> None:
        self._committer = committer
        self._tell = tell
        self._vouch = vouch
        self._loop = asyncio.get_running_loop()
        self._jobs: SimpleQueue[Job[Any] | None] = SimpleQueue()
        self._closed = False
        self._last: Callable[[], None] | None = None
        # A daemon: an interpreter that ends without close() must not hang, and a commit that is
        # cut off there was promised to nobody.
        self._thread = Thread(target=self._write, name="bough-writer", daemon=True)
        self._thread.start()

    async def run(self, work: Callable[[Connection], T]) -> T:
        """Do `work` within a transaction. A caller that is cancelled stops waiting, no more."""
        if self._closed:
            raise StoreUnavailable("the store is closed")
        job: Job[T] = Job(work, self._loop.create_future())
        self._jobs.put(job)
        return await job.future

    async def close(self, last: Callable[[], None] | None = None) -> None:
        """Finish what is queued and take no more. `last` is called in the writer's
        thread, outside of any transaction, before the committer is closed."""
        if not self._closed:
            self._closed = True
            self._last = last
            self._jobs.put(None)
        await asyncio.to_thread(self._thread.join)

    def _write(self) -> None:
        while group := self._next_group():
            self._committer.commit(group)
            self._vouch(group)
            try:
                self._loop.call_soon_threadsafe(self._settle, group)
            except RuntimeError:
                if not self._loop.is_closed():
                    raise
                break  # a process that is cut off: nobody waits for it any more
        if self._last is not None:
            self._last()
        self._committer.close()

    def _next_group(self) -> list[Job[Any]]:
        """Wait for a job and take what else is there; empty after the last one."""
        group: list[Job[Any]] = []
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

    def _settle(self, group: list[Job[Any]]) -> None:
        for job in group:
            if job.error is None:
                self._tell(job.result)
            if job.future.cancelled():
                if job.error is not None and not isinstance(job.error, _EXPECTED):
                    log.error("work whose caller was cancelled failed: %s", _said(job.error))
                    log.debug("where it failed", exc_info=job.error)
            elif job.error is not None:
                job.future.set_exception(job.error)
            else:
                job.future.set_result(job.result)


def _said(error: BaseException) -> str:
    """The errors of the store are texts for people."""
    return str(error) if isinstance(error, StoreError) else repr(error)
