"""What the SQL parts share."""

from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields
from itertools import chain, count
from operator import attrgetter
from typing import Any

from sqlalchemy import Connection, Insert, Table, TextClause, bindparam, text

from storage.json_text import loads
from storage.records.entries import Entry, Kind, Run, RunRole, Session, SessionKind
from storage.sql.schema import entries, sessions

ENTRY_COLUMNS = (
    entries.c.id,
    entries.c.session,
    entries.c.parent,
    entries.c.number,
    entries.c.depth,
    entries.c.kind,
    entries.c.body,
    entries.c.author,
    entries.c.tokens,
    entries.c.time,
)
PATH_COLUMNS = ("id", "session", "number", "kind", "body", "author", "tokens", "time")
"""Those that are not known from an entry's place on a path."""

_SLOTS = {field.name: vars(Entry)[field.name].__set__ for field in fields(Entry)}
SESSION_COLUMNS = (
    sessions.c.id,
    sessions.c.kind,
    sessions.c.leaf,
    sessions.c.epoch,
    sessions.c.title,
    sessions.c.parent_session,
    sessions.c.parent_entry,
    sessions.c.created,
    sessions.c.run_role,
    sessions.c.run_number,
)
_KINDS = {kind.value: kind for kind in Kind}


Rows = Sequence[Sequence[Any]]


def insert_row(connection: Connection, statement: Insert, values: Mapping[str, Any]) -> int:
    """Insert a row and return the id it got."""
    key: Any = connection.execute(statement, values).inserted_primary_key
    id_: int = key[0]
    return id_


def upsert(
    table: Table,
    columns: Sequence[str],
    *,
    key: Sequence[str],
    change: Sequence[str] = (),
    returning: str = "",
) -> TextClause:
    """Insert a row or, where one with its key is there already, change these columns of that one;
    nothing where there are none, and nothing is returned then. Settled by the database, whoever
    else does it at the same time."""
    values = ", ".join(f":{name}" for name in columns)
    changes = ", ".join(f"{name} = excluded.{name}" for name in change)
    statement = text(
        f"INSERT INTO {table.name} ({', '.join(columns)}) VALUES ({values}) "  # noqa: S608 - names
        f"ON CONFLICT ({', '.join(key)}) DO {f'UPDATE SET {changes}' if change else 'NOTHING'}"
        f"{f' RETURNING {returning}' if returning else ''}"
    )
    return statement.bindparams(*(bindparam(name, type_=table.c[name].type) for name in columns))


def entries_of(rows: Rows) -> list[Entry]:
    """Entries from rows of ENTRY_COLUMNS."""
    return _made(rows, [column.name for column in ENTRY_COLUMNS])


def unplaced_entries_of(rows: Rows) -> list[Entry]:
    """Entries from rows of PATH_COLUMNS, which lack what `place_on_path` gives them."""
    return _made(rows, PATH_COLUMNS)


def place_on_path(path: Sequence[Entry], *, parent: int | None, depth: int) -> None:
    """Each entry hangs on the one before; `parent` and `depth` are the first one's."""
    _fill(path, "parent", chain((parent,), map(attrgetter("id"), path)))
    _fill(path, "depth", count(depth))


def _made(rows: Rows, names: Sequence[str]) -> list[Entry]:
    """Column by column, because a path may have thousands: one call decodes all bodies, and the
    fields are set through their slots, which is twice as fast as the constructor of a frozen
    dataclass."""
    made = [object.__new__(Entry) for _ in rows]
    for name, column in zip(names, zip(*rows, strict=True), strict=bool(rows)):
        match name:
            case "kind":
                _fill(made, name, map(_KINDS.__getitem__, column))
            case "body":
                _fill(made, name, loads(f"[{','.join(column)}]"))
            case _:
                _fill(made, name, column)
    return made


def _fill(made: Sequence[Entry], name: str, values: Iterable[Any]) -> None:
    deque(map(_SLOTS[name], made, values), maxlen=0)


def session_of(row: Sequence[Any]) -> Session:
    """A session from a row of SESSION_COLUMNS."""
    id_, kind, leaf, epoch, title, parent_session, parent_entry, created, role, number = row
    run = Run(RunRole(role), number) if role is not None else None
    return Session(
        id_, SessionKind(kind), leaf, epoch, title, parent_session, parent_entry, created, run
    )
