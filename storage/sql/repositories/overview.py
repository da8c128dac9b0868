"""Sessions as lists of them show them, in SQL."""

from collections.abc import Collection
from itertools import chain
from typing import Any

from sqlalchemy import Connection, Select, bindparam, case, func, or_, select

from storage.errors import NotFound
from storage.records.entries import Overview, SessionKind, Stretch
from storage.sql.repositories.tree_queries import route
from storage.sql.rows import ENTRIES
from storage.sql.schema import entries, session_members, sessions
from storage.tree.paths import TALK

_joined = (
    select(session_members.c.session)
    .where(session_members.c.member.in_(bindparam("members", expanding=True)))
    .scalar_subquery()
)
_CHAT = sessions.c.kind == SessionKind.CHAT.value
_newest = (
    select(entries.c.time)
    .where(entries.c.session == sessions.c.id)
    .order_by(entries.c.number.desc())
    .limit(1)
    .correlate(sessions)
    .scalar_subquery()
)
_active = case((_newest > sessions.c.created, _newest), else_=sessions.c.created)
_RECENT = (
    select(sessions.c.id)
    .where(
        sessions.c.id.in_(_joined), _CHAT, or_(sessions.c.last_number > 0, sessions.c.title != "")
    )
    .order_by(_active.desc(), sessions.c.id.desc())
    .limit(bindparam("at_most"))
    .offset(bindparam("skipped"))
)
_FOREIGN_FORKS = (
    select(sessions.c.id)
    .where(
        sessions.c.id.in_(_joined),
        _CHAT,
        sessions.c.parent_entry.is_not(None),
        sessions.c.parent_session.not_in(_joined),
    )
    .order_by(sessions.c.id.desc())
)

_SESSION = select(sessions.c.title, sessions.c.kind, sessions.c.parent_entry, _active).where(
    sessions.c.id == bindparam("session")
)
_of_session = entries.c.session == bindparam("session")
# A strand's first entry does not name it, so it is looked up apart.
_of_strand = or_(
    entries.c.id == bindparam("strand"),
    (entries.c.strand == bindparam("strand")) & (entries.c.number <= bindparam("last")),
)
_COUNT, _COUNT_ALONG = (
    select(func.count()).where(which, entries.c.sort.in_(TALK))
    for which in (_of_session, _of_strand)
)
_FIRST, _FIRST_ALONG = (
    select(*ENTRIES.columns)
    .where(which, entries.c.sort == "user")
    .order_by(entries.c.number)
    .limit(1)
    for which in (_of_session, _of_strand)
)


def recent(connection: Connection, members: Collection[str], limit: int, skip: int) -> list[int]:
    """See Directory.recent."""
    values = {"members": list(members), "at_most": limit, "skipped": skip}
    return list(connection.execute(_RECENT, values).scalars())


def foreign_forks(connection: Connection, members: Collection[str]) -> list[int]:
    """See Directory.foreign_forks."""
    return list(connection.execute(_FOREIGN_FORKS, {"members": list(members)}).scalars())


def overview(connection: Connection, session: int) -> Overview:
    """See Directory.overview."""
    row = connection.execute(_SESSION, {"session": session}).one_or_none()
    if row is None:
        raise NotFound(f"there is no session {session}")
    title, kind, parent_entry, active = row
    is_fork = parent_entry is not None and kind == SessionKind.CHAT.value
    above = route(connection, parent_entry) if is_fork else ()
    steps: list[tuple[Select[Any], Select[Any], dict[str, int]]] = [
        *((_COUNT_ALONG, _FIRST_ALONG, _values(part)) for part in above),
        (_COUNT, _FIRST, {"session": session}),
    ]
    messages = sum(connection.execute(count, values).scalar_one() for count, _, values in steps)
    firsts = (ENTRIES.all(connection.execute(first, values)) for _, first, values in steps)
    first = next(chain.from_iterable(firsts), None)
    return Overview(session, title, messages, active, first)


def _values(part: Stretch) -> dict[str, int]:
    return {"strand": part.strand, "last": part.last_number}
