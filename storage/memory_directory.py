"""Conversations, people, audit and facts in memory."""

from collections.abc import Mapping
from typing import Any

from storage.entries import Json
from storage.jsontext import copied
from storage.memory_rows import Table, Undo
from storage.memory_tree import TreeTables


class DirectoryTables:
    def __init__(self, journal: list[Undo]) -> None:
        self.sessions: Table[str, int] = Table(journal, "conversation")
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

    def addresses(self, session: int) -> list[str]:
        bound = self._tables.sessions.items()
        return sorted(address for address, in_session in bound if in_session == session)

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
