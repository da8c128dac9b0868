"""Sessions and their entries in SQL."""

from collections.abc import Collection, Sequence
from typing import Any

from sqlalchemy import (
    Boolean,
    Connection,
    bindparam,
    case,
    exists,
    func,
    insert,
    literal_column,
    or_,
    select,
    update,
)

from storage.errors import EpochLost, LeafMoved, NotFound
from storage.json_text import dumps
from storage.records.entries import (
    Draft,
    Entry,
    Growth,
    ImportedEntry,
    Label,
    LeafMove,
    Session,
    SessionDraft,
    SessionKind,
    Strand,
    Stretch,
    Unasked,
)
from storage.sql.prepared import Prepared
from storage.sql.repositories import bulk, tree_queries
from storage.sql.rows import (
    ENTRIES,
    SESSIONS,
    UNASKED,
    Shape,
    insert_row,
)
from storage.sql.schema import entries, leaf_moves, sessions
from storage.tree.paths import effective_labels, first_kept, fork_point, is_on, sort_of

_ONE = select(*SESSIONS.columns).where(sessions.c.id == bindparam("session"))
_SESSION, _LOCKED_SESSION = Prepared(_ONE), Prepared(_ONE.with_for_update())
_CHILDREN = (
    select(*SESSIONS.columns)
    .where(sessions.c.parent_session == bindparam("session"))
    .order_by(sessions.c.id)
)
_ALL = (
    select(*SESSIONS.columns)
    .where(sessions.c.kind == bindparam("kind"))
    .order_by(sessions.c.id.desc())
)
_CREATE = insert(sessions)
_CLAIM = Prepared(
    update(sessions)
    .where(sessions.c.id == bindparam("session"))
    .values(epoch=sessions.c.epoch + 1)
    .returning(*SESSIONS.columns)
)

_parent = entries.alias("parent")
_AFTER = bindparam("after", type_=entries.c.id.type)
_GIVEN = ("kind", "sort", "body", "first_kept", "author", "tokens", "time")
_sibling = entries.alias("sibling")
_of_session = bindparam("of_session", type_=sessions.c.id.type)
# The strand that the entry continues: its parent's, where it is the first child there.
_STRAND = (
    select(func.coalesce(_parent.c.strand, _parent.c.id))
    .where(
        _parent.c.id == _AFTER,
        _parent.c.session == _of_session,
        ~exists().where(_sibling.c.parent == _parent.c.id, _sibling.c.session == _of_session),
    )
    .scalar_subquery()
)
# Where the session is as the caller saw it: the entry, with its place. Else nothing.
_APPEND = Prepared(
    insert(entries)
    .from_select(
        ["session", "parent", "number", "depth", "strand", *_GIVEN],
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
            _STRAND,
            *(bindparam(name, type_=entries.c[name].type) for name in _GIVEN),
        )
        .where(
            sessions.c.id == _of_session,
            sessions.c.epoch
            == func.coalesce(bindparam("of_epoch", type_=sessions.c.epoch.type), sessions.c.epoch),
            or_(bindparam("aside", type_=Boolean), sessions.c.leaf.is_not_distinct_from(_AFTER)),
        )
        .with_for_update(of=sessions),
    )
    .returning(entries.c.id, entries.c.number, entries.c.depth)
)
_MOVE = Prepared(
    update(sessions)
    .where(sessions.c.id == bindparam("of_session"))
    .values(leaf=bindparam("to"), last_number=bindparam("number"))
)
_COUNT = Prepared(
    update(sessions)
    .where(sessions.c.id == bindparam("of_session"))
    .values(last_number=bindparam("number"))
)
_RENAME = Prepared(
    update(sessions)
    .where(sessions.c.id == bindparam("session"))
    .values(title=bindparam("called"))
    .returning(*SESSIONS.columns)
)
_NOTE_UNASKED = (
    update(sessions)
    .where(sessions.c.id == bindparam("session"))
    .values({column.name: bindparam(column.name) for column in UNASKED.columns})
)
_COMPLETE = Prepared(
    update(sessions)
    .where(sessions.c.id == bindparam("session"))
    .values(title=bindparam("called"), kind=SessionKind.CHAT.value)
    .returning(*SESSIONS.columns)
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
_MOVES = Shape(LeafMove, leaf_moves, source="from_entry", target="to_entry", by="moved_by")
_LEAF_MOVES = (
    select(*_MOVES.columns)
    .where(leaf_moves.c.session == bindparam("session"))
    .order_by(leaf_moves.c.id.desc())
    .limit(bindparam("at_most"))
)

_ENTRY = select(*ENTRIES.columns).where(entries.c.id == bindparam("entry"))


class SqlTree:
    def __init__(self, connection: Connection, now: float) -> None:
        self._connection = connection
        self._now = now
        self.grew = False
        """It got entries."""

    def create(self, draft: SessionDraft) -> Session:
        if draft.parent_entry is not None:
            self._number(draft.parent_entry)
        values = SESSIONS.row(draft, leaf=None, epoch=0, created=self._now)
        return self.session(insert_row(self._connection, _CREATE, values | {"last_number": 0}))

    def session(self, session: int) -> Session:
        return self._session(_SESSION, session)

    def children(self, session: int) -> list[Session]:
        return SESSIONS.all(self._connection.execute(_CHILDREN, {"session": session}))

    def claim(self, session: int) -> Session:
        return self._session(_CLAIM, session)

    def hold(self, session: int, epoch: int) -> None:
        found = self._session(_LOCKED_SESSION, session)
        if found.epoch != epoch:
            raise _lost(found, epoch)

    def note_unasked(self, session: int, unasked: Unasked | None) -> None:
        values: dict[str, Any] = {"session": session}
        UNASKED.write(unasked, values)
        self._connection.execute(_NOTE_UNASKED, values)

    def rename(self, session: int, title: str) -> Session:
        return self._session(_RENAME, session, called=title)

    def complete(self, session: int, title: str) -> Session:
        return self._session(_COMPLETE, session, called=title)

    def append(
        self,
        session: int,
        draft: Draft,
        *,
        after: int | None,
        epoch: int | None = None,
        aside: bool = False,
    ) -> Entry:
        time = self._now if draft.time is None else draft.time
        values = {
            "of_session": session,
            "after": after,
            "of_epoch": epoch,
            "aside": aside,
            "kind": draft.kind.value,
            "sort": sort_of(draft.kind, draft.body),
            "body": dumps(draft.body),
            "first_kept": first_kept(draft.kind, draft.body),
            "author": draft.author,
            "tokens": draft.tokens,
            "time": time,
        }
        appended = _APPEND.row(self._connection, values)
        if appended is None:
            raise self._not_as_seen(session, after, epoch)
        self.grew = True
        entry, number, depth = appended
        if aside:
            _COUNT.later(self._connection, {"of_session": session, "number": number})
        else:
            _MOVE.later(self._connection, {"of_session": session, "to": entry, "number": number})
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
            return _lost(found, epoch)
        return LeafMoved(f"the leaf of session {session} is {found.leaf}, not {after}")

    def move_leaf(
        self, session: int, to: int | None, *, after: int | None, by: str, why: str = ""
    ) -> Session:
        execute = self._connection.execute
        found = self._session(_LOCKED_SESSION, session)
        number = 0 if to is None else self._number(to)
        if found.leaf != after:
            raise LeafMoved(f"the leaf of session {session} is {found.leaf}, not {after}")
        execute(_MOVE_ACROSS, {"of_session": session, "to": to, "number": number})
        move = LeafMove(after, to, by, why, self._now)
        execute(_RECORD_MOVE, _MOVES.row(move) | {"session": session})
        return self.session(session)

    def leaf_moves(self, session: int, limit: int = 100) -> list[LeafMove]:
        values = {"session": session, "at_most": limit}
        return _MOVES.all(self._connection.execute(_LEAF_MOVES, values))[::-1]

    def entry(self, entry: int) -> Entry:
        row = self._connection.execute(_ENTRY, {"entry": entry}).one_or_none()
        if row is None:
            raise NotFound(f"there is no entry {entry}")
        return ENTRIES.one(row)

    def numbered(self, session: int, number: int) -> Entry | None:
        found = tree_queries.numbered(self._connection, session, number)
        if found is not None:
            return self.entry(found)
        held = self.session(session)
        for part in reversed(self.route(fork_point(held))):
            found = tree_queries.on_strand(self._connection, part.strand, number)
            if found is not None and number <= part.last_number:
                return self.entry(found)
        return None

    def child_entries(self, session: int, entry: int | None) -> list[Entry]:
        return ENTRIES.all(tree_queries.child_rows(self._connection, session, entry))

    def path_end(self, leaf: int | None, limit: int) -> tuple[Entry, ...]:
        if leaf is None or not limit:
            return ()
        return tuple(ENTRIES.all(tree_queries.path_end_rows(self._connection, leaf, limit)))

    def route(self, entry: int | None) -> tuple[Stretch, ...]:
        return tree_queries.route(self._connection, entry) if entry is not None else ()

    def strands(self, session: int) -> list[Strand]:
        return tree_queries.strands(self._connection, session)

    def along(
        self,
        strand: int,
        low: int,
        high: int,
        *,
        sorts: Collection[str],
        limit: int,
        newest: bool = False,
    ) -> list[Entry]:
        rows = tree_queries.along_rows(
            self._connection, strand, low, high, sorts=sorts, limit=limit, newest=newest
        )
        return ENTRIES.all(rows)

    def labels(self, session: int) -> list[Label]:
        held = self.session(session)
        found = effective_labels(self._label_entries(held))
        if (fork := fork_point(held)) is None:
            return found
        begins = self.route(fork)
        return [label for label in found if self._has(session, begins, label.target)]

    def _label_entries(self, session: Session) -> list[Entry]:
        """A session's own, after all that were there when it was forked: a name may have moved."""
        own = ENTRIES.all(tree_queries.label_rows(self._connection, session.id))
        if fork_point(session) is None or session.parent_session is None:
            return own
        inherited = self._label_entries(self.session(session.parent_session))
        return [e for e in inherited if e.time <= session.created] + own

    def _has(self, fork: int, begins: tuple[Stretch, ...], entry: int) -> bool:
        """Whether an entry is a fork's own, or on the path that it begins with."""
        last = self.route(entry)[-1]
        return last.session == fork or is_on(begins, last.strand, last.last_depth)

    def plant(
        self,
        session: int,
        planted: Sequence[ImportedEntry],
        leaf: int | None,
        growth: Growth | None = None,
    ) -> list[int]:
        self._session(_LOCKED_SESSION, session)
        growth = Growth() if growth is None else growth
        self.grew = True
        return bulk.plant(self._connection, session, planted, leaf, self._now, growth)

    def sessions(self, kind: SessionKind) -> list[tuple[Session, int]]:
        sizes = bulk.sizes(self._connection)
        rows = self._connection.execute(_ALL, {"kind": kind.value})
        return [(found, sizes.get(found.id, 0)) for found in SESSIONS.all(rows)]

    def entries(self, session: int) -> list[Entry]:
        return bulk.all_entries(self._connection, session)

    def original(self, session: int, original: str) -> Entry | None:
        found = bulk.original(self._connection, session, original)
        if found is not None:
            return self.entry(found)
        on_path = self.route(fork_point(self.session(session)))
        for one in dict.fromkeys(part.session for part in reversed(on_path)):
            found = bulk.original(self._connection, one, original)
            if found is not None:
                last = self.route(found)[-1]
                return self.entry(found) if is_on(on_path, last.strand, last.last_depth) else None
        return None

    def originals(self, session: int) -> dict[int, str]:
        return bulk.originals(self._connection, session)

    def path(self, leaf: int | None) -> tuple[Entry, ...]:
        return tree_queries.path(self._connection, leaf)

    def context_path(self, leaf: int | None) -> tuple[Entry, ...]:
        return tree_queries.context_path(self._connection, leaf)

    def model_change(self, leaf: int | None) -> Entry | None:
        found = tree_queries.model_change(self._connection, leaf)
        return self.entry(found) if found is not None else None

    def _session(self, statement: Prepared, session: int, **more: Any) -> Session:
        row = statement.row(self._connection, {"session": session, **more})
        if row is None:
            raise NotFound(f"there is no session {session}")
        return SESSIONS.one(row)

    def _number(self, entry: int) -> int:
        number: int | None = self._connection.execute(_NUMBER, {"entry": entry}).scalar()
        if number is None:
            raise NotFound(f"there is no entry {entry}")
        return number


def _lost(found: Session, epoch: int) -> EpochLost:
    return EpochLost(f"session {found.id} is in epoch {found.epoch}, not {epoch}")
