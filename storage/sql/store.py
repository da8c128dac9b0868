"""The store on a SQL database. See dialect.py for what depends on which one it is."""

import asyncio
import importlib
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from contextvars import copy_context
from functools import partial
from typing import Any, Self, TypeVar

from sqlalchemy import Connection, inspect, text
from sqlalchemy.exc import DBAPIError

from storage.errors import StoreError, StoreFull, StoreLost, StoreUnavailable
from storage.giving_way import nobody_waits
from storage.jobs import Jobs, TakenJob
from storage.news import Committed, Signal
from storage.records.entries import Json
from storage.records.figures.happened import Happened
from storage.sql.dialect import Database, database_of
from storage.sql.repositories.backlog import SqlBacklogs
from storage.sql.repositories.blobs import SqlBlobs
from storage.sql.repositories.boxes import SqlInbox, SqlOutbox
from storage.sql.repositories.buttons import SqlButtons
from storage.sql.repositories.chats.chat_settings import SqlChatChoices
from storage.sql.repositories.chats.live_messages import SqlLiveMessages
from storage.sql.repositories.chats.people import SqlRequests, SqlRights
from storage.sql.repositories.delegations import SqlDelegations
from storage.sql.repositories.directory import SqlDirectory
from storage.sql.repositories.ledger import SqlLedger
from storage.sql.repositories.processes.ephemeral import SqlEphemeral
from storage.sql.repositories.processes.leases import SqlLeases
from storage.sql.repositories.questions import SqlQuestions
from storage.sql.repositories.tools.commands import SqlCommands
from storage.sql.repositories.tools.grants import SqlGrants
from storage.sql.repositories.tools.notes import SqlNotes
from storage.sql.repositories.tools.schedules import SqlSchedules
from storage.sql.repositories.tree import SqlTree
from storage.sql.retention.forgettings import SqlForgettings
from storage.sql.retention.people import SqlPeople
from storage.sql.retention.pruning import SqlPruning
from storage.sql.retention.tombstones import Graves
from storage.sql.schema import HEAD
from storage.sql.search.repository import SqlSearch
from storage.sql.shared.alone import Peers
from storage.sql.writer import Committer, Job, Writer
from storage.store import Transaction

T = TypeVar("T")
Take = Callable[[Connection, int], TakenJob | None]

NOTHING = Committed(frozenset(), outbox=False)
LOOK_EVERY = 1.0
"""Seconds between looks for the database's files, while nothing is written or read."""
ROOM_EVERY = 10.0
"""Seconds between looks whether what was given up on a full disk can be kept again."""


class SqlTransaction:
    def __init__(
        self, connection: Connection, now: float, take: Take = lambda _connection, _session: None
    ) -> None:
        self.connection = connection
        self.now = now
        self.tree = SqlTree(connection, now)
        self.inbox = SqlInbox(connection, now)
        self.outbox = SqlOutbox(connection, now)
        self.live_messages = SqlLiveMessages(connection)
        self.buttons = SqlButtons(connection)
        self.chat_settings = SqlChatChoices(connection, now)
        self.questions = SqlQuestions(connection, now)
        self.delegations = SqlDelegations(connection, now)
        self.directory = SqlDirectory(connection, now)
        self.ledger = SqlLedger(connection, now)
        self.grants = SqlGrants(connection, now)
        self.search = SqlSearch(connection, now)
        self.commands = SqlCommands(connection, now)
        self.notes = SqlNotes(connection, now)
        self.schedules = SqlSchedules(connection, now)
        self.blobs = SqlBlobs(connection, now)
        self.rights = SqlRights(connection, now)
        self.pairing = SqlRequests(connection, now)
        self._graves = Graves(connection, now)
        self.forgettings = SqlForgettings(connection, now, self._graves)
        self.people = SqlPeople(connection, now)
        self.pruning = SqlPruning(connection, now, self._graves)
        self.leases = SqlLeases(connection, now)
        self.backlog = SqlBacklogs(connection, now)
        self.ephemeral = SqlEphemeral(connection, now)
        self._signals: list[Signal] = []
        self._take = take
        self._taken: list[TakenJob] = []

    def take(self, session: int) -> TakenJob | None:
        taken = self._take(self.connection, session)
        if taken is not None:
            self._taken.append(taken)
        return taken

    def signal(self, topic: str, message: Json) -> None:
        self._signals.append(Signal(topic, message))

    @property
    def _happened(self) -> tuple[Happened, ...]:
        of_questions, of_children = self.questions.happened, self.delegations.happened
        return (*of_questions, *of_children, *self.commands.happened)

    @property
    def committed(self) -> Committed:
        """What is to be told once it is."""
        return Committed(
            frozenset(self.inbox.grew | self._graves.woken),
            self.outbox.grew,
            self.schedules.changed,
            self.questions.changed,
            self.rights.changed,
            tuple(self.chat_settings.changes),
            settings=self.directory.threads_changed,
            signals=tuple(self._signals),
            taken=tuple(self._taken),
            forgetting=self.forgettings.begun,
            entries=self.tree.grew,
            happened=self._happened,
            billed=tuple(self.ledger.added),
        )


class SqlStore:
    """Belongs to the event loop it was opened in. Get one from `open`."""

    def __init__(
        self,
        database: Database,
        peers: Peers,
        committer: Committer,
        clock: Callable[[], float],
    ) -> None:
        self._database = database
        self._peers = peers
        self._clock = clock
        self._loop = asyncio.get_running_loop()
        self._listeners: list[Callable[[Committed], None]] = []
        self._lost = ""
        """Why nothing is taken in or given out any more."""
        self.short_of_room = ""
        self._alarm = asyncio.Event()
        self._grown = asyncio.Event()
        self._committer = committer
        self._writer = Writer(committer, self._vouch, self._tell)
        peers.written_by(self._write_down)
        self._reader_engine = database.reader_engine()
        self._readers = ThreadPoolExecutor(database.readers, thread_name_prefix="bough-reader")
        self._closed = False

    @classmethod
    async def open(
        cls,
        url: str,
        clock: Callable[[], float] = time.time,
        *,
        ballast: int | None = None,
        create: bool = True,
    ) -> Self:
        """Open a database, bring its tables up to date, and check that it can be written.

        `clock` gives Unix seconds. `ballast`: bytes on the disk of a file that `guard` keeps for
        it. `create`: a database that is not there is made. StoreUnavailable where any of that
        fails. It takes no lock: see lock.py.
        """
        database = database_of(url)
        database.keep_room(ballast or 0)
        if not create:
            await asyncio.to_thread(must_exist, database)
        peers, committer = await asyncio.to_thread(_connect, database)
        return cls(database, peers, committer, clock)

    @property
    def description(self) -> str:
        """What people are told that the database is. Holds no password."""
        return self._database.description

    @property
    def process(self) -> str:
        return self._peers.process

    @property
    def jobs(self) -> Jobs | None:
        return self._peers.jobs

    async def listen(self) -> None:
        await self._peers.listen(self._tell_listeners)

    async def run(self, work: Callable[[Transaction], T]) -> T:
        if self._lost:
            raise StoreLost(self._lost)
        result, _ = await self._writer.run(partial(self._write, work))
        return result

    async def read(self, work: Callable[[Transaction], T]) -> T:
        if self._lost:
            raise StoreLost(self._lost)
        if self._closed:
            raise StoreUnavailable("the store is closed")
        loop = asyncio.get_running_loop()
        read = partial(copy_context().run, self._read, work)
        return await loop.run_in_executor(self._readers, read)

    def watch(self, listener: Callable[[Committed], None]) -> None:
        self._listeners.append(listener)

    async def grown(self, seconds: float) -> None:
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._grown.wait()
        self._grown.clear()

    async def guard(self) -> None:
        every = LOOK_EVERY if self._database.in_files else None
        room_at = 0.0
        while not self._lost:
            await asyncio.to_thread(self._look)
            if time.monotonic() >= room_at:
                self.short_of_room = await asyncio.to_thread(self._database.restore_room)
                room_at = time.monotonic() + ROOM_EVERY
            with suppress(TimeoutError):
                async with asyncio.timeout(every):
                    await self._alarm.wait()
        raise StoreLost(self._lost)

    async def warning(self) -> str:
        return await asyncio.to_thread(self._database.warning)

    async def rescue(self) -> str:
        said = ""

        def save() -> None:
            nonlocal said
            said = self._committer.rescue()

        moved = await asyncio.to_thread(self._committer.moved)
        await self._writer.close(save if moved else None)
        return said

    def hasten(self) -> None:
        self._committer.hasten()

    async def close(self) -> None:
        """Finish what was begun and let go of the database. Closing again does nothing."""
        self._closed = True
        await self._peers.close()
        await self._writer.close()
        await asyncio.to_thread(self._readers.shutdown)
        self._reader_engine.dispose()

    def _write(
        self, work: Callable[[Transaction], T], connection: Connection
    ) -> tuple[T, Committed]:
        if self._lost:
            raise StoreLost(self._lost)
        transaction = SqlTransaction(connection, self._clock(), self._peers.take)
        result = work(transaction)
        return result, transaction.committed

    async def _write_down(self, work: Callable[[Connection], None]) -> None:
        def write(connection: Connection) -> tuple[None, Committed]:
            work(connection)
            return None, NOTHING

        await self._writer.run(write)

    def _tell(self, result: tuple[object, Committed]) -> None:
        """On the event loop. A listener that fails is the loop's to report, nobody else's."""
        _, committed = result
        if committed.entries:
            self._grown.set()
        if committed.taken:
            self._peers.begin(committed.taken)
        if committed:
            self._tell_listeners(committed)

    def _tell_listeners(self, committed: Committed) -> None:
        for listener in self._listeners:
            self._loop.call_soon(listener, committed)

    def _read(self, work: Callable[[Transaction], T]) -> T:
        nobody_waits()
        attempts = 0
        while True:
            try:
                with self._reader_engine.begin() as connection:
                    result = work(SqlTransaction(connection, self._clock()))
            except DBAPIError as error:
                attempts += 1
                # All connections that are kept may be cut: a server that was started anew.
                if attempts > self._database.readers or not self._database.again(error):
                    raise self._translated(error) from error
            else:
                # A connection that was made just now may have opened another file by that name.
                if (lost := self._look()) is not None:
                    raise lost
                return result

    def _translated(self, error: DBAPIError) -> StoreError:
        translated = self._look() or self._database.store_error(error)
        if isinstance(translated, StoreLost):
            self._lose(str(translated))
        return translated

    def _vouch(self, group: Sequence[Job[Any]]) -> None:
        """Nobody hears of a success in a database that is lost."""
        for job in group:
            if isinstance(job.error, StoreLost):
                self._lose(str(job.error))
        if (lost := self._look()) is not None:
            for job in group:
                if job.error is None or isinstance(job.error, StoreUnavailable):
                    job.error = lost

    def _look(self) -> StoreLost | None:
        """Whether the database is where it was; in any thread."""
        if not self._lost and (moved := self._committer.moved()):
            self._lose(moved)
        return StoreLost(self._lost) if self._lost else None

    def _lose(self, why: str) -> None:
        self._lost = self._lost or why
        self._loop.call_soon_threadsafe(self._alarm.set)


def _connect(database: Database) -> tuple[Peers, Committer]:
    """Who else works on a database that is up to date, and the way to write to it."""
    try:
        if version_of(database) != HEAD:
            # Late, because Alembic takes longer to import than all else here, and is needed only
            # when the database is new or older than this program.
            importlib.import_module("storage.sql.migrate").upgrade_database(database)
        peers = database.peers()
        return peers, database.committer(peers.announce)
    except DBAPIError as error:
        fault = database.store_error(error)
        if isinstance(fault, StoreFull) and database.make_room():
            return _connect(database)
        raise fault from error


ELSEWHERE = (
    "If the bot has run before, it uses another one: name its configuration with --config FILE, "
    "and its secrets with --env-file FILE. A new one is made by `bough run`"
)


def must_exist(database: Database, named: str = "database", cure: str = ELSEWHERE) -> None:
    """StoreUnavailable where nothing was ever kept in it; then nothing is made there. Blocks."""
    try:
        there = database.is_there() and version_of(database) is not None
    except DBAPIError as error:
        raise database.store_error(error) from error
    if not there:
        raise StoreUnavailable(
            f"there is no {named} of Bough at {database.place}, and none was made. {cure}"
        )


def version_of(database: Database) -> str | None:
    """The migration the database is at; None for a new one. Fails where it cannot be written."""
    with database.checking() as connection:
        if not inspect(connection).has_table("alembic_version"):
            return None
        version: str | None = connection.scalar(text("SELECT version_num FROM alembic_version"))
        connection.execute(text("UPDATE alembic_version SET version_num = version_num"))
        return version
