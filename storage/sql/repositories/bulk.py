"""Sessions taken in whole, and read whole, in SQL."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from sqlalchemy import Connection, bindparam, func, select, update

from storage.giving_way import with_pauses
from storage.records.entries import Entry, Growth, ImportedEntry
from storage.sql.dialect import insert_all, next_entry_ids
from storage.sql.rows import ENTRIES
from storage.sql.schema import entries, original_ids, sessions
from storage.tree.bulk import grown
from storage.tree.paths import first_kept, sort_of

_LAST_NUMBER = select(sessions.c.last_number).where(sessions.c.id == bindparam("session"))
_SET_LEAF = (
    update(sessions)
    .where(sessions.c.id == bindparam("of_session"))
    .values(leaf=bindparam("to"), last_number=bindparam("number"))
)
_ENTRIES = (
    select(*ENTRIES.columns)
    .where(entries.c.session == bindparam("session"))
    .order_by(entries.c.number)
)
_SIZES = select(entries.c.session, func.count()).group_by(entries.c.session)
_ORIGINAL = select(original_ids.c.entry).where(
    original_ids.c.session == bindparam("session"),
    original_ids.c.original == bindparam("called"),
)
_ORIGINALS = select(original_ids.c.entry, original_ids.c.original).where(
    original_ids.c.session == bindparam("session")
)


def plant(
    connection: Connection,
    session: int,
    planted: Sequence[ImportedEntry],
    leaf: int | None,
    now: float,
    growth: Growth,
) -> list[int]:
    """See Tree.plant."""
    ids = next_entry_ids(connection, len(planted))
    number = connection.execute(_LAST_NUMBER, {"session": session}).scalar_one()
    entries_with_strands = grown(
        planted, session=session, ids=ids, first_number=number + 1, now=now, growth=growth
    )
    insert_all(connection, entries, (_row(*each) for each in entries_with_strands))
    insert_all(connection, original_ids, _originals(planted, session, ids))
    to = None if leaf is None else growth.ids[leaf]
    values = {"of_session": session, "to": to, "number": number + len(planted)}
    connection.execute(_SET_LEAF, values)
    return list(ids)


def all_entries(connection: Connection, session: int) -> list[Entry]:
    found: list[Entry] = []
    result = connection.execute(_ENTRIES, {"session": session})
    for rows in with_pauses(result.partitions(256)):
        found += ENTRIES.all(rows)
    return found


def sizes(connection: Connection) -> dict[int, int]:
    """Session → how many entries it has, where it has any."""
    return {row[0]: row[1] for row in connection.execute(_SIZES)}


def original(connection: Connection, session: int, called: str) -> int | None:
    """The id of a session's own entry."""
    values = {"session": session, "called": called}
    found: int | None = connection.execute(_ORIGINAL, values).scalar()
    return found


def originals(connection: Connection, session: int) -> dict[int, str]:
    rows = connection.execute(_ORIGINALS, {"session": session})
    return {row[0]: row[1] for row in rows}


def _row(entry: Entry, strand: int) -> Mapping[str, Any]:
    return ENTRIES.row(entry) | {
        "strand": strand if strand != entry.id else None,
        "sort": sort_of(entry.kind, entry.body),
        "first_kept": first_kept(entry.kind, entry.body),
    }


def _originals(
    planted: Sequence[ImportedEntry], session: int, ids: Sequence[int]
) -> Iterator[Mapping[str, Any]]:
    for id_, each in zip(ids, planted, strict=True):
        if each.original:
            yield {"session": session, "original": each.original, "entry": id_}
