"""The seam to other processes on the same database, and SQLite's side of it: there are none."""

import asyncio
import uuid
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Protocol

from sqlalchemy import Connection

from storage.jobs import Jobs, TakenJob
from storage.news import Committed
from storage.sql.writer import Job

Write = Callable[[Callable[[Connection], None]], Awaitable[None]]
"""Does something in a transaction of the process's one writer. StoreUnavailable."""
Announce = Callable[[Connection, Sequence[Job[Any]]], None]
"""Called in each transaction before it is committed, with what was done in it, each job's result
with its Committed; what is told to others is committed with it. DBAPIError."""


class Peers(Protocol):
    @property
    def process(self) -> str:
        """A name that no other process has."""
        ...

    @property
    def jobs(self) -> Jobs | None: ...

    @property
    def announce(self) -> Announce: ...

    def written_by(self, write: Write) -> None:
        """How jobs that are over are written down."""
        ...

    def take(self, connection: Connection, session: int) -> TakenJob | None:
        """Make a job that this process has, in the writer's thread. DBAPIError."""
        ...

    def begin(self, taken: Sequence[TakenJob]) -> None:
        """Do jobs that were taken, once they are committed."""
        ...

    async def listen(self, tell: Callable[[Committed], None]) -> None:
        """Hear what others commit until cancelled."""
        ...

    async def close(self) -> None: ...


def say_nothing(connection: Connection, group: Sequence[Job[Any]]) -> None:
    pass


class Alone:
    jobs = None
    announce = staticmethod(say_nothing)

    def __init__(self) -> None:
        self.process = uuid.uuid4().hex

    def written_by(self, write: Write) -> None:
        pass

    def take(self, connection: Connection, session: int) -> TakenJob | None:
        return None

    def begin(self, taken: Sequence[TakenJob]) -> None:
        pass

    async def listen(self, tell: Callable[[Committed], None]) -> None:
        await asyncio.Event().wait()

    async def close(self) -> None:
        pass
