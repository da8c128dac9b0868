"""Sessions and their entries in memory."""

from dataclasses import dataclass, replace

from storage.entries import Draft, Entry, Session, SessionDraft
from storage.errors import EpochLost, LeafMoved
from storage.jsontext import copied
from storage.memory_rows import Table, Undo
from storage.tree import from_first_kept


@dataclass(frozen=True, slots=True)
class LeafMove:
    session: int
    source: int | None
    target: int | None
    by: str


class TreeTables:
    def __init__(self, journal: list[Undo]) -> None:
        self.sessions: Table[int, Session] = Table(journal, "session")
        self.last_numbers: Table[int, int] = Table(journal, "session")
        self.entries: Table[int, Entry] = Table(journal, "entry")
        self.leaf_moves: Table[int, LeafMove] = Table(journal, "leaf move")


class MemoryTree:
    def __init__(self, tables: TreeTables, now: float) -> None:
        self._tables = tables
        self._now = now

    def create(self, draft: SessionDraft) -> Session:
        tables = self._tables
        tables.sessions.expect(draft.parent_session)
        tables.entries.expect(draft.parent_entry)
        session = Session(
            id=tables.sessions.next_id,
            kind=draft.kind,
            leaf=None,
            epoch=0,
            title=draft.title,
            parent_session=draft.parent_session,
            parent_entry=draft.parent_entry,
            created=self._now,
        )
        tables.sessions[session.id] = session
        tables.last_numbers[session.id] = 0
        return session

    def session(self, session: int) -> Session:
        return self._tables.sessions[session]

    def children(self, session: int) -> list[Session]:
        return [s for s in self._tables.sessions.values() if s.parent_session == session]

    def claim(self, session: int) -> Session:
        found = self.session(session)
        return self._change(replace(found, epoch=found.epoch + 1))

    def append(
        self, session: int, draft: Draft, *, after: int | None, epoch: int | None = None
    ) -> Entry:
        tables = self._tables
        found = self.session(session)
        if epoch is not None and epoch != found.epoch:
            raise EpochLost(f"session {session} is in epoch {found.epoch}, not {epoch}")
        _expect_leaf(found, after)
        entry = Entry(
            id=tables.entries.next_id,
            session=session,
            parent=after,
            number=tables.last_numbers[session] + 1,
            depth=0 if after is None else tables.entries[after].depth + 1,
            kind=draft.kind,
            body=copied(draft.body),
            author=draft.author,
            tokens=draft.tokens,
            time=self._now if draft.time is None else draft.time,
        )
        tables.entries[entry.id] = entry
        tables.last_numbers[session] = entry.number
        self._change(replace(found, leaf=entry.id))
        return _copy(entry)

    def move_leaf(self, session: int, to: int | None, *, after: int | None, by: str) -> Session:
        tables = self._tables
        found = self.session(session)
        number = 0 if to is None else tables.entries[to].number
        _expect_leaf(found, after)
        tables.last_numbers[session] = max(tables.last_numbers[session], number)
        tables.leaf_moves[tables.leaf_moves.next_id] = LeafMove(session, after, to, by)
        return self._change(replace(found, leaf=to))

    def leaf_moves(self, session: int) -> list[tuple[int | None, int | None, str]]:
        moves = self._tables.leaf_moves.values()
        return [(move.source, move.target, move.by) for move in moves if move.session == session]

    def entry(self, entry: int) -> Entry:
        return _copy(self._tables.entries[entry])

    def path(self, leaf: int | None) -> tuple[Entry, ...]:
        return tuple(_copy(entry) for entry in self._up(leaf))

    def context_path(self, leaf: int | None) -> tuple[Entry, ...]:
        return tuple(_copy(entry) for entry in from_first_kept(self._up(leaf)))

    def _up(self, leaf: int | None) -> list[Entry]:
        path = []
        while leaf is not None:
            entry = self._tables.entries[leaf]
            path.append(entry)
            leaf = entry.parent
        path.reverse()
        return path

    def _change(self, session: Session) -> Session:
        self._tables.sessions[session.id] = session
        return session


def _expect_leaf(session: Session, after: int | None) -> None:
    if session.leaf != after:
        raise LeafMoved(f"the leaf of session {session.id} is {session.leaf}, not {after}")


def _copy(entry: Entry) -> Entry:
    """A caller may change the body it got; the one that is kept stays as it is."""
    return replace(entry, body=copied(entry.body))
