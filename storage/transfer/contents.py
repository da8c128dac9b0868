"""What a database holds, row by row, and a checksum over it. Indexes for searching are no content:
each database makes its own.
"""

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import Connection, Table, func, select, text

from storage.sql.schema import blobs, facts, metadata, search_words
from storage.sql.search.sqlite import FOLLOWED
from storage.sql.tool_schema import notes

AT_ONCE = 1_000
"""Rows that are held in memory."""
_CANONICAL = json.JSONEncoder(ensure_ascii=True, separators=(",", ":"), default=bytes.hex)
_NEVER_AGAIN = (notes,)
"""Tables whose ids are given out once, that of a row which is gone too."""

Row = Mapping[str, Any]


@dataclass
class Tally:
    """How many rows a table has, and a checksum over them in the order of their keys: the same in
    every database that holds the same."""

    rows: int = 0
    _hash: Any = field(default_factory=hashlib.sha256)

    def count(self, rows: Iterable[Row]) -> Iterator[Row]:
        """Give the rows on, each counted."""
        for row in rows:
            self.rows += 1
            self._hash.update(_CANONICAL.encode(list(row.values())).encode())
            yield row

    @property
    def checksum(self) -> str:
        return str(self._hash.hexdigest())

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Tally) and (self.rows, self.checksum) == (
            other.rows,
            other.checksum,
        )


def tables() -> list[Table]:
    """Those with content, so that what a row refers to comes before it. Kept contents are none:
    they may stand beside the database (storage.transfer.kept)."""
    return [table for table in metadata.sorted_tables if table not in (search_words, blobs)]


def rows_of(connection: Connection, table: Table) -> Iterator[Row]:
    """In the order of their keys: a row that another of the table refers to is the older one."""
    statement = select(table).order_by(*table.primary_key.columns)
    if table is facts:
        statement = statement.where(facts.c.name != FOLLOWED)
    # Of this statement alone: set on the connection, it would stay with all that come after.
    found = connection.execute(statement, execution_options={"yield_per": AT_ONCE})
    yield from (dict(row) for row in found.mappings())


def tally(connection: Connection) -> dict[str, Tally]:
    """Of each table."""
    found = {}
    for table in tables():
        found[table.name] = counted = Tally()
        for _ in counted.count(rows_of(connection, table)):
            continue
    return found


def first_with_rows(connection: Connection) -> str | None:
    """The name of a table that is not empty."""
    for table in tables():
        if next(rows_of(connection, table), None) is not None:
            return table.name
    return None


def continue_ids(source: Connection, target: Connection) -> None:
    """Let the target count up from the ids that it was given, or that were given out once."""
    for table in tables():
        keys = list(table.primary_key.columns)
        if len(keys) != 1 or table.autoincrement_column is None:
            continue
        highest = target.scalar(select(func.max(keys[0]))) or 0
        if table in _NEVER_AGAIN:
            highest = max(highest, _last_given(source, table))
        if highest:
            _go_on_after(target, table, highest)


def _last_given(connection: Connection, table: Table) -> int:
    if connection.dialect.name == "sqlite":
        asked = text("SELECT seq FROM sqlite_sequence WHERE name = :name")
        return int(connection.scalar(asked, {"name": table.name}) or 0)
    asked = text("SELECT COALESCE(pg_sequence_last_value(pg_get_serial_sequence(:name, 'id')), 0)")
    return int(connection.scalar(asked, {"name": table.name}) or 0)


def _go_on_after(connection: Connection, table: Table, highest: int) -> None:
    if connection.dialect.name == "postgresql":
        asked = text("SELECT setval(pg_get_serial_sequence(:name, 'id'), :highest)")
        connection.execute(asked, {"name": table.name, "highest": highest})
    elif table in _NEVER_AGAIN:
        name = {"name": table.name, "highest": highest}
        connection.execute(text("DELETE FROM sqlite_sequence WHERE name = :name"), name)
        connection.execute(
            text("INSERT INTO sqlite_sequence (name, seq) VALUES (:name, :highest)"), name
        )
