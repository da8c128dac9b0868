"""Full-text search in memory: every entry is looked at."""

from collections.abc import Collection
from dataclasses import replace

from storage.json_text import copied
from storage.memory_rows import Table, Undo
from storage.memory_tree import TreeTables
from storage.records.entries import Entry
from storage.search.query import MOST_ENDINGS, Query, parse, terms_of, text_of, words_of


class SearchTables:
    def __init__(self, journal: list[Undo]) -> None:
        self.terms: Table[int, set[str]] = Table(journal, "entry")
        """Of the entries that were followed."""


class MemorySearch:
    def __init__(self, tables: SearchTables, tree: TreeTables) -> None:
        self._terms = tables.terms
        self._tree = tree

    def find(
        self, words: str, sessions: Collection[int], *, limit: int = 10, before: int | None = None
    ) -> list[Entry]:
        query = parse(words)
        if query is None:
            return []
        endings = self._endings(query.beginning)
        found: list[Entry] = []
        for id_ in reversed(self._terms):
            entry = self._tree.entries[id_]
            if len(found) >= limit:
                break
            if (before is not None and id_ >= before) or entry.session not in sessions:
                continue
            if self._is_hit(entry, query, endings):
                found.append(replace(entry, body=copied(entry.body)))
        return found

    def follow(self, limit: int) -> int:
        first = self._terms.next_id
        ids = range(first, min(first + limit, self._tree.entries.next_id))
        for id_ in ids:
            self._terms[id_] = terms_of(text_of(self._tree.entries[id_]))
        return len(ids)

    def pass_over(self) -> None:
        if (next_one := self._terms.next_id) < self._tree.entries.next_id:
            self._terms[next_one] = set()

    def _is_hit(self, entry: Entry, query: Query, endings: set[str]) -> bool:
        terms = self._terms[entry.id]
        if not terms.issuperset(query.terms) or (query.beginning and terms.isdisjoint(endings)):
            return False
        return query.runs_in(text_of(entry))

    def _endings(self, beginning: str) -> set[str]:
        """The words that a beginning stands for."""
        if not beginning:
            return set()
        words = set().union(*map(words_of, self._terms.values()))
        longer = sorted(word for word in words if word.startswith(beginning))
        return {beginning, *longer[:MOST_ENDINGS]}
