"""The one place that knows which database it is. So far there is only SQLite.

SQLite, as we use it: WAL, so that readers and the writer do not wait for each other;
synchronous=FULL, so that what was acknowledged survives a power cut; transactions begun by us, not
by the driver, because the driver begins them too late and not for reads.
"""

import sqlite3
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from sqlalchemy import URL, BigInteger, Engine, Integer, create_engine, event, make_url
from sqlalchemy.exc import (
    ArgumentError,
    DataError,
    DBAPIError,
    IntegrityError,
    NoSuchModuleError,
)
from sqlalchemy.pool import NullPool, PoolProxiedConnection, QueuePool

from storage.errors import NotFound, StoreError, StoreLost, StoreUnavailable

ID = BigInteger().with_variant(Integer, "sqlite")
"""A 64-bit id. SQLite counts up only columns that are called INTEGER, and those have 64 bits."""

_BUSY_SECONDS = 60.0
"""How long we wait for another process that writes: a command line beside the gateway, which needs
about 40 to take in a session of 1,000,000 entries."""

_DAMAGED = (sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_CORRUPT)

_CACHE_KIB = 16 * 1024
"""Of pages, for each connection: a path of ten thousand entries fits."""

READERS = 2
"""Threads that read, each on a connection of its own."""


def parse_url(text: str) -> URL:
    """StoreUnavailable where it is not the URL of a database file we can use."""
    try:
        url = make_url(text)
        backend = url.get_backend_name()
    except (ArgumentError, NoSuchModuleError, ValueError) as error:
        raise StoreUnavailable(
            "[storage] url is not a database URL; write it like sqlite:///bough.db"
        ) from error
    if backend != "sqlite":
        raise StoreUnavailable(
            f"[storage] url names {backend}, but only SQLite is there so far; "
            "write it like sqlite:///bough.db"
        )
    if str(database_file(url)) in (".", ":memory:") or url.query.get("mode") == "memory":
        raise StoreUnavailable(
            "[storage] url names no file; write it like sqlite:///bough.db, "
            "or sqlite:////var/lib/bough/bough.db for an absolute path"
        )
    return url.set(drivername="sqlite+pysqlite")


def database_file(url: URL) -> Path:
    """As it is named; "." where it is not. sqlite:///file:NAME?uri=true is SQLite's own way."""
    name = url.database or ""
    if name.startswith("file:") and url.query.get("uri"):
        name = unquote(urlsplit(name).path)
    return Path(name)


def writer_engine(url: URL) -> Engine:
    """An engine whose transactions hold the lock for writing from their start. Its connections are
    closed when they are given back."""
    engine = _engine(url, "BEGIN IMMEDIATE", poolclass=NullPool)
    event.listen(engine, "connect", _use_wal)
    return engine


def reader_engine(url: URL) -> Engine:
    """An engine whose transactions see one state of the database and cannot change it."""
    engine = _engine(url, "BEGIN", poolclass=QueuePool, pool_size=READERS, max_overflow=0)
    event.listen(engine, "connect", _refuse_writes)
    return engine


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


SEARCH_INDEX = (
    "CREATE VIRTUAL TABLE search_index USING fts5"
    "(terms, content='', columnsize=0, detail=none, tokenize='ascii')"
)
"""Entry → its terms. Contentless, because the text is in the entry, and without places and counts
of terms, because nothing asks for them. Terms come cut and folded (see search.py): all that this
tokenizer does is to part them at the spaces."""

INDEX_TERMS = "INSERT INTO search_index (rowid, terms) VALUES (?, ?)"

KEEP_WORDS = "INSERT OR IGNORE INTO search_words (word) SELECT value FROM json_each(?)"

HITS = """
    FROM search_index CROSS JOIN entries ON entries.id = search_index.rowid
    WHERE search_index MATCH :expression AND search_index.rowid < :before
    AND entries.session IN (SELECT value FROM json_each(:sessions))
    ORDER BY search_index.rowid DESC"""
"""CROSS, so that SQLite reads the index from its end and stops when the caller does."""


def search_expression(groups: Iterable[Iterable[str]]) -> str:
    """True of an entry that has a term of each group. Quoted, so that no term is an operator."""
    either = (" OR ".join(f'"{term}"' for term in group) for group in groups)
    return " AND ".join(f"({group})" for group in either)


def store_error(error: DBAPIError, url: URL) -> StoreError:
    """What the error means, in our words."""
    detail = str(error.orig)
    if isinstance(error, IntegrityError):
        if getattr(error.orig, "sqlite_errorname", "") == "SQLITE_CONSTRAINT_FOREIGNKEY":
            return NotFound("a row was to refer to something that is not there")
        return StoreError(f"the database refused it: {detail}")
    if isinstance(error, DataError) or "binding parameter" in detail:
        # A value that no column takes. The database is there, and will never take it.
        return StoreError(f"the database refused it: {detail}")
    file = database_file(url)
    code = getattr(error.orig, "sqlite_errorcode", 0) & 0xFF
    kind = StoreLost if code in _DAMAGED else StoreUnavailable
    return kind(f"{file}: {detail}; {_way_out(error.orig, file)}")


def _way_out(error: BaseException | None, file: Path) -> str:
    # The low byte is the error's family; sqlite3 gives no code for errors of its own.
    match getattr(error, "sqlite_errorcode", 0) & 0xFF:
        case sqlite3.SQLITE_CANTOPEN if not file.parent.is_dir():
            return f"the folder {file.parent} is not there: create it or set [storage] url"
        case sqlite3.SQLITE_CANTOPEN | sqlite3.SQLITE_READONLY | sqlite3.SQLITE_PERM:
            return "give this user write access to the file and its folder or set [storage] url"
        case code if code in _DAMAGED:
            return (
                "the file is damaged or no SQLite database: put a backup in its place, or move it "
                f"away and try `sqlite3 {file.name} .recover | sqlite3 recovered.db`"
            )
        case sqlite3.SQLITE_BUSY | sqlite3.SQLITE_LOCKED:
            return "another process holds it: stop that one and try again"
        case sqlite3.SQLITE_FULL:
            return "free some space on its disk"
        case sqlite3.SQLITE_IOERR:
            return "look whether its disk is full, and into its state"
        case _:
            return "check [storage] url"


def _engine(url: URL, begin: str, **pool: Any) -> Engine:
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

    def do_begin(dbapi_connection: PoolProxiedConnection) -> None:
        dbapi_connection.cursor().execute(begin)

    # Not the event for it: with one listener SQLAlchemy looks for listeners at every statement.
    engine.dialect.do_begin = do_begin  # type: ignore[method-assign]
    return engine


def _prepare(connection: sqlite3.Connection, _record: Any) -> None:
    connection.execute("PRAGMA synchronous = FULL")
    connection.execute("PRAGMA foreign_keys = ON")
    connection.execute(f"PRAGMA cache_size = -{_CACHE_KIB}")


def _use_wal(connection: sqlite3.Connection, _record: Any) -> None:
    """Switch the file to WAL; where it is already, nothing happens.

    SQLite does not wait for others here, so two processes that start at once on a new file need
    this loop.
    """
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
        return


def _refuse_writes(connection: sqlite3.Connection, _record: Any) -> None:
    connection.execute("PRAGMA query_only = ON")
