"""The seam to the database: what depends on whether it is SQLite (sqlite.py) or PostgreSQL
(postgres.py)."""

from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, Protocol

from sqlalchemy import (
    URL,
    BigInteger,
    Connection,
    Dialect,
    Engine,
    Integer,
    Table,
    Text,
    TypeDecorator,
    make_url,
)
from sqlalchemy.exc import ArgumentError, DBAPIError, NoSuchModuleError

from storage.errors import StoreError, StoreUnavailable
from storage.sql import postgres, sqlite
from storage.sql.shared.alone import Announce, Peers, say_nothing
from storage.sql.writer import Committer

ID = BigInteger().with_variant(Integer, "sqlite")
"""A 64-bit id. SQLite counts up only columns that are called INTEGER, and those have 64 bits."""

Count = ID
"""A whole number that may be anything: counts of tokens come from files, too."""


class Words(TypeDecorator[str]):
    """Text from anywhere, as both databases can hold it: without NUL and without halves of
    surrogate pairs, which JSON escapes but a plain column cannot. Sorted by code points."""

    impl = Text
    cache_ok = True

    def load_dialect_impl(self, dialect: Dialect) -> Any:
        return dialect.type_descriptor(Text(collation="C" if _is_postgres(dialect) else None))

    def process_bind_param(self, value: str | None, dialect: Dialect) -> str | None:
        # What is no text the driver refuses better.
        if not isinstance(value, str) or (value.isascii() and "\0" not in value):
            return value
        return value.replace("\0", "\ufffd").encode(errors="replace").decode()


class Database(Protocol):
    """One database, whichever it is."""

    @property
    def readers(self) -> int:
        """How many transactions that only read there may be at once."""
        ...

    @property
    def description(self) -> str:
        """What people are told that it is. Holds no password."""
        ...

    @property
    def place(self) -> str:
        """The same, with the whole path of a file."""
        ...

    @property
    def in_files(self) -> bool:
        """Whether it is in files, which may be taken away under us."""
        ...

    def is_there(self) -> bool:
        """Whether it was made; a server's always, or asking it says why not."""
        ...

    def warning(self) -> str:
        """What people should know of it at the start; "" where there is nothing."""
        ...

    def keep_room(self, size: int) -> None:
        """Have so many bytes of its disk kept for it from the next `restore_room` on, where it is
        a file; see ballast.py."""
        ...

    def make_room(self) -> bool:
        """On a full disk, give up some of that; False where there is nothing to give up. Blocks."""
        ...

    def restore_room(self) -> str:
        """Keep again what was given up, where there is room for it; for people, why something is
        missing. Blocks."""
        ...

    def peers(self) -> Peers:
        """The other processes on it. StoreUnavailable where what it takes to know of them is not
        installed."""
        ...

    def committer(self, announce: Announce = say_nothing) -> Committer:
        """Connects. DBAPIError where that fails."""
        ...

    def reader_engine(self) -> Engine:
        """Its transactions see one state of the database and cannot change it."""
        ...

    def checking(self) -> AbstractContextManager[Connection]:
        """A transaction that comes to nothing, to look whether the tables are up to date and can be
        written."""
        ...

    def migrating(self) -> AbstractContextManager[Connection]:
        """A transaction beside which nobody else migrates."""
        ...

    def others(self) -> int:
        """How many connections of other gateways there are, where the database knows. DBAPIError
        where it cannot be asked."""
        ...

    def again(self, error: DBAPIError) -> bool:
        """Whether nothing was done and the same work may well succeed when it is done again."""
        ...

    def store_error(self, error: DBAPIError) -> StoreError:
        """What the error means, in our words."""
        ...


def database_in(file: Path) -> Database:
    """That of a file, whatever it is called: in a URL, what follows a ? is no part of its name."""
    return sqlite.Sqlite(URL.create("sqlite", database=str(file)))


def database_of(url: str) -> Database:
    """StoreUnavailable where it is not the URL of a database we can use."""
    if url.startswith("postgres://"):  # as many hosts hand it out
        url = url.replace("postgres://", "postgresql://", 1)
    # `from None`: the errors of libraries repeat parts of the URL, and there is a password in it.
    try:
        parsed = make_url(url)
        backend = parsed.get_backend_name()
    except (ArgumentError, NoSuchModuleError, ValueError):
        raise StoreUnavailable(
            "[storage] url is not a database URL; write it like sqlite:///bough.db "
            "or postgresql://user@host/bough"
        ) from None
    if "@" in (parsed.host or ""):  # the end of a password, which is not to be shown
        raise StoreUnavailable(
            "[storage] url has an @ too many: in a user's name or password it is written %40"
        )
    match backend:
        case "sqlite":
            return sqlite.Sqlite(parsed)
        case "postgresql":
            return postgres.Postgres(parsed)
        case _:
            raise StoreUnavailable(
                f"[storage] url names {backend}, but Bough keeps its data in SQLite or PostgreSQL; "
                "write it like sqlite:///bough.db or postgresql://user@host/bough"
            )


def append_only(table: str, dialect: Dialect) -> Sequence[str]:
    """Statements after which rows of `table` can be neither changed nor removed."""
    if _is_postgres(dialect):
        return postgres.append_only(table)
    return sqlite.append_only(table)


def append_only_lifted(table: str, dialect: Dialect) -> Sequence[str]:
    """Statements that undo `append_only`, for a migration."""
    if _is_postgres(dialect):
        return postgres.append_only_lifted(table)
    return sqlite.append_only_lifted(table)


def only_tombstones(dialect: Dialect) -> Sequence[str]:
    """Statements after which entries can be changed into tombstones, and in no other way."""
    return postgres.ONLY_TOMBSTONES if _is_postgres(dialect) else sqlite.ONLY_TOMBSTONES


def search_index(dialect: Dialect) -> Sequence[str]:
    """Statements that make the search index, for a migration."""
    return postgres.SEARCH_INDEX if _is_postgres(dialect) else sqlite.SEARCH_INDEX


def next_entry_ids(connection: Connection, count: int) -> Sequence[int]:
    """So many ids for new entries, rising, larger than any that is there; nobody else gets them."""
    if _is_postgres(connection.dialect):
        return postgres.next_entry_ids(connection, count)
    return sqlite.next_entry_ids(connection, count)


def insert_all(connection: Connection, table: Table, rows: Iterable[Mapping[str, Any]]) -> None:
    """Insert many rows, which have the same columns."""
    if _is_postgres(connection.dialect):
        postgres.insert_all(connection, table, rows)
    else:
        sqlite.insert_all(connection, table, rows)


def _is_postgres(dialect: Dialect) -> bool:
    return dialect.name == "postgresql"
