"""Sessions and their entries in memory."""

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import replace

from storage.errors import EpochLost, LeafMoved
from storage.json_text import copied
from storage.memory_rows import Table, Undo
from storage.records.entries import (
    Draft,
    Entry,
    ImportedEntry,
    Kind,
    Label,
    LeafMove,
    Session,
    SessionDraft,
    SessionKind,
    Strand,
    Stretch,
)
from storage.tree.bulk import grown
from storage.tree.paths import effective_labels, fork_point, from_first_kept, sort_of


class TreeTables:
    def __init__(self, journal: list[Undo]) -> None:
        self.sessions: Table[int, Session] = Table(journal, "session")
        self.last_numbers: Table[int, int] = Table(journal, "session")
        self.entries: Table[int, Entry] = Table(journal, "entry")
        self.strands: Table[int, int] = Table(journal, "strand")
        """Entry → the first one of its strand."""
        self.continued: Table[int, bool] = Table(journal, "parent")
        """Entries with a child in their own session."""
        self.leaf_moves: Table[int, tuple[int, LeafMove]] = Table(journal, "leaf move")
        """Session and move."""
        self.originals: Table[tuple[int, str], int] = Table(journal, "original id")
        """Session and what an entry was called → the entry."""


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
            run=draft.run,
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

    def rename(self, session: int, title: str) -> Session:
        return self._change(replace(self.session(session), title=title))

    def append(
        self,
        session: int,
        draft: Draft,
        *,
        after: int | None,
        epoch: int | None = None,
        aside: bool = False,
    ) -> Entry:
        tables = self._tables
        found = self.session(session)
        if epoch is not None and epoch != found.epoch:
            raise EpochLost(f"session {session} is in epoch {found.epoch}, not {epoch}")
        if not aside:
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
        self._weave(entry)
        if not aside:
            self._change(replace(found, leaf=entry.id))
        return _copy(entry)

    def _weave(self, entry: Entry) -> None:
        """Find the strand of a new entry."""
        tables, parent = self._tables, entry.parent
        here = parent is not None and tables.entries[parent].session == entry.session
        if parent is None or not here or parent in tables.continued:
            tables.strands[entry.id] = entry.id
        else:
            tables.strands[entry.id] = tables.strands[parent]
            tables.continued[parent] = True

    def move_leaf(
        self, session: int, to: int | None, *, after: int | None, by: str, why: str = ""
    ) -> Session:
        tables = self._tables
        found = self.session(session)
        number = 0 if to is None else tables.entries[to].number
        _expect_leaf(found, after)
        tables.last_numbers[session] = max(tables.last_numbers[session], number)
        move = LeafMove(after, to, by, why, self._now)
        tables.leaf_moves[tables.leaf_moves.next_id] = session, move
        return self._change(replace(found, leaf=to))

    def leaf_moves(self, session: int, limit: int = 100) -> list[LeafMove]:
        moves = [move for where, move in self._tables.leaf_moves.values() if where == session]
        return moves[-limit:] if limit else []

    def entry(self, entry: int) -> Entry:
        return _copy(self._tables.entries[entry])

    def numbered(self, session: int, number: int) -> Entry | None:
        held = self.session(session)
        own = [e for e in self._tables.entries.values() if e.session == session]
        for entry in (*own, *reversed(self._up(fork_point(held)))):
            if entry.number == number:
                return _copy(entry)
        return None

    def child_entries(self, session: int, entry: int | None) -> list[Entry]:
        found = self._tables.entries.values()
        return [_copy(e) for e in found if e.session == session and e.parent == entry]

    def path_end(self, leaf: int | None, limit: int) -> tuple[Entry, ...]:
        return self.path(leaf)[-limit:] if limit else ()

    def route(self, entry: int | None) -> tuple[Stretch, ...]:
        path = self._up(entry)
        if entry is not None and not path:
            return ()
        lasts = {self._tables.strands[e.id]: e for e in path}
        return tuple(self._stretch(first, last) for first, last in lasts.items())

    def _stretch(self, strand: int, last: Entry) -> Stretch:
        first = self._tables.entries[strand]
        return Stretch(
            strand, first.session, first.parent, first.depth, last.id, last.number, last.depth
        )

    def strands(self, session: int) -> list[Strand]:
        tips: dict[int, Entry] = {}
        for entry in self._tables.entries.values():
            if entry.session == session:
                tips[self._tables.strands[entry.id]] = entry
        return [self._strand(strand, tip) for strand, tip in tips.items()]

    def _strand(self, strand: int, tip: Entry) -> Strand:
        first = self._tables.entries[strand]
        above = self._tables.strands[first.parent] if first.parent is not None else None
        return Strand(
            strand,
            first.session,
            first.parent,
            above,
            first.number,
            first.depth,
            tip.id,
            tip.number,
            tip.depth,
            sort_of(first.kind, first.body),
            sort_of(tip.kind, tip.body),
        )

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
        found = [
            _copy(entry)
            for entry in self._tables.entries.values()
            if self._tables.strands[entry.id] == strand
            and low <= entry.number <= high
            and sort_of(entry.kind, entry.body) in sorts
        ]
        if not limit:
            return []
        return found[-limit:] if newest else found[:limit]

    def labels(self, session: int) -> list[Label]:
        held = self.session(session)
        found = effective_labels(self._label_entries(held))
        fork = fork_point(held)
        if fork is None:
            return found
        entries, begins = self._tables.entries, {entry.id for entry in self._up(fork)}
        return [
            label
            for label in found
            if label.target in begins or entries[label.target].session == session
        ]

    def _label_entries(self, session: Session) -> list[Entry]:
        entries = self._tables.entries.values()
        own = [e for e in entries if e.session == session.id and e.kind is Kind.LABEL]
        if fork_point(session) is None or session.parent_session is None:
            return own
        inherited = self._label_entries(self.session(session.parent_session))
        return [e for e in inherited if e.time <= session.created] + own

    def plant(self, session: int, planted: Sequence[ImportedEntry], leaf: int | None) -> list[int]:
        tables, found = self._tables, self.session(session)
        first_id, number = tables.entries.next_id, tables.last_numbers[session]
        entries = grown(
            planted, session=session, first_id=first_id, first_number=number + 1, now=self._now
        )
        for each, (entry, _) in zip(planted, entries, strict=True):
            tables.entries[entry.id] = _copy(entry)
            self._weave(entry)
            if each.original:
                tables.originals[session, each.original] = entry.id
        tables.last_numbers[session] = number + len(planted)
        self._change(replace(found, leaf=None if leaf is None else first_id + leaf))
        return list(range(first_id, first_id + len(planted)))

    def sessions(self, kind: SessionKind) -> list[tuple[Session, int]]:
        sizes = Counter(entry.session for entry in self._tables.entries.values())
        found = [s for s in self._tables.sessions.values() if s.kind is kind]
        return [(session, sizes[session.id]) for session in reversed(found)]

    def entries(self, session: int) -> list[Entry]:
        return [_copy(e) for e in self._tables.entries.values() if e.session == session]

    def original(self, session: int, original: str) -> Entry | None:
        path = self._up(fork_point(self.session(session)))
        found = self._tables.originals.get((session, original))
        if found is not None:
            return self.entry(found)
        for entry in reversed(path):
            if self._tables.originals.get((entry.session, original)) == entry.id:
                return _copy(entry)
        return None

    def originals(self, session: int) -> dict[int, str]:
        found = self._tables.originals.items()
        return {entry: called for (where, called), entry in found if where == session}

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
