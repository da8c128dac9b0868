"""The search index in PostgreSQL: each entry's terms as an array, with a GIN index.

Of each term stand four bytes of its hash there: the terms themselves took as much room as all the
rest of the entries. Two terms may have the same, so what is found is held against its words.
"""

import hashlib
from collections.abc import Collection, Generator, Iterable, Mapping, Sequence
from typing import Any

from sqlalchemy import Connection, text

from storage.sql.rows import ENTRIES, Rows

_NO_BOUND = 2**63 - 1
_NEWEST = 500
"""Entries that are looked through without the index, which gives all hits before the first can be
read: what many entries hold is found here."""
_IDS_AT_ONCE = 1_000
_AT_ONCE = 20
"""Hits that are read at first; then twice as many each time."""

_SESSION = 1
"""Where it stands among ENTRIES.columns."""
_COLUMNS = ", ".join(map(str, ENTRIES.columns))
# SKIP LOCKED: what another process has in hand is its.
_UNSEEN = text(f"""
    WITH taken AS (
        DELETE FROM search_queue WHERE entry IN (
            SELECT entry FROM search_queue ORDER BY entry LIMIT :at_most FOR UPDATE SKIP LOCKED
        ) RETURNING entry
    )
    SELECT {_COLUMNS} FROM taken JOIN entries ON entries.id = taken.entry
    ORDER BY entries.id""")  # noqa: S608 - names of columns
_ROWS = text(f"SELECT {_COLUMNS} FROM entries WHERE id = ANY(:ids) ORDER BY id DESC")  # noqa: S608
_INDEX = """
    INSERT INTO search_index (entry, terms) VALUES (%s, %s) ON CONFLICT DO NOTHING"""
_KEEP_WORDS = """
    INSERT INTO search_words (word) SELECT unnest(%s::text[]) ON CONFLICT DO NOTHING"""

# From the queue too: whoever indexes one of them at this moment has read it as it was, and one of
# the two transactions has to begin anew.
_TAKE_OUT = text("""
    WITH waited AS (DELETE FROM search_queue WHERE entry = ANY(:ids) RETURNING entry),
    held AS (DELETE FROM search_index WHERE entry = ANY(:ids) RETURNING entry)
    SELECT entry FROM waited UNION SELECT entry FROM held""")
_DROP_WORDS = text("""
    DELETE FROM search_words USING unnest(
        CAST(:words AS text[]), CAST(:hashes AS integer[])
    ) AS gone (word, hash)
    WHERE search_words.word = gone.word COLLATE "C" AND NOT EXISTS (
        SELECT 1 FROM search_index WHERE terms && ARRAY[gone.hash]
    )""")


class PostgresTerms:
    """See sql_search.Terms."""

    exact = False

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def unseen(self, limit: int) -> Rows:
        return self._connection.execute(_UNSEEN, {"at_most": limit}).fetchall()

    def add(self, terms: Mapping[int, Collection[str]], words: Collection[str]) -> None:
        rows = [(entry, _hashes(each)) for entry, each in terms.items()]
        self._connection.exec_driver_sql(_INDEX, rows)
        # Sorted, so that two processes lock them in the same order.
        self._connection.exec_driver_sql(_KEEP_WORDS, (sorted(words),))

    def remove(self, terms: Mapping[int, Sequence[str]]) -> set[int]:
        found = self._connection.execute(_TAKE_OUT, {"ids": sorted(terms)})
        return set(found.scalars())

    def forget_words(self, words: Collection[str]) -> None:
        ordered = sorted(words)
        self._connection.execute(_DROP_WORDS, {"words": ordered, "hashes": _hashes(ordered)})

    def tidy(self, pages: int) -> bool:
        return False  # vacuum does it

    def hits(
        self,
        groups: Sequence[Sequence[str]],
        sessions: Collection[int],
        session_terms: Sequence[str],
        before: int | None,
    ) -> Generator[Rows]:
        asked, at_most = frozenset(sessions), _AT_ONCE
        for ids in self._ids(groups, session_terms, _NO_BOUND if before is None else before):
            first = 0
            while part := ids[first : first + at_most]:
                rows: Rows = self._connection.execute(_ROWS, {"ids": part}).fetchall()
                yield [row for row in rows if row[_SESSION] in asked]
                first, at_most = first + at_most, at_most * 2

    def _ids(
        self, groups: Sequence[Sequence[str]], session_terms: Sequence[str], before: int
    ) -> Generator[Sequence[int]]:
        """Of entries that have a term of each group, newest first; some are of other sessions."""
        condition, values = _has_all(groups)
        newest = text(f"""
            WITH found AS MATERIALIZED (
                SELECT entry, terms FROM search_index WHERE entry < :before
                ORDER BY entry DESC LIMIT {_NEWEST}
            )
            SELECT entry FROM found WHERE {condition} ORDER BY entry DESC""")  # noqa: S608 - names
        ids = self._connection.execute(newest, values | {"before": before}).scalars().all()
        yield ids
        # Not above: to look for very many terms in each entry takes too long without the index.
        condition, values = _has_all([*groups, session_terms] if session_terms else groups)
        every = text(f"""
            WITH found AS MATERIALIZED (SELECT entry FROM search_index WHERE {condition})
            SELECT entry FROM found WHERE entry < :before
            ORDER BY entry DESC LIMIT {_IDS_AT_ONCE}""")  # noqa: S608 - names
        while True:
            before = ids[-1] if ids else before
            ids = self._connection.execute(every, values | {"before": before}).scalars().all()
            if not ids:
                return
            yield ids


def _has_all(groups: Sequence[Sequence[str]]) -> tuple[str, dict[str, Any]]:
    """True of an entry that has a term of each group, with the values in it."""
    condition = " AND ".join(f"terms && CAST(:group{n} AS integer[])" for n in range(len(groups)))
    return condition, {f"group{n}": _hashes(group) for n, group in enumerate(groups)}


def _hashes(terms: Iterable[str]) -> list[int]:
    """The same as in the migration that brought them."""
    return [
        int.from_bytes(hashlib.sha256(term.encode()).digest()[:4], "big", signed=True)
        for term in terms
    ]
