"""Questions to the tree in SQL: by strand, so that they cost as much as there are branches, and up
from a leaf."""

from collections.abc import Collection
from operator import attrgetter
from typing import Any

from sqlalchemy import (
    ColumnElement,
    Connection,
    Select,
    bindparam,
    case,
    func,
    literal_column,
    null,
    select,
)

from storage.errors import NotFound
from storage.records.entries import Entry, Kind, Strand, Stretch
from storage.sql.rows import ENTRY_COLUMNS, Rows, entries_of
from storage.sql.schema import entries
from storage.tree.paths import from_first_kept

_NUMBERED = select(entries.c.id).where(
    entries.c.session == bindparam("session"), entries.c.number == bindparam("number")
)
_STRAND = func.coalesce(entries.c.strand, entries.c.id)
_ON_STRAND = select(entries.c.id).where(
    entries.c.strand == bindparam("strand"), entries.c.number == bindparam("number")
)
_FIRST = select(entries.c.id).where(
    entries.c.id == bindparam("strand"), entries.c.number == bindparam("number")
)

_CHILDREN = (
    select(*ENTRY_COLUMNS)
    .where(entries.c.parent == bindparam("entry"), entries.c.session == bindparam("session"))
    .order_by(entries.c.id)
)
_ROOTS = (
    select(*ENTRY_COLUMNS)
    .where(
        entries.c.session == bindparam("session"),
        entries.c.strand.is_(None),
        entries.c.parent.is_(None),
    )
    .order_by(entries.c.id)
)
_LABELS = (
    select(*ENTRY_COLUMNS)
    .where(entries.c.session == bindparam("session"), entries.c.kind == "label")
    .order_by(entries.c.id)
)

_up = (
    select(entries.c.id, entries.c.parent, literal_column("1").label("length"))
    .where(entries.c.id == bindparam("leaf"))
    .cte("up", recursive=True)
)
_up = _up.union_all(
    select(entries.c.id, entries.c.parent, _up.c.length + literal_column("1"))
    .join(_up, entries.c.id == _up.c.parent)
    .where(_up.c.length < bindparam("at_most"))
)
_PATH_END = select(*ENTRY_COLUMNS).join(_up, _up.c.id == entries.c.id).order_by(entries.c.id)

# From the entry to the first one of its strand, from there to what that hangs on, and so on.
_first = entries.alias("first")
_steps = select(bindparam("entry", type_=entries.c.id.type).label("last")).cte(
    "steps", recursive=True
)
_steps = _steps.union_all(
    select(_first.c.parent)
    .select_from(_steps)
    .join(entries, entries.c.id == _steps.c.last)
    .join(_first, _first.c.id == _STRAND)
    .where(_first.c.parent.is_not(None))
)
_ROUTE = (
    select(
        _first.c.id,
        _first.c.session,
        _first.c.parent,
        _first.c.depth,
        entries.c.id,
        entries.c.number,
        entries.c.depth,
    )
    .select_from(_steps)
    .join(entries, entries.c.id == _steps.c.last)
    .join(_first, _first.c.id == _STRAND)
    .order_by(entries.c.id)
)

_above = entries.alias("above")
_next = entries.alias("next")
_tip = entries.alias("tip")
_STRANDS = (
    select(
        _first.c.id,
        _first.c.session,
        _first.c.parent,
        func.coalesce(_above.c.strand, _above.c.id),
        _first.c.number,
        _first.c.depth,
        _tip.c.id,
        _tip.c.number,
        _tip.c.depth,
        _first.c.sort,
        _tip.c.sort,
    )
    .outerjoin(_above, _above.c.id == _first.c.parent)
    .join(
        _tip,
        (_tip.c.session == _first.c.session)
        & (
            _tip.c.number
            == func.coalesce(
                select(func.max(_next.c.number))
                .where(_next.c.strand == _first.c.id)
                .scalar_subquery(),
                _first.c.number,
            )
        ),
    )
    .where(_first.c.session == bindparam("session"), _first.c.strand.is_(None))
    .order_by(_first.c.id)
)

_of_sort = entries.c.sort.in_(bindparam("sorts", expanding=True))
_within = entries.c.number.between(bindparam("low"), bindparam("high"))
_ALONG = (
    select(*ENTRY_COLUMNS)
    .where(entries.c.strand == bindparam("strand"), _within, _of_sort)
    .limit(bindparam("at_most"))
)
_ALONG_UP = _ALONG.order_by(entries.c.number)
_ALONG_DOWN = _ALONG.order_by(entries.c.number.desc())
_ALONG_FIRST = select(*ENTRY_COLUMNS).where(entries.c.id == bindparam("strand"), _within, _of_sort)


def numbered(connection: Connection, session: int, number: int) -> int | None:
    """The id of a session's own entry."""
    values = {"session": session, "number": number}
    found: int | None = connection.execute(_NUMBERED, values).scalar()
    return found


def on_strand(connection: Connection, strand: int, number: int) -> int | None:
    values = {"strand": strand, "number": number}
    for statement in (_ON_STRAND, _FIRST):
        found: int | None = connection.execute(statement, values).scalar()
        if found is not None:
            return found
    return None


def child_rows(connection: Connection, session: int, entry: int | None) -> Rows:
    if entry is None:
        return connection.execute(_ROOTS, {"session": session}).fetchall()
    return connection.execute(_CHILDREN, {"session": session, "entry": entry}).fetchall()


def label_rows(connection: Connection, session: int) -> Rows:
    return connection.execute(_LABELS, {"session": session}).fetchall()


def path_end_rows(connection: Connection, leaf: int, limit: int) -> Rows:
    return connection.execute(_PATH_END, {"leaf": leaf, "at_most": limit}).fetchall()


def route(connection: Connection, entry: int) -> tuple[Stretch, ...]:
    return tuple(Stretch(*row) for row in connection.execute(_ROUTE, {"entry": entry}))


def strands(connection: Connection, session: int) -> list[Strand]:
    rows: Rows = connection.execute(_STRANDS, {"session": session}).fetchall()
    return [Strand(*row) for row in rows]


def along_rows(
    connection: Connection,
    strand: int,
    low: int,
    high: int,
    *,
    sorts: Collection[str],
    limit: int,
    newest: bool,
) -> Rows:
    """See Tree.along. The first entry of a strand does not name it, so it is asked for apart."""
    values = {"strand": strand, "low": low, "high": high, "sorts": sorted(sorts), "at_most": limit}
    first = connection.execute(_ALONG_FIRST, values).fetchall()
    if newest:
        rows = connection.execute(_ALONG_DOWN, values).fetchall()
        return [*first, *reversed(rows)][-limit:] if limit else []
    return [*first, *connection.execute(_ALONG_UP, values)][:limit]


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
