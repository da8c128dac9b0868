"""Paths in SQL: one walk up from the leaf."""

from operator import attrgetter
from typing import Any

from sqlalchemy import ColumnElement, Connection, Select, bindparam, case, func, null, select

from storage.errors import NotFound
from storage.records.entries import Entry, Kind
from storage.sql.rows import ENTRY_COLUMNS, entries_of
from storage.sql.schema import entries
from storage.tree.paths import from_first_kept


def _upwards(kept: ColumnElement[Any], *, stop: bool) -> Select[Any]:
    """The path up from :leaf, entries in no particular order.

    With `stop`, it ends at the first kept entry of the first compaction met: `until` is empty
    below that compaction and holds the kept entry's id above it. A parent always has the smaller
    id, so an `until` that is not on the path ends the walk too.
    """
    start = select(entries.c.id, entries.c.parent, kept.label("until")).where(
        entries.c.id == bindparam("leaf")
    )
    walk = start.cte("walk", recursive=True)
    above = select(entries.c.id, entries.c.parent, func.coalesce(walk.c.until, kept)).join(
        walk, entries.c.id == walk.c.parent
    )
    if stop:
        above = above.where(walk.c.until.is_(None) | (walk.c.id > walk.c.until))
    walk = walk.union_all(above)
    return select(*ENTRY_COLUMNS).join(walk, walk.c.id == entries.c.id)


# A compaction that keeps nothing stops the walk at itself.
_KEPT = case(
    (
        entries.c.kind == Kind.COMPACTION.value,
        func.coalesce(entries.c.first_kept, entries.c.id),
    ),
    else_=null(),
)
_PATH = _upwards(null(), stop=False)
_CONTEXT_PATH = _upwards(_KEPT, stop=True)


def path(connection: Connection, leaf: int | None) -> tuple[Entry, ...]:
    """See Tree.path."""
    return _walk(connection, _PATH, leaf)


def context_path(connection: Connection, leaf: int | None) -> tuple[Entry, ...]:
    """See Tree.context_path."""
    return from_first_kept(_walk(connection, _CONTEXT_PATH, leaf))


def _walk(connection: Connection, statement: Select[Any], leaf: int | None) -> tuple[Entry, ...]:
    if leaf is None:
        return ()
    found: list[Entry] = []
    # In parts: the fewer objects live at once, the less often the garbage collector runs.
    for rows in connection.execute(statement, {"leaf": leaf}).partitions(256):
        found += entries_of(rows)
    if not found:
        raise NotFound(f"there is no entry {leaf}")
    found.sort(key=attrgetter("id"))  # a parent always has the smaller id
    return tuple(found)
