"""What the SQL parts share."""

from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import fields
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
_KIND, _BODY = 5, 6
_SET_FIELDS = [vars(Entry)[field.name].__set__ for field in fields(Entry)]
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


def entries_of(rows: Sequence[Sequence[Any]]) -> list[Entry]:
    """Entries from rows of ENTRY_COLUMNS.

    Column by column, because a path may have thousands: one call decodes all bodies, and the fields
    are set through their slots, which is twice as fast as the constructor of a frozen dataclass.
    """
    if not rows:
        return []
    columns: list[Any] = list(zip(*rows, strict=True))
    columns[_KIND] = map(_KINDS.__getitem__, columns[_KIND])
    columns[_BODY] = loads(f"[{','.join(columns[_BODY])}]")
    made = [object.__new__(Entry) for _ in rows]
    for set_field, column in zip(_SET_FIELDS, columns, strict=True):
        deque(map(set_field, made, column), maxlen=0)
    return made


def session_of(row: Sequence[Any]) -> Session:
    """A session from a row of SESSION_COLUMNS."""
    id_, kind, leaf, epoch, title, parent_session, parent_entry, created, role, number = row
    run = Run(RunRole(role), number) if role is not None else None
    return Session(
        id_, SessionKind(kind), leaf, epoch, title, parent_session, parent_entry, created, run
    )
