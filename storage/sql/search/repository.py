"""Full-text search in SQL. The index itself is each database's own."""

from collections.abc import Collection, Generator, Mapping, Sequence
from contextlib import closing
from typing import Protocol

from sqlalchemy import Connection, bindparam, select

from storage.records.entries import Entry
from storage.search.query import MOST_ENDINGS, Query, parse, terms_of, text_of, words_of
from storage.sql.rows import ENTRIES, Rows
from storage.sql.schema import search_words
from storage.sql.search.postgres import PostgresTerms
from storage.sql.search.sqlite import SqliteTerms

_MANY_SESSIONS = 1_000
"""More are not looked up in the index, which takes 0.03 ms for each (measured). What is found is
only filtered then: with so many of them most hits pass."""
_LAST_CHARACTER = "\U0010ffff"

_ENDINGS = (
    select(search_words.c.word)
    .where(search_words.c.word >= bindparam("first"), search_words.c.word <= bindparam("last"))
    .order_by(search_words.c.word)
    .limit(MOST_ENDINGS)
)


class Terms(Protocol):
    """The search index of a database, in a transaction."""

    @property
    def exact(self) -> bool:
        """Whether no hit is there but for those that have the terms."""
        ...

    def unseen(self, limit: int) -> Rows:
        """Rows of ENTRIES.columns of entries that were not given out here before, the oldest first,
        at most so many. From now on they were, once this transaction is committed."""
        ...

    def add(self, terms: Mapping[int, Collection[str]], words: Collection[str]) -> None:
        """Take entries in by their terms, and those of the terms whose beginnings may be asked
        for. No term has a space or a quote in it."""
        ...

    def remove(self, terms: Mapping[int, Sequence[str]]) -> set[int]:
        """Take entries out, by the terms they were taken in by, their session's first; those of
        them that were in, or that will not be given out here any more."""
        ...

    def forget_words(self, words: Collection[str]) -> None:
        """Drop those of the words that no entry in the index has."""
        ...

    def tidy(self, pages: int) -> bool:
        """Merge about so many pages; False where nothing is left to merge."""
        ...

    def hits(
        self,
        groups: Sequence[Sequence[str]],
        sessions: Collection[int],
        session_terms: Sequence[str],
        before: int | None,
    ) -> Generator[Rows]:
        """Rows of ENTRIES.columns, in parts, newest first: entries of these sessions that have a
        term of each group, and a smaller id than `before`. `session_terms` stand for the sessions;
        they are empty where there are too many. The caller may stop at any time."""
        ...


class SqlSearch:
    def __init__(self, connection: Connection, now: float) -> None:
        self._connection = connection
        self._terms: Terms = (
            PostgresTerms(connection)
            if connection.dialect.name == "postgresql"
            else SqliteTerms(connection, now)
        )

    def find(
        self, words: str, sessions: Collection[int], *, limit: int = 10, before: int | None = None
    ) -> list[Entry]:
        query = parse(words)
        if query is None or not sessions or limit <= 0:
            return []
        found: list[Entry] = []
        groups, terms = self._groups(query), _session_terms(sessions)
        with closing(self._terms.hits(groups, sessions, terms, before)) as hits:
            for rows in hits:
                found += (e for e in ENTRIES.all(rows) if self._is_hit(text_of(e), query, groups))
                if len(found) >= limit:
                    break
        return found[:limit]

    def _is_hit(self, text: str, query: Query, groups: Sequence[Sequence[str]]) -> bool:
        if not query.runs_in(text):
            return False
        if self._terms.exact:
            return True
        terms = terms_of(text)
        return all(not terms.isdisjoint(group) for group in groups)

    def follow(self, limit: int) -> int:
        rows = self._terms.unseen(limit)
        self._take_in(ENTRIES.all(rows))
        return len(rows)

    def replace(self, before: Sequence[Entry], after: Sequence[Entry]) -> None:
        """Find entries by other words than before: those that are in the index. Words that no
        entry has any more go."""
        indexed, words = _indexed(before)
        held = self._terms.remove(indexed)
        self._take_in([entry for entry in after if entry.id in held])
        self._terms.forget_words(words)

    def tidy(self, pages: int) -> bool:
        """See Pruning.tidy_index."""
        return self._terms.tidy(pages)

    def _take_in(self, entries: Sequence[Entry]) -> None:
        indexed, words = _indexed(entries)
        if indexed:
            self._terms.add(indexed, words)

    def pass_over(self) -> None:
        self._terms.unseen(1)

    def _groups(self, query: Query) -> list[list[str]]:
        """Of terms: a hit has one of each group."""
        groups = [[term] for term in query.terms]
        if query.beginning:
            groups.append(self._endings(query.beginning))
        return groups

    def _endings(self, beginning: str) -> list[str]:
        """Words of the index that begin so. They are looked up one by one: an index of whole terms
        would read all rows of all of them first, and most searches need ten."""
        values = {"first": beginning, "last": beginning + _LAST_CHARACTER}
        found = self._connection.execute(_ENDINGS, values).scalars()
        return list(dict.fromkeys((beginning, *found)))


def _indexed(entries: Sequence[Entry]) -> tuple[dict[int, tuple[str, ...]], set[str]]:
    """Entries with the terms they are found by, that of their session first; and those of the
    terms whose beginnings may be asked for."""
    words: set[str] = set()
    indexed: dict[int, tuple[str, ...]] = {}
    for entry in entries:
        if terms := terms_of(text_of(entry)):
            words |= words_of(terms)
            indexed[entry.id] = (_session_term(entry.session), *terms)
    return indexed, words


def _session_terms(sessions: Collection[int]) -> list[str]:
    if len(sessions) > _MANY_SESSIONS:
        return []
    return [_session_term(session) for session in sessions]


def _session_term(session: int) -> str:
    """Begins with a character for private use, which no term of a text has."""
    return f"\ue000{session}"
