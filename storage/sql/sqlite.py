"""SQLite as we use it: WAL, so that readers and the writer do not wait for each other;
synchronous=FULL, so that what was acknowledged survives a power cut; transactions begun by us, not
by the driver, because the driver begins them too late and not for reads.
"""

import logging
import math
import os
import sqlite3
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from itertools import islice
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from sqlalchemy import URL, Connection, Engine, Table, create_engine, event, insert
from sqlalchemy.exc import DataError, DBAPIError, IntegrityError
from sqlalchemy.pool import NullPool, PoolProxiedConnection, QueuePool

from storage.errors import NotFound, StoreError, StoreFull, StoreLost, StoreUnavailable
from storage.sql.ballast import Ballast
from storage.sql.file_identity import Whereabouts, refuse_new_beside_rescued, used_beside_rescued
from storage.sql.shared.alone import Alone, Announce, Peers, say_nothing
from storage.sql.writer import Job

log = logging.getLogger(__name__)

_BUSY_SECONDS = 60.0
"""How long we wait for another process that writes: a command line beside the gateway, which needs
about 40 to take in a session of 1,000,000 entries."""
_LAST_SECONDS = 2.0
"""The same once our process ends: what is not written then is done at the next start."""
_SAID_AFTER = 1.0
"""Seconds until people are told that somebody is waited for."""
_TRY_SECONDS = 0.2
"""How long SQLite itself waits each time. Nothing else can cut its waiting short: its own interrupt
does not (measured with 3.40)."""

_DAMAGED = (sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_CORRUPT)
_PERHAPS_FULL = (sqlite3.SQLITE_IOERR, sqlite3.SQLITE_CANTOPEN)
"""What SQLite says where the files beside the database find no room."""
_FREE_SOME = "free some space on its disk"
_ROOM = ((1, 0.0), (1, 0.25), (2, 0.5), (4, 1.0), (8, 2.0))
"""Parts of the ballast that are given up for one commit, and the seconds after each time: a command
that takes them at once is ended meanwhile."""

_CACHE_KIB = 16 * 1024
"""Of pages, for each connection: a path of ten thousand entries fits."""

_ROWS_AT_ONCE = 2_000
_READ_AT_ONCE = 1_048_576
"""Bytes."""
_descriptors: dict[tuple[int, int], int] = {}
"""Device and inode of a file → what it is read by; see `_descriptor`."""


class Sqlite:
    """A database file."""

    readers = 2
    in_files = True

    def __init__(self, url: URL) -> None:
        """StoreUnavailable where the URL names no file."""
        file = _file_of(url)
        if str(file) in (".", ":memory:") or url.query.get("mode") == "memory":
            raise StoreUnavailable(
                "[storage] url names no file; write it like sqlite:///bough.db, "
                "or sqlite:////var/lib/bough/bough.db for an absolute path"
            )
        self._url = url.set(drivername="sqlite+pysqlite")
        self.file = file
        self.ballast = Ballast(file)
        self.description = f"sqlite:///{url.database}"
        self.place = f"sqlite:///{file.absolute()}"

    def is_there(self) -> bool:
        """An empty file is what a start that failed, or a lock, leaves behind."""
        refuse_new_beside_rescued(self.file)
        try:
            return self.file.is_file() and self.file.stat().st_size > 0
        except OSError as error:
            why = error.strerror or "the system does not say why"
            text = f"{self.file} cannot be looked at: {why}; {_GIVE_ACCESS}"
            raise StoreUnavailable(text) from error

    def warning(self) -> str:
        return used_beside_rescued(self.file)

    def keep_room(self, size: int) -> None:
        self.ballast.size = size

    def make_room(self) -> bool:
        return self.ballast.give_up()

    def restore_room(self) -> str:
        with suppress(OSError):  # a folder that cannot be written; the database says so itself
            self.ballast.restore()
        return self.ballast.given_up()

    def peers(self) -> Peers:
        return Alone()

    def committer(self, announce: Announce = say_nothing) -> "GroupCommits":
        patience = Patience(self.file)
        connection = self.writer_engine(patience).connect()
        whereabouts = Whereabouts(self.file)
        return GroupCommits(connection, self.store_error, self.ballast, whereabouts, patience)

    def writer_engine(self, patience: "Patience | None" = None) -> Engine:
        """An engine whose transactions hold the lock for writing from their start. Its connections
        are closed when they are given back."""
        begin = (patience or Patience(self.file)).begin
        engine = _engine(self._url, begin, poolclass=NullPool)
        event.listen(engine, "connect", _use_wal)
        return engine

    def reader_engine(self) -> Engine:
        pool = {"poolclass": QueuePool, "pool_size": self.readers, "max_overflow": 0}
        engine = _engine(self._url, _begin_reading, **pool)
        event.listen(engine, "connect", _refuse_writes)
        return engine

    def migrating(self) -> AbstractContextManager[Connection]:
        return self.writer_engine().begin()

    @contextmanager
    def checking(self) -> Iterator[Connection]:
        refuse_new_beside_rescued(self.file)
        with self.writer_engine().connect() as connection:
            yield connection

    def others(self) -> int:
        return 0  # they hold a lock: see lock.py

    def again(self, error: DBAPIError) -> bool:
        return False  # it has waited for whoever held the file

    def store_error(self, error: DBAPIError) -> StoreError:
        detail = str(error.orig)
        if isinstance(error, IntegrityError):
            if getattr(error.orig, "sqlite_errorname", "") == "SQLITE_CONSTRAINT_FOREIGNKEY":
                return NotFound("a row was to refer to something that is not there")
            return StoreError(f"the database refused it: {detail}")
        if isinstance(error, DataError) or "binding parameter" in detail:
            # A value that no column takes. The database is there, and will never take it.
            return StoreError(f"the database refused it: {detail}")
        code = getattr(error.orig, "sqlite_errorcode", 0) & 0xFF
        if code == sqlite3.SQLITE_FULL or (code in _PERHAPS_FULL and self.ballast.is_full()):
            return StoreFull(f"{self.file}: {detail}; {_FREE_SOME}")
        if code in _DAMAGED and (why := _unreadable(self.file)):
            return StoreUnavailable(
                f"{self.file}: the disk does not give all of it ({why}); the file itself may be "
                "whole: look into the disk's state and the system's log"
            )
        kind = StoreLost if code in _DAMAGED else StoreUnavailable
        return kind(f"{self.file}: {detail}; {_way_out(error.orig, self.file)}")


class Patience:
    """With another process that writes."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self._end = math.inf
        self._said = False

    def begin(self, connection: PoolProxiedConnection) -> None:
        """Take the lock for writing, as soon as it is free. In the writer's thread."""
        cursor, began, told = connection.cursor(), time.monotonic(), False
        while True:
            try:
                cursor.execute("BEGIN IMMEDIATE")
            except sqlite3.OperationalError as error:
                busy, now = error.sqlite_errorcode & 0xFF == sqlite3.SQLITE_BUSY, time.monotonic()
                if not busy or now >= min(began + _BUSY_SECONDS, self._end):
                    self._say(busy)
                    raise
                if not told and now >= began + _SAID_AFTER:
                    told = True
                    log.info("another process holds %s: waiting until it lets go", self._file)
            else:
                return

    def lose(self) -> None:
        """See Committer.hasten."""
        self._end = min(self._end, time.monotonic() + _LAST_SECONDS)

    def _say(self, busy: bool) -> None:
        if busy and self._end != math.inf and not self._said:
            self._said = True
            log.warning(
                "Stopping: not waiting any longer for another process, which holds %s. What is not "
                "written yet is done at the next start.",
                self._file,
            )


class GroupCommits:
    """What waits is committed together, because a commit costs a flush to the disk however much is
    in it. Where a job of such a group fails, the group is done again with a savepoint for each, so
    that the others are left alone."""

    def __init__(
        self,
        connection: Connection,
        store_error: Callable[[DBAPIError], StoreError],
        ballast: Ballast,
        whereabouts: Whereabouts,
        patience: Patience,
    ) -> None:
        self._connection = connection
        self._store_error = store_error
        self._ballast = ballast
        self._whereabouts = whereabouts
        self._patience = patience

    def commit(self, group: Sequence[Job[Any]]) -> None:
        """What found no room on the disk is done again once some was made."""
        self._commit(group)
        for parts, wait in _ROOM:
            left = [job for job in group if isinstance(job.error, StoreFull)]
            if not left or not self._ballast.give_up(parts):
                return
            time.sleep(wait)
            self._commit(left)

    def _commit(self, group: Sequence[Job[Any]]) -> None:
        try:
            if not self._commit_together(group) and len(group) > 1:
                self._commit_apart(group)
        except Exception as error:  # noqa: BLE001 - handed to each caller
            # SQLite keeps a transaction open whose commit failed.
            self._connection.connection.rollback()
            for job in group:
                job.error = job.error or self._translated(error)

    def moved(self) -> str:
        return self._whereabouts.moved()

    def rescue(self) -> str:
        driver = self._connection.connection.driver_connection
        assert isinstance(driver, sqlite3.Connection)
        return self._whereabouts.rescue(driver)

    def hasten(self) -> None:
        self._patience.lose()

    def close(self) -> None:
        self._connection.close()

    def _commit_together(self, group: Sequence[Job[Any]]) -> bool:
        """All or, where one fails, none. Savepoints would cost a fifth of the time."""
        with self._connection.begin() as transaction:
            for job in group:
                self._attempt(job)
                if job.error is not None:
                    transaction.rollback()
                    return False
        return True

    def _commit_apart(self, group: Sequence[Job[Any]]) -> None:
        with self._connection.begin():
            for job in group:
                self._attempt_apart(job)

    def _attempt_apart(self, job: Job[Any]) -> None:
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

    def _attempt(self, job: Job[Any]) -> None:
        job.attempt(self._connection)
        if job.error is not None:
            job.error = self._translated(job.error)

    def _translated(self, error: BaseException) -> BaseException:
        if not isinstance(error, DBAPIError):
            return error
        translated = self._store_error(error)
        translated.__cause__ = error
        return translated


def append_only(table: str) -> list[str]:
    """Statements after which rows of `table` can be neither changed nor removed."""
    return [
        f"CREATE TRIGGER {table}_no_{verb.lower()} BEFORE {verb} ON {table} "
        f"BEGIN SELECT RAISE(ABORT, '{table} is append-only'); END"
        for verb in ("UPDATE", "DELETE")
    ]


def append_only_lifted(table: str) -> list[str]:
    """Statements that undo `append_only`, for a migration."""
    return [f"DROP TRIGGER {table}_no_{verb}" for verb in ("update", "delete")]


_SAME = ("id", "session", "parent", "number", "depth", "strand", "kind", "sort", "first_kept")
"""Columns of an entry that say where it stands and what it is."""
ONLY_TOMBSTONES = (
    "CREATE TRIGGER entries_no_update BEFORE UPDATE ON entries WHEN NOT ("
    """NEW.body LIKE '{"tombstone":{"by":"%","hash":"%' """
    "AND (NEW.author = OLD.author OR NEW.author LIKE 'forgotten:%') "
    "AND NEW.tokens IS OLD.tokens AND NEW.time IS OLD.time AND "
    + " AND ".join(f"NEW.{name} IS OLD.{name}" for name in _SAME)
    + ") BEGIN SELECT RAISE(ABORT, 'entries is append-only'); END",
    "CREATE TRIGGER entries_no_delete BEFORE DELETE ON entries "
    "BEGIN SELECT RAISE(ABORT, 'entries is append-only'); END",
)

SEARCH_INDEX = (
    "CREATE VIRTUAL TABLE search_index USING fts5"
    "(terms, content='', columnsize=0, detail=none, tokenize='ascii')",
)
"""Entry → its terms. Contentless, because the text is in the entry, and without places and counts
of terms, because nothing asks for them. Terms come cut and folded (see search.py): all that this
tokenizer does is to part them at the spaces."""


def next_entry_ids(connection: Connection, count: int) -> range:
    # The one writer has no rival.
    first = connection.exec_driver_sql("SELECT coalesce(max(id), 0) + 1 FROM entries").scalar_one()
    return range(first, first + count)


def insert_all(connection: Connection, table: Table, rows: Iterable[Mapping[str, Any]]) -> None:
    left = iter(rows)
    while batch := list(islice(left, _ROWS_AT_ONCE)):
        connection.execute(insert(table), batch)


def _file_of(url: URL) -> Path:
    """As it is named; "." where it is not. sqlite:///file:NAME?uri=true is SQLite's own way."""
    name = url.database or ""
    if name.startswith("file:") and url.query.get("uri"):
        name = unquote(urlsplit(name).path)
    return Path(name)


def _unreadable(file: Path) -> str:
    """Why the system cannot read a database or its WAL; "" where it can. SQLite calls a page that
    the disk does not give malformed (vdbe.c, SQLITE_IOERR_CORRUPTFS). Blocks: it reads all of
    them, which happens when something is wrong alone."""
    for each in (file, Path(f"{file}-wal")):
        at = 0
        try:
            descriptor = _descriptor(each)
            while read := os.pread(descriptor, _READ_AT_ONCE, at):
                at += len(read)
        except FileNotFoundError:
            continue
        except OSError as error:
            return (error.strerror or "the system does not say why").lower()
    return ""


def _descriptor(file: Path) -> int:
    """To read from; never closed, as closing it would take SQLite's locks on the file away from
    this process. So there is one for each file."""
    found = file.stat()
    key = found.st_dev, found.st_ino
    if key not in _descriptors:
        _descriptors[key] = os.open(file, os.O_RDONLY | os.O_CLOEXEC)
    return _descriptors[key]


_GIVE_ACCESS = "give this user write access to the file and its folder or set [storage] url"


def _way_out(error: BaseException | None, file: Path) -> str:
    # The low byte is the error's family; sqlite3 gives no code for errors of its own.
    match getattr(error, "sqlite_errorcode", 0) & 0xFF:
        case sqlite3.SQLITE_CANTOPEN if not file.parent.is_dir():
            return f"the folder {file.parent} is not there: create it or set [storage] url"
        case sqlite3.SQLITE_CANTOPEN | sqlite3.SQLITE_READONLY | sqlite3.SQLITE_PERM:
            return _GIVE_ACCESS
        case code if code in _DAMAGED:
            return (
                "the file is damaged or no SQLite database: put a backup in its place, or move it "
                f"away and try `sqlite3 {file.name} .recover | sqlite3 recovered.db`"
            )
        case sqlite3.SQLITE_BUSY | sqlite3.SQLITE_LOCKED:
            return "another process holds it: stop that one and try again"
        case sqlite3.SQLITE_IOERR:
            return "look whether its disk is full, and into its state"
        case _:
            return "check [storage] url"


def _engine(url: URL, begin: Callable[[PoolProxiedConnection], None], **pool: Any) -> Engine:
    engine = create_engine(
        url,
        **pool,
        connect_args={
            "timeout": _BUSY_SECONDS,
            "isolation_level": None,
            # A connection is used by one thread at a time, but not always by the same one.
            "check_same_thread": False,
        },
    )
    event.listen(engine, "connect", _prepare)
    # Not the event for it: with one listener SQLAlchemy looks for listeners at every statement.
    engine.dialect.do_begin = begin  # type: ignore[method-assign, assignment]
    return engine


def _begin_reading(connection: PoolProxiedConnection) -> None:
    connection.cursor().execute("BEGIN")


def _prepare(connection: sqlite3.Connection, _record: Any) -> None:
    connection.execute("PRAGMA synchronous = FULL")
    connection.execute("PRAGMA foreign_keys = ON")
    connection.execute(f"PRAGMA cache_size = -{_CACHE_KIB}")


def _use_wal(connection: sqlite3.Connection, _record: Any) -> None:
    """Switch the file to WAL; where it is already, nothing happens.

    SQLite does not wait for others here, so two processes that start at once on a new file need
    this loop.
    """
    # Before the first table, or never: free pages can be given back then.
    connection.execute("PRAGMA auto_vacuum = INCREMENTAL")
    # What was forgotten is not to be read in what is free.
    connection.execute("PRAGMA secure_delete = ON")
    deadline = time.monotonic() + _BUSY_SECONDS
    while True:
        try:
            mode = connection.execute("PRAGMA journal_mode = WAL").fetchone()
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode != sqlite3.SQLITE_BUSY or time.monotonic() > deadline:
                raise
            time.sleep(0.01)
            continue
        if mode != ("wal",):
            raise sqlite3.OperationalError("this file system cannot share a WAL between processes")
        break
    # From now on nothing but a BEGIN waits for others, and that has a patience of its own.
    connection.execute(f"PRAGMA busy_timeout = {_TRY_SECONDS * 1000:.0f}")


def _refuse_writes(connection: sqlite3.Connection, _record: Any) -> None:
    connection.execute("PRAGMA query_only = ON")
