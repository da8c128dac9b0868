"""Questions to the tree in SQL: by strand, so that they cost as much as there are branches, and up
from a leaf."""

from collections.abc import Collection, Iterator, Sequence
from functools import cache
from operator import attrgetter
from typing import Any

from sqlalchemy import Connection, TextClause, bindparam, func, literal_column, select, text

from storage.errors import NotFound
from storage.giving_way import with_pauses
from storage.records.entries import Entry, Kind, Strand, Stretch
from storage.sql.prepared import Prepared
from storage.sql.rows import (
    ENTRIES,
    UNPLACED,
    Rows,
    place_on_path,
)
from storage.sql.schema import entries

_ROWS_AT_ONCE = 512
_SPANS_AT_ONCE = 64

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

_CHILDREN = Prepared(
    select(*ENTRIES.columns)
    .where(entries.c.parent == bindparam("entry"), entries.c.session == bindparam("session"))
    .order_by(entries.c.id)
)
_ROOTS = Prepared(
    select(*ENTRIES.columns)
    .where(
        entries.c.session == bindparam("session"),
        entries.c.strand.is_(None),
        entries.c.parent.is_(None),
    )
    .order_by(entries.c.id)
)
_LABELS = (
    select(*ENTRIES.columns)
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
_PATH_END = select(*ENTRIES.columns).join(_up, _up.c.id == entries.c.id).order_by(entries.c.id)

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
    select(*ENTRIES.columns)
    .where(entries.c.strand == bindparam("strand"), _within, _of_sort)
    .limit(bindparam("at_most"))
)
_ALONG_UP = _ALONG.order_by(entries.c.number)
_ALONG_DOWN = _ALONG.order_by(entries.c.number.desc())
_ALONG_FIRST = select(*ENTRIES.columns).where(
    entries.c.id == bindparam("strand"), _within, _of_sort
)


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
        return _ROOTS.rows(connection, {"session": session})
    return _CHILDREN.rows(connection, {"session": session, "entry": entry})


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


_TYPE = entries.c.id.type
_COMPACTION = "entries.id, entries.first_kept"
_ON_PATH = ", ".join(map(str, UNPLACED.columns))
_PLACE = select(_STRAND, entries.c.number, entries.c.parent, entries.c.depth).where(
    entries.c.id == bindparam("entry")
)

Span = tuple[int, int, int]
"""Of one strand: its first entry, the lowest and the highest number."""


def path(connection: Connection, leaf: int | None) -> tuple[Entry, ...]:
    """See Tree.path."""
    if leaf is None:
        return ()
    parts = _route_there(connection, leaf)
    top = parts[0]
    return _entries_in(connection, _spans(parts), parent=top.parent, depth=top.depth)


def context_path(connection: Connection, leaf: int | None) -> tuple[Entry, ...]:
    """See Tree.context_path."""
    if leaf is None:
        return ()
    parts = _route_there(connection, leaf)
    top = parts[0]
    if found := _newest(connection, parts, _COMPACTION, Kind.COMPACTION):
        return _entries_from(connection, parts, found[0], found[1])
    return _entries_in(connection, _spans(parts), parent=top.parent, depth=top.depth)


def model_change(connection: Connection, leaf: int | None) -> int | None:
    """The newest change of the model on a path."""
    if leaf is None:
        return None
    parts = _route_there(connection, leaf)
    found = _newest(connection, parts, "entries.id", Kind.MODEL_CHANGE)
    return int(found[0]) if found else None


def _newest(
    connection: Connection, parts: Sequence[Stretch], columns: str, kind: Kind
) -> tuple[Any, ...]:
    """The newest entry of a kind on a path; nothing where there is none. The kind needs an index
    of its own."""
    for batch in _batches(list(reversed(_spans(parts)))):
        statement = _among(columns, len(batch), newest=kind.value)
        if (found := connection.execute(statement, _values(batch)).fetchone()) is not None:
            return tuple(found)
    return ()


def _entries_from(
    connection: Connection, parts: Sequence[Stretch], compaction: int, kept: int | None
) -> tuple[Entry, ...]:
    """The end of a path, from what its newest compaction kept; from the compaction itself, where
    that is not above it on the path."""
    for entry in (kept, compaction):
        if entry is None or entry > compaction:
            continue
        place = connection.execute(_PLACE, {"entry": entry}).one_or_none()
        if place is None:
            continue
        strand, number, parent, depth = place
        for at, part in enumerate(parts):
            if part.strand == strand and number <= part.last_number:
                spans = [(strand, number, part.last_number), *_spans(parts[at + 1 :])]
                return _entries_in(connection, spans, parent=parent, depth=depth)
    raise NotFound(f"there is no entry {compaction}")


def _entries_in(
    connection: Connection, spans: Sequence[Span], *, parent: int | None, depth: int
) -> tuple[Entry, ...]:
    """A straight piece of a path; `parent` and `depth` are its first entry's."""
    found: list[Entry] = []
    for batch in _batches(spans):
        result = connection.execute(_among(_ON_PATH, len(batch)), _values(batch))
        # In parts: the fewer objects live at once, the less often the garbage collector runs.
        for rows in with_pauses(result.partitions(_ROWS_AT_ONCE)):
            found += UNPLACED.all(rows)
    found.sort(key=attrgetter("id"))  # a parent always has the smaller id
    place_on_path(found, parent=parent, depth=depth)
    return tuple(found)


def _route_there(connection: Connection, leaf: int) -> tuple[Stretch, ...]:
    parts = route(connection, leaf)
    if not parts:
        raise NotFound(f"there is no entry {leaf}")
    return parts


def _spans(parts: Sequence[Stretch]) -> list[Span]:
    return [(part.strand, 0, part.last_number) for part in parts]


def _batches(spans: Sequence[Span]) -> Iterator[Sequence[Span]]:
    for start in range(0, len(spans), _SPANS_AT_ONCE):
        yield spans[start : start + _SPANS_AT_ONCE]


def _values(spans: Sequence[Span]) -> dict[str, int]:
    return {
        f"{name}{place}": value
        for place, span in enumerate(spans)
        for name, value in zip(("strand", "low", "high"), span, strict=True)
    }


@cache
def _among(columns: str, count: int, *, newest: str = "") -> TextClause:
    """These columns of the entries in so many spans, in no particular order; with a kind as
    `newest`, of the newest entry of that kind among them only.

    The first entry of a strand does not name it, so it is asked for apart. CROSS JOIN keeps SQLite
    from going through all entries.
    """
    values = ", ".join(f"(:strand{place}, :low{place}, :high{place})" for place in range(count))
    only = f" AND entries.kind = '{newest}'" if newest else ""
    within = f"AND entries.number BETWEEN part.low AND part.high{only}"
    statement = text(
        f"WITH part(strand, low, high) AS (VALUES {values}) "  # noqa: S608 - our own names
        f"SELECT {columns} FROM part CROSS JOIN entries "
        f"WHERE entries.strand = part.strand {within} "
        f"UNION ALL SELECT {columns} FROM part CROSS JOIN entries "
        f"WHERE entries.id = part.strand {within}"
        f"{' ORDER BY 1 DESC LIMIT 1' if newest else ''}"
    )
    names = [f"{name}{place}" for place in range(count) for name in ("strand", "low", "high")]
    return statement.bindparams(*(bindparam(name, type_=_TYPE) for name in names))
