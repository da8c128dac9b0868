"""Conversations, people, audit and facts in memory."""

from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import Any

from storage.json_text import copied
from storage.memory_rows import Table, Undo
from storage.memory_tree import TreeTables
from storage.records.entries import Entry, Json, Overview, SessionKind
from storage.tree.paths import TALK, fork_point, sort_of


class DirectoryTables:
    def __init__(self, journal: list[Undo]) -> None:
        self.sessions: Table[str, int] = Table(journal, "conversation")
        self.members: Table[tuple[str, int], bool] = Table(journal, "member")
        self.cursors: Table[str, str] = Table(journal, "cursor")
        self.people: Table[str, str] = Table(journal, "person")
        self.audit: Table[int, tuple[str, str, Json, float]] = Table(journal, "audit row")
        self.facts: Table[str, Any] = Table(journal, "fact")


def set_cursor(tables: DirectoryTables, address: str, cursor: str) -> None:
    tables.cursors[address] = cursor


class MemoryDirectory:
    def __init__(self, tables: DirectoryTables, tree: TreeTables, now: float) -> None:
        self._tables = tables
        self._tree = tree
        self._now = now

    def conversation(self, address: str) -> int | None:
        return self._tables.sessions.get(address)

    def bind(self, address: str, session: int) -> None:
        self._tree.sessions.expect(session)
        self._tables.sessions[address] = session
        self.join(session, address)

    def addresses(self, session: int) -> list[str]:
        bound = self._tables.sessions.items()
        return sorted(address for address, in_session in bound if in_session == session)

    def join(self, session: int, member: str) -> None:
        self._tree.sessions.expect(session)
        self._tables.members[member, session] = True

    def members(self, session: int) -> list[str]:
        return sorted(member for member, where in self._tables.members if where == session)

    def joined(self, members: Collection[str]) -> list[int]:
        found = {where for member, where in self._tables.members if member in members}
        return sorted(found, reverse=True)

    def recent(self, members: Collection[str], *, limit: int, skip: int = 0) -> list[int]:
        tree = self._tree
        found = [
            session
            for session in self.joined(members)
            if tree.sessions[session].kind is SessionKind.CHAT
            and (tree.last_numbers[session] or tree.sessions[session].title)
        ]
        found.sort(key=lambda session: (self._active(session), session), reverse=True)
        return found[skip : skip + limit]

    def foreign_forks(self, members: Collection[str]) -> list[int]:
        joined = self.joined(members)
        sessions = [self._tree.sessions[session] for session in joined]
        return [
            session.id
            for session in sessions
            if fork_point(session) is not None and session.parent_session not in joined
        ]

    def overview(self, session: int) -> Overview:
        found = self._tree.sessions[session]
        above = self._above(fork_point(found))
        own = [e for e in self._tree.entries.values() if e.session == session]
        said = [e for e in (*above, *own) if sort_of(e.kind, e.body) in TALK]
        first = next((e for e in said if e.body["role"] == "user"), None)
        if first is not None:
            first = replace(first, body=copied(first.body))
        return Overview(session, found.title, len(said), self._active(session), first)

    def _above(self, entry: int | None) -> list[Entry]:
        """The path down to an entry."""
        path: list[Entry] = []
        while entry is not None:
            path.append(self._tree.entries[entry])
            entry = path[-1].parent
        return path[::-1]

    def _active(self, session: int) -> float:
        times = [e.time for e in self._tree.entries.values() if e.session == session]
        return max([self._tree.sessions[session].created, *times[-1:]])

    def cursors(self, platform: str) -> Mapping[str, str]:
        known = self._tables.cursors.items()
        return {a: cursor for a, cursor in known if a.partition(":")[0] == platform}

    def greet(self, identity: str, name: str) -> bool:
        first = identity not in self._tables.people
        self._tables.people[identity] = name
        return first

    def audit(self, what: str, who: str, details: Json) -> None:
        audit = self._tables.audit
        audit[audit.next_id] = (what, who, copied(details), self._now)

    def audits(self, what: str | None = None) -> list[tuple[str, str, Json, float]]:
        return [
            (row[0], row[1], copied(row[2]), row[3])
            for row in self._tables.audit.values()
            if what in (None, row[0])
        ]

    def fact(self, name: str) -> Any:
        return copied(self._tables.facts.get(name))

    def set_fact(self, name: str, value: Any) -> None:
        self._tables.facts[name] = copied(value)
