"""Words that are not kept any longer, in SQL: gone through by their numbers, so that what was seen
is not looked at again."""

from collections.abc import Collection

from sqlalchemy import ColumnElement, Connection, and_, delete, exists, or_, select

from storage.json_text import loads
from storage.records.attached import attached
from storage.records.entries import SessionKind
from storage.sql.retention.extent import portions
from storage.sql.retention.tombstones import IS_NONE
from storage.sql.schema import blob_uses, entries, original_ids, sessions

_DAY = 86_400.0
"""Clocks may differ by so much, in seconds."""


def sessions_with_old(
    connection: Connection, among: Collection[int], before: float, now: float
) -> list[int]:
    """See Pruning.sessions_with_old."""
    found: list[int] = []
    for some in portions(among):
        held = exists().where(entries.c.session == sessions.c.id, _is_old(before, now))
        query = select(sessions.c.id).where(sessions.c.id.in_(some), held).order_by(sessions.c.id)
        found += connection.execute(query).scalars()
    return found


def old_entries(
    connection: Connection, session: int, before: float, now: float, after: int, limit: int
) -> list[tuple[int, int]]:
    """See Pruning.old_entries."""
    query = (
        select(entries.c.id, entries.c.number)
        .join(sessions, sessions.c.id == entries.c.session)
        .where(entries.c.session == session, entries.c.number > after, _is_old(before, now))
        .order_by(entries.c.number)
        .limit(limit)
    )
    return [(row[0], row[1]) for row in connection.execute(query)]


def broken_imports(connection: Connection, before: float) -> list[int]:
    """See Pruning.broken_imports."""
    query = select(sessions.c.id).where(
        sessions.c.kind == SessionKind.IMPORT.value, sessions.c.created < before
    )
    return list(connection.execute(query.order_by(sessions.c.id)).scalars())


def drop_originals(connection: Connection, session: int, limit: int) -> int:
    """See Pruning.drop_originals."""
    held = original_ids.c.session == session
    some = select(original_ids.c.original).where(held).limit(limit)
    gone = delete(original_ids).where(held, original_ids.c.original.in_(some))
    return connection.execute(gone).rowcount


def shown_files(
    connection: Connection, among: Collection[int], before: float
) -> tuple[frozenset[str], frozenset[str]]:
    """See Pruning.shown_files."""
    old: set[str] = set()
    young: set[str] = set()
    for some in portions(among):
        shows = exists().where(blob_uses.c.entry == entries.c.id)
        query = select(entries.c.body, entries.c.time).where(entries.c.session.in_(some), shows)
        for body, time in connection.execute(query):
            paths = {file.path for file in attached(loads(body)) if file.path}
            (old if time < before else young).update(paths)
    return frozenset(old - young), frozenset(young)


def _is_old(before: float, now: float) -> ColumnElement[bool]:
    """A file that was taken in may claim a time that is still to come: then it is as old as its
    session."""
    claimed = and_(entries.c.time > now + _DAY, sessions.c.created < before)
    return and_(or_(entries.c.time < before, claimed), IS_NONE, entries.c.kind != "model_change")
