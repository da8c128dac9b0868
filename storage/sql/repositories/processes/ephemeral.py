"""Rows that hold while their process lives, in SQL. A process lives as long as its lease, by the
clock of the database."""

from collections.abc import Collection
from typing import Any

from sqlalchemy import (
    Column,
    ColumnElement,
    Connection,
    Double,
    Exists,
    Index,
    MetaData,
    RowMapping,
    Select,
    Table,
    Text,
    delete,
    exists,
    literal,
    or_,
    select,
)
from sqlalchemy.dialects import postgresql, sqlite

from storage.ephemeral import PROCESS, EphemeralRow
from storage.json_text import dumps, loads
from storage.records.entries import Json
from storage.sql.dialect import Words
from storage.sql.repositories.processes.leases import clock_of, leases

ephemeral = Table(
    "ephemeral",
    MetaData(),  # of its own: it is neither copied nor kept, as processes are gone then
    Column("kind", Words, primary_key=True),
    Column("key", Words, primary_key=True),
    Column("owner", Words, nullable=False, index=True),
    Column("scope", Words, nullable=False),
    Column("body", Text, nullable=False),
    Column("at", Double, nullable=False),
    Index("ix_ephemeral_scope", "kind", "scope"),
)


class SqlEphemeral:
    def __init__(self, connection: Connection, now: float) -> None:
        self._connection = connection
        self._now = now

    def put(self, kind: str, key: str, owner: str, body: Json, scope: str = "") -> bool:
        of = postgresql if self._connection.dialect.name == "postgresql" else sqlite
        insert = of.insert(ephemeral).values(
            kind=kind, key=key, owner=owner, scope=scope, body=dumps(body), at=self._clock
        )
        changed = ("owner", "scope", "body", "at")
        put = insert.on_conflict_do_update(
            index_elements=[ephemeral.c.kind, ephemeral.c.key],
            set_={name: insert.excluded[name] for name in changed},
            where=or_(ephemeral.c.owner == owner, ~self._lives()),
        ).returning(ephemeral.c.key)
        return self._connection.execute(put).first() is not None

    def of(
        self, kind: str, scope: str | None = None, *, keys: Collection[str] | None = None
    ) -> list[EphemeralRow]:
        if keys is not None and not keys:
            return []
        found = self._rows().where(ephemeral.c.kind == kind, self._lives())
        if scope is not None:
            found = found.where(ephemeral.c.scope == scope)
        if keys is not None:
            found = found.where(ephemeral.c.key.in_(keys))
        rows = self._connection.execute(found.order_by(ephemeral.c.key))
        return [_row(row) for row in rows.mappings()]

    def last(self, kind: str, key: str) -> EphemeralRow | None:
        found = self._rows().where(ephemeral.c.kind == kind, ephemeral.c.key == key)
        row = self._connection.execute(found).mappings().one_or_none()
        return _row(row) if row is not None else None

    def drop(self, kind: str, keys: Collection[str], owner: str) -> None:
        ours = (ephemeral.c.kind == kind, ephemeral.c.key.in_(keys), ephemeral.c.owner == owner)
        self._connection.execute(delete(ephemeral).where(*ours))

    def clear(self, kind: str) -> None:
        self._connection.execute(delete(ephemeral).where(ephemeral.c.kind == kind))

    def leave(self, owner: str) -> None:
        self._connection.execute(delete(ephemeral).where(ephemeral.c.owner == owner))

    def prune(self, seconds: float) -> int:
        gone = delete(ephemeral).where(ephemeral.c.at <= self._clock - seconds, ~self._lives())
        return self._connection.execute(gone).rowcount

    def living(self) -> frozenset[str]:
        found = select(leases.c.name).where(
            leases.c.name.startswith(PROCESS, autoescape=True), leases.c.until > self._clock
        )
        names = self._connection.execute(found).scalars()
        return frozenset(name.removeprefix(PROCESS) for name in names)

    def _rows(self) -> Select[Any]:
        kept = [column for column in ephemeral.c if column.name != "at"]
        return select(*kept, (self._clock - ephemeral.c.at).label("age"))

    def _lives(self) -> Exists:
        name = literal(PROCESS, Words).concat(ephemeral.c.owner)
        return exists().where(leases.c.name == name, leases.c.until > self._clock)

    @property
    def _clock(self) -> ColumnElement[float]:
        return clock_of(self._connection, self._now)


def _row(found: RowMapping) -> EphemeralRow:
    return EphemeralRow(**{**found, "body": loads(found["body"])})
