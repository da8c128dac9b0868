"""Sessions that hang together, in SQL."""

from collections import defaultdict
from collections.abc import Iterable, Iterator

from sqlalchemy import Connection, select

from storage.records.retention.pruning import FamilyOfSessions
from storage.sql.schema import delegations, inbox, questions, session_members, sessions


def all_of(connection: Connection) -> list[FamilyOfSessions]:
    """See Pruning.families."""
    parents: dict[int, int | None] = {
        row[0]: row[1]
        for row in connection.execute(
            select(sessions.c.id, sessions.c.parent_session).order_by(sessions.c.id)
        )
    }
    root: dict[int, int] = {}
    for session, parent in parents.items():  # a parent is older than its children
        root[session] = root.get(parent, session) if parent is not None else session
    together: dict[int, list[int]] = defaultdict(list)
    for session, first in root.items():
        together[first].append(session)
    places: dict[int, set[str]] = defaultdict(set)
    members = select(session_members.c.session, session_members.c.member)
    for session, member in connection.execute(members):
        places[root.get(session, session)].add(member)
    busy = {root.get(session, session) for session in _busy(connection)}
    return [
        FamilyOfSessions(tuple(some), frozenset(places[first]), first in busy)
        for first, some in together.items()
    ]


def _busy(connection: Connection) -> Iterator[int]:
    going_on = delegations.c.state.in_(("running", "waiting"))
    is_open = questions.c.state == "open"
    looks: Iterable[Iterable[int]] = (
        connection.execute(
            select(inbox.c.session)
            .where(inbox.c.state == "open", inbox.c.session.is_not(None))
            .distinct()
        ).scalars(),
        connection.execute(select(questions.c.session).where(is_open)).scalars(),
        connection.execute(select(delegations.c.session).where(going_on)).scalars(),
        connection.execute(select(delegations.c.root).where(going_on)).scalars(),
    )
    for look in looks:
        yield from look
