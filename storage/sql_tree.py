"""Sessions and their entries in SQL."""

from collections import deque
from collections.abc import Sequence
from dataclasses import fields
from operator import attrgetter
from typing import Any

from sqlalchemy import (
    ColumnElement,
    Connection,
    Executable,
    Select,
    bindparam,
    case,
    func,
    insert,
    literal_column,
    null,
    select,
    update,
)

from storage.entries import Draft, Entry, Kind, Session, SessionDraft, SessionKind
from storage.errors import EpochLost, LeafMoved, NotFound
from storage.jsontext import dumps, loads
from storage.schema import entries, leaf_moves, sessions
from storage.sql_rows import insert_row
from storage.tree import from_first_kept

_SESSION_COLUMNS = (
    sessions.c.id,
    sessions.c.kind,
    sessions.c.leaf,
    sessions.c.epoch,
    sessions.c.title,
    sessions.c.parent_session,
    sessions.c.parent_entry,
    sessions.c.created,
)
_SESSION = select(*_SESSION_COLUMNS).where(sessions.c.id == bindparam("session"))
_LOCKED_SESSION = _SESSION.with_for_update()
_CHILDREN = (
    select(*_SESSION_COLUMNS)
    .where(sessions.c.parent_session == bindparam("session"))
    .order_by(sessions.c.id)
)
_CREATE = insert(sessions)
_CLAIM = (
    update(sessions)
    .where(sessions.c.id == bindparam("session"))
    .values(epoch=sessions.c.epoch + 1)
    .returning(*_SESSION_COLUMNS)
)

_parent = entries.alias("parent")
_AFTER = bindparam("after", type_=entries.c.id.type)
_GIVEN = ("kind", "body", "first_kept", "author", "tokens", "time")
# Where the session is as the caller saw it: the entry, with its place. Else nothing.
_APPEND = (
    insert(entries)
    .from_select(
        ["session", "parent", "number", "depth", *_GIVEN],
        select(
            sessions.c.id,
            _AFTER,
            sessions.c.last_number + literal_column("1"),
            func.coalesce(
                select(_parent.c.depth + literal_column("1"))
                .where(_parent.c.id == _AFTER)
                .scalar_subquery(),
                literal_column("0"),
            ),
            *(bindparam(name, type_=entries.c[name].type) for name in _GIVEN),
        )
        .where(
            sessions.c.id == bindparam("of_session"),
            sessions.c.leaf.is_not_distinct_from(_AFTER),
            sessions.c.epoch
            == func.coalesce(bindparam("of_epoch", type_=sessions.c.epoch.type), sessions.c.epoch),
        )
        .with_for_update(of=sessions),
    )
    .returning(entries.c.id, entries.c.number, entries.c.depth)
)
_MOVE = (
    update(sessions)
    .where(sessions.c.id == bindparam("of_session"))
    .values(leaf=bindparam("to"), last_number=bindparam("number"))
)
# A session goes on counting from where it was, or from the other session's entry it moves to.
_MOVE_ACROSS = (
    update(sessions)
    .where(sessions.c.id == bindparam("of_session"))
    .values(
        leaf=bindparam("to"),
        last_number=case(
            (sessions.c.last_number < bindparam("number"), bindparam("number")),
            else_=sessions.c.last_number,
        ),
    )
)
_NUMBER = select(entries.c.number).where(entries.c.id == bindparam("entry"))
_RECORD_MOVE = insert(leaf_moves)
_LEAF_MOVES = (
    select(leaf_moves.c.from_entry, leaf_moves.c.to_entry, leaf_moves.c.moved_by)
    .where(leaf_moves.c.session == bindparam("session"))
    .order_by(leaf_moves.c.id)
)

_ENTRY_COLUMNS = (
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
_ENTRY = select(*_ENTRY_COLUMNS).where(entries.c.id == bindparam("entry"))
_KIND, _BODY = 5, 6
_SET_FIELDS = [vars(Entry)[field.name].__set__ for field in fields(Entry)]
_KINDS = {kind.value: kind for kind in Kind}


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
    return select(*_ENTRY_COLUMNS).join(walk, walk.c.id == entries.c.id)


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


class SqlTree:
    def __init__(self, connection: Connection, now: float) -> None:
        self._connection = connection
        self._now = now

    def create(self, draft: SessionDraft) -> Session:
        if draft.parent_entry is not None:
            self._number(draft.parent_entry)
        values = {
            "kind": draft.kind.value,
            "leaf": None,
            "epoch": 0,
            "last_number": 0,
            "title": draft.title,
            "parent_session": draft.parent_session,
            "parent_entry": draft.parent_entry,
            "created": self._now,
        }
        return self.session(insert_row(self._connection, _CREATE, values))

    def session(self, session: int) -> Session:
        return self._session(_SESSION, session)

    def children(self, session: int) -> list[Session]:
        return [_session(row) for row in self._connection.execute(_CHILDREN, {"session": session})]

    def claim(self, session: int) -> Session:
        return self._session(_CLAIM, session)

    def append(
        self, session: int, draft: Draft, *, after: int | None, epoch: int | None = None
    ) -> Entry:
        time = self._now if draft.time is None else draft.time
        values = {
            "of_session": session,
            "after": after,
            "of_epoch": epoch,
            "kind": draft.kind.value,
            "body": dumps(draft.body),
            "first_kept": _first_kept(draft),
            "author": draft.author,
            "tokens": draft.tokens,
            "time": time,
        }
        appended = self._connection.execute(_APPEND, values).one_or_none()
        if appended is None:
            raise self._not_as_seen(session, after, epoch)
        entry, number, depth = appended
        self._connection.execute(_MOVE, {"of_session": session, "to": entry, "number": number})
        return Entry(
            entry,
            session,
            after,
            number,
            depth,
            draft.kind,
            draft.body,
            draft.author,
            draft.tokens,
            time,
        )

    def _not_as_seen(
        self, session: int, after: int | None, epoch: int | None
    ) -> EpochLost | LeafMoved:
        """Why nothing was appended. NotFound where there is no such session."""
        found = self.session(session)
        if epoch is not None and epoch != found.epoch:
            return EpochLost(f"session {session} is in epoch {found.epoch}, not {epoch}")
        return LeafMoved(f"the leaf of session {session} is {found.leaf}, not {after}")

    def move_leaf(self, session: int, to: int | None, *, after: int | None, by: str) -> Session:
        execute = self._connection.execute
        found = self._session(_LOCKED_SESSION, session)
        number = 0 if to is None else self._number(to)
        if found.leaf != after:
            raise LeafMoved(f"the leaf of session {session} is {found.leaf}, not {after}")
        execute(_MOVE_ACROSS, {"of_session": session, "to": to, "number": number})
        execute(
            _RECORD_MOVE,
            {
                "session": session,
                "from_entry": after,
                "to_entry": to,
                "moved_by": by,
                "time": self._now,
            },
        )
        return self.session(session)

    def leaf_moves(self, session: int) -> list[tuple[int | None, int | None, str]]:
        rows = self._connection.execute(_LEAF_MOVES, {"session": session})
        return [(row[0], row[1], row[2]) for row in rows]

    def entry(self, entry: int) -> Entry:
        row = self._connection.execute(_ENTRY, {"entry": entry}).one_or_none()
        if row is None:
            raise NotFound(f"there is no entry {entry}")
        return _entries([row])[0]

    def path(self, leaf: int | None) -> tuple[Entry, ...]:
        return self._walk(_PATH, leaf)

    def context_path(self, leaf: int | None) -> tuple[Entry, ...]:
        return from_first_kept(self._walk(_CONTEXT_PATH, leaf))

    def _walk(self, statement: Select[Any], leaf: int | None) -> tuple[Entry, ...]:
        if leaf is None:
            return ()
        found: list[Entry] = []
        # In parts: the fewer objects live at once, the less often the garbage collector runs.
        for rows in self._connection.execute(statement, {"leaf": leaf}).partitions(256):
            found += _entries(rows)
        if not found:
            raise NotFound(f"there is no entry {leaf}")
        found.sort(key=attrgetter("id"))  # a parent always has the smaller id
        return tuple(found)

    def _session(self, statement: Executable, session: int) -> Session:
        row = self._connection.execute(statement, {"session": session}).one_or_none()
        if row is None:
            raise NotFound(f"there is no session {session}")
        return _session(row)

    def _number(self, entry: int) -> int:
        number: int | None = self._connection.execute(_NUMBER, {"entry": entry}).scalar()
        if number is None:
            raise NotFound(f"there is no entry {entry}")
        return number


def _session(row: Sequence[Any]) -> Session:
    id_, kind, leaf, epoch, title, parent_session, parent_entry, created = row
    return Session(
        id_, SessionKind(kind), leaf, epoch, title, parent_session, parent_entry, created
    )


def _entries(rows: Sequence[Sequence[Any]]) -> list[Entry]:
    """Entries from rows of _ENTRY_COLUMNS; at least one row.

    Column by column, because a path may have thousands: one call decodes all bodies, and the fields
    are set through their slots, which is twice as fast as the constructor of a frozen dataclass.
    """
    columns: list[Any] = list(zip(*rows, strict=True))
    columns[_KIND] = map(_KINDS.__getitem__, columns[_KIND])
    columns[_BODY] = loads(f"[{','.join(columns[_BODY])}]")
    made = [object.__new__(Entry) for _ in rows]
    for set_field, column in zip(_SET_FIELDS, columns, strict=True):
        deque(map(set_field, made, column), maxlen=0)
    return made


def _first_kept(draft: Draft) -> int | None:
    kept = draft.body.get("first_kept") if draft.kind is Kind.COMPACTION else None
    return kept if isinstance(kept, int) else None
