"""The store on a SQL database. See dialect.py for what depends on which one."""

import asyncio
import importlib
import sqlite3
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from typing import TypeVar, cast

from sqlalchemy import URL, Connection, Engine, inspect, text
from sqlalchemy.exc import DBAPIError

from storage.errors import StoreLost, StoreUnavailable
from storage.sql import dialect
from storage.sql.file_identity import Whereabouts, refuse_new_beside_rescued
from storage.sql.repositories.boxes import SqlInbox, SqlOutbox
from storage.sql.repositories.buttons import SqlButtons
from storage.sql.repositories.delegations import SqlDelegations
from storage.sql.repositories.directory import SqlDirectory
from storage.sql.repositories.ledger import SqlLedger
from storage.sql.repositories.questions import SqlQuestions
from storage.sql.repositories.search import SqlSearch
from storage.sql.repositories.tree import SqlTree
from storage.sql.schema import HEAD
from storage.sql.writer import Writer
from storage.store import Transaction

T = TypeVar("T")

LOOK_EVERY = 1.0
"""Seconds between looks for the database's files, while nothing is written or read."""


class SqlTransaction:
    def __init__(self, connection: Connection, now: float) -> None:
        self.connection = connection
        self.now = now
        self.tree = SqlTree(connection, now)
        self.inbox = SqlInbox(connection, now)
        self.outbox = SqlOutbox(connection, now)
        self.buttons = SqlButtons(connection)
        self.questions = SqlQuestions(connection, now)
        self.delegations = SqlDelegations(connection, now)
        self.directory = SqlDirectory(connection, now)
        self.ledger = SqlLedger(connection, now)
        self.search = SqlSearch(connection, now)


class SqlStore:
    """Belongs to the event loop it was opened in. Get one from `open`."""

    def __init__(self, url: URL, connection: Connection, clock: Callable[[], float]) -> None:
        self._url = url
        self._clock = clock
        self._connection = connection
        self._loop = asyncio.get_running_loop()
        self._listeners: list[Callable[[], None]] = []
        self._outbox_grew = False  # touched by the writer's thread only
        self._whereabouts = Whereabouts(dialect.database_file(url))
        self._lost = ""
        """Why nothing is taken in or given out any more."""
        self._alarm = asyncio.Event()
        self._writer = Writer(connection, self._translate, self._tell_listeners, self._look)
        self._reader_engine = dialect.reader_engine(url)
        self._readers = ThreadPoolExecutor(dialect.READERS, thread_name_prefix="bough-reader")
        self._closed = False

    @classmethod
    async def open(cls, url: str, clock: Callable[[], float] = time.time) -> "SqlStore":
        """Open a database, bring its tables up to date, and check that it can be written.

        `clock` gives Unix seconds. StoreUnavailable where any of that fails. It takes no lock: see
        lock.py.
        """
        connection = await asyncio.to_thread(_connect, url)
        return cls(dialect.parse_url(url), connection, clock)

    async def run(self, work: Callable[[Transaction], T]) -> T:
        if self._lost:
            raise StoreLost(self._lost)
        return await self._writer.run(partial(self._write, work))

    async def read(self, work: Callable[[Transaction], T]) -> T:
        if self._lost:
            raise StoreLost(self._lost)
        if self._closed:
            raise StoreUnavailable("the store is closed")
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._readers, self._read, work)

    def watch_outbox(self, listener: Callable[[], None]) -> None:
        self._listeners.append(listener)

    async def guard(self) -> None:
        while not self._lost:
            await asyncio.to_thread(self._look)
            with suppress(TimeoutError):
                async with asyncio.timeout(LOOK_EVERY):
                    await self._alarm.wait()
        raise StoreLost(self._lost)

    async def rescue(self) -> str:
        said = ""

        def save(connection: Connection) -> None:
            nonlocal said
            driver = cast("sqlite3.Connection", connection.connection.driver_connection)
            said = self._whereabouts.rescue(driver)

        moved = await asyncio.to_thread(self._whereabouts.moved)
        await self._writer.close(save if moved else None)
        return said

    async def close(self) -> None:
        """Finish what was begun and let go of the database. Closing again does nothing."""
        self._closed = True
        await self._writer.close()
        await asyncio.to_thread(self._readers.shutdown)
        self._reader_engine.dispose()

    def _write(self, work: Callable[[Transaction], T]) -> T:
        if self._lost:
            raise StoreLost(self._lost)
        transaction = SqlTransaction(self._connection, self._clock())
        result = work(transaction)
        self._outbox_grew |= transaction.outbox.grew
        return result

    def _tell_listeners(self) -> None:
        if self._outbox_grew:
            self._outbox_grew = False
            for listener in self._listeners:
                self._loop.call_soon_threadsafe(listener)

    def _read(self, work: Callable[[Transaction], T]) -> T:
        try:
            with self._reader_engine.begin() as connection:
                result = work(SqlTransaction(connection, self._clock()))
        except DBAPIError as error:
            raise self._translate(error) from error
        # A connection that was made just now may have opened another file by the same name.
        if (lost := self._look()) is not None:
            raise lost
        return result

    def _translate(self, error: BaseException) -> BaseException:
        if not isinstance(error, DBAPIError):
            return error
        translated: BaseException = self._look() or dialect.store_error(error, self._url)
        if isinstance(translated, StoreLost):
            self._lose(str(translated))
        translated.__cause__ = error
        return translated

    def _look(self) -> StoreLost | None:
        """Whether the database is where it was; in any thread."""
        if not self._lost and (moved := self._whereabouts.moved()):
            self._lose(moved)
        return StoreLost(self._lost) if self._lost else None

    def _lose(self, why: str) -> None:
        self._lost = self._lost or why
        self._loop.call_soon_threadsafe(self._alarm.set)


def _connect(url: str) -> Connection:
    """The writer's connection to a database that is up to date."""
    parsed = dialect.parse_url(url)
    refuse_new_beside_rescued(dialect.database_file(parsed))
    engine = dialect.writer_engine(parsed)
    try:
        if _version(engine) != HEAD:
            # Late, because Alembic takes longer to import than all else here, and is needed only
            # when the database is new or older than this program.
            importlib.import_module("storage.sql.migrate").upgrade(url)
        return engine.connect()
    except DBAPIError as error:
        raise dialect.store_error(error, parsed) from error


def _version(engine: Engine) -> str | None:
    """The migration the database is at; None for a new one. Fails where it cannot be written."""
    with engine.connect() as connection, connection.begin() as transaction:
        if not inspect(connection).has_table("alembic_version"):
            return None
        version: str | None = connection.scalar(text("SELECT version_num FROM alembic_version"))
        connection.execute(text("UPDATE alembic_version SET version_num = version_num"))
        transaction.rollback()  # that was only to see whether we may
        return version
