"""The search index in SQLite: FTS5."""

from collections.abc import Collection, Generator, Iterable, Mapping, Sequence

from sqlalchemy import Connection, TextClause, bindparam, select, text

from storage.json_text import dumps
from storage.sql.repositories.directory import SqlDirectory
from storage.sql.rows import ENTRIES, Rows
from storage.sql.schema import entries

FOLLOWED = "search.followed"
"""The fact that says which entry was the last one looked at: with one writer, ids are committed in
their order."""
_NO_BOUND = 2**63 - 1
_AT_ONCE = 10

_NEXT = (
    select(*ENTRIES.columns)
    .where(entries.c.id > bindparam("after"))
    .order_by(entries.c.id)
    .limit(bindparam("at_most"))
)
_INDEX = "INSERT INTO search_index (rowid, terms) VALUES (?, ?)"
_KEEP_WORDS = "INSERT OR IGNORE INTO search_words (word) SELECT value FROM json_each(?)"
_HELD = text(
    "SELECT rowid FROM search_index WHERE search_index MATCH :expression AND rowid = :entry"
)
_TAKE_OUT = "INSERT INTO search_index (search_index, rowid, terms) VALUES ('delete', ?, ?)"
_MERGE = "INSERT INTO search_index (search_index, rank) VALUES ('merge', ?)"
_CHANGES = "SELECT total_changes()"
MERGING = "search.merging"
"""The fact that says whether merging has begun; none where nothing was taken out since."""
# No term has a quote in it.
_DROP_WORDS = """
    DELETE FROM search_words WHERE word IN (SELECT value FROM json_each(?)) AND NOT EXISTS (
        SELECT 1 FROM search_index WHERE search_index MATCH '"' || search_words.word || '"'
    )"""
# CROSS, so that SQLite reads the index from its end and stops when the caller does.
_HITS = text(f"""
    SELECT {", ".join(map(str, ENTRIES.columns))}
    FROM search_index CROSS JOIN entries ON entries.id = search_index.rowid
    WHERE search_index MATCH :expression AND search_index.rowid < :before
    AND entries.session IN (SELECT value FROM json_each(:sessions))
    ORDER BY search_index.rowid DESC""")  # noqa: S608 - names of columns


class SqliteTerms:
    """See sql_search.Terms."""

    exact = True

    def __init__(self, connection: Connection, now: float) -> None:
        self._connection = connection
        self._directory = SqlDirectory(connection, now)

    def unseen(self, limit: int) -> Rows:
        after = self._directory.fact(FOLLOWED) or 0
        rows: Rows = self._connection.execute(_NEXT, {"after": after, "at_most": limit}).fetchall()
        if rows:
            self._directory.set_fact(FOLLOWED, rows[-1][0])
        return rows

    def add(self, terms: Mapping[int, Collection[str]], words: Collection[str]) -> None:
        rows = [(entry, " ".join(each)) for entry, each in terms.items()]
        self._connection.exec_driver_sql(_INDEX, rows)
        self._connection.exec_driver_sql(_KEEP_WORDS, (dumps(sorted(words)),))

    def remove(self, terms: Mapping[int, Sequence[str]]) -> set[int]:
        """What was never in the index must not be taken out: others would be found no more."""
        held = {
            entry
            for entry, (session, *_) in terms.items()
            if self._any(_HELD, {"expression": f'"{session}"', "entry": entry})
        }
        rows = [(entry, " ".join(terms[entry])) for entry in sorted(held)]
        if rows:
            self._connection.exec_driver_sql(_TAKE_OUT, rows)
            self._directory.set_fact(MERGING, False)
        return held

    def forget_words(self, words: Collection[str]) -> None:
        if words:
            self._connection.exec_driver_sql(_DROP_WORDS, (dumps(sorted(words)),))

    def tidy(self, pages: int) -> bool:
        """What was taken out stands in the index until what it stood in is merged. A negative
        number begins to merge all of it."""
        run = self._connection.exec_driver_sql
        began = self._directory.fact(MERGING)
        if began is None:
            return False
        before = run(_CHANGES).scalar_one()
        run(_MERGE, (pages if began else -pages,))
        more = bool(run(_CHANGES).scalar_one() - before >= 2)
        if more != began:
            self._directory.set_fact(MERGING, more or None)
        return more

    def _any(self, statement: TextClause, values: Mapping[str, object]) -> bool:
        return self._connection.execute(statement, values).first() is not None

    def hits(
        self,
        groups: Sequence[Sequence[str]],
        sessions: Collection[int],
        session_terms: Sequence[str],
        before: int | None,
    ) -> Generator[Rows]:
        values = {
            "expression": _expression([*groups, session_terms] if session_terms else groups),
            "before": _NO_BOUND if before is None else before,
            "sessions": dumps(list(sessions)),
        }
        with self._connection.execute(_HITS, values) as found:
            yield from found.partitions(_AT_ONCE)


def _expression(groups: Iterable[Iterable[str]]) -> str:
    """True of an entry that has a term of each group. Quoted, so that no term is an operator."""
    either = (" OR ".join(f'"{term}"' for term in group) for group in groups)
    return " AND ".join(f"({group})" for group in either)
