"""Full-text search in SQL."""

from collections.abc import Collection

from sqlalchemy import Connection, bindparam, select, text

from storage.json_text import dumps
from storage.records.entries import Entry
from storage.search.query import MOST_ENDINGS, Query, parse, terms_of, text_of, words_of
from storage.sql.dialect import HITS, INDEX_TERMS, KEEP_WORDS, search_expression
from storage.sql.repositories.directory import SqlDirectory
from storage.sql.rows import ENTRY_COLUMNS, entries_of
from storage.sql.schema import entries, search_words

_FOLLOWED = "search.followed"
"""The fact that says which entry was the last one looked at."""
_MANY_SESSIONS = 1_000
"""More are not looked up in the index, which takes 0.03 ms for each (measured). What is found is
only filtered then: with so many of them most hits pass."""
_NO_BOUND = 2**63 - 1
_LAST_CHARACTER = "\U0010ffff"

_NEXT = (
    select(*ENTRY_COLUMNS)
    .where(entries.c.id > bindparam("after"))
    .order_by(entries.c.id)
    .limit(bindparam("at_most"))
)
_NEXT_ID = (
    select(entries.c.id).where(entries.c.id > bindparam("after")).order_by(entries.c.id).limit(1)
)
_ENDINGS = (
    select(search_words.c.word)
    .where(search_words.c.word.between(bindparam("first"), bindparam("last")))
    .order_by(search_words.c.word)
    .limit(MOST_ENDINGS)
)
_HITS = text(f"SELECT {', '.join(map(str, ENTRY_COLUMNS))} {HITS}")


class SqlSearch:
    def __init__(self, connection: Connection, now: float) -> None:
        self._connection = connection
        self._directory = SqlDirectory(connection, now)

    def find(
        self, words: str, sessions: Collection[int], *, limit: int = 10, before: int | None = None
    ) -> list[Entry]:
        query = parse(words)
        if query is None or not sessions:
            return []
        values = {
            "expression": search_expression(self._groups(query, sessions)),
            "before": _NO_BOUND if before is None else before,
            "sessions": dumps(list(sessions)),
        }
        found: list[Entry] = []
        with self._connection.execute(_HITS, values) as hits:
            while len(found) < limit and (rows := hits.fetchmany(limit)):
                found += (e for e in entries_of(rows) if query.runs_in(text_of(e)))
        return found[: max(limit, 0)]

    def follow(self, limit: int) -> int:
        after = self._directory.fact(_FOLLOWED) or 0
        rows = self._connection.execute(_NEXT, {"after": after, "at_most": limit}).fetchall()
        if not rows:
            return 0
        words: set[str] = set()
        indexed: list[tuple[int, str]] = []
        for entry in entries_of(rows):
            if terms := terms_of(text_of(entry)):
                words |= words_of(terms)
                indexed.append((entry.id, " ".join((_session_term(entry.session), *terms))))
        if indexed:
            self._connection.exec_driver_sql(INDEX_TERMS, indexed)
            self._connection.exec_driver_sql(KEEP_WORDS, (dumps(sorted(words)),))
        self._directory.set_fact(_FOLLOWED, rows[-1].id)
        return len(rows)

    def pass_over(self) -> None:
        after = self._directory.fact(_FOLLOWED) or 0
        if (next_one := self._connection.execute(_NEXT_ID, {"after": after}).scalar()) is not None:
            self._directory.set_fact(_FOLLOWED, next_one)

    def _groups(self, query: Query, sessions: Collection[int]) -> list[list[str]]:
        """Of terms: a hit has one of each group."""
        groups = [[term] for term in query.terms]
        if query.beginning:
            groups.append(self._endings(query.beginning))
        if len(sessions) <= _MANY_SESSIONS:
            groups.append([_session_term(session) for session in sessions])
        return groups

    def _endings(self, beginning: str) -> list[str]:
        """Words of the index that begin so. They are looked up one by one: FTS5 would read all
        rows of all of them first, and most searches need ten."""
        values = {"first": beginning, "last": beginning + _LAST_CHARACTER}
        found = self._connection.execute(_ENDINGS, values).scalars()
        return list(dict.fromkeys((beginning, *found)))


def _session_term(session: int) -> str:
    """Begins with a character for private use, which no term of a text has."""
    return f"\ue000{session}"
