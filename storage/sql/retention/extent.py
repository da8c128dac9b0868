"""What is a person's, in SQL: names, private conversations, sessions that are theirs alone, and how
much there is of it."""

from collections.abc import Collection, Iterator
from dataclasses import dataclass

from sqlalchemy import ColumnElement, Connection, Select, func, or_, select, true

from storage.json_text import loads
from storage.records.entries import SessionKind
from storage.records.questions import QuestionState
from storage.records.retention.forgetting import Extent
from storage.records.speakers import speaker_of
from storage.records.tools.notes import NoteScope
from storage.sql.people_schema import pairing_requests, rights
from storage.sql.retention.tombstones import IS_NONE
from storage.sql.schema import (
    blob_uses,
    conversations,
    entries,
    people,
    questions,
    session_members,
    sessions,
)
from storage.sql.tool_schema import grants, notes, schedules
from storage.tree.paths import TALK

AT_ONCE = 500
"""Names in one statement."""
_LAST_SAID = 200
"""Of their messages, those that are looked at for their names."""


@dataclass(frozen=True, slots=True)
class Theirs:
    names: frozenset[str]
    addresses: frozenset[str]
    """Their private conversations."""
    sessions: frozenset[int]
    """Theirs alone, with the transcripts below them."""
    shared: frozenset[int]
    """Those they took part in with others."""


def theirs(connection: Connection, identity: str) -> Theirs:
    alone = select(conversations.c.address).where(conversations.c.private_with == identity)
    addresses = frozenset(connection.execute(alone).scalars())
    members = [identity, *addresses]
    mine = select(session_members.c.session).where(session_members.c.member.in_(members))
    joined = frozenset(connection.execute(mine.distinct()).scalars())
    others = select(session_members.c.session).where(
        session_members.c.session.in_(mine), session_members.c.member.not_in(members)
    )
    shared = frozenset(connection.execute(others.distinct()).scalars())
    return Theirs(
        _names(connection, identity) | _spoken_names(connection, identity, shared),
        addresses,
        with_transcripts(connection, joined - shared),
        shared,
    )


def with_transcripts(connection: Connection, roots: Collection[int]) -> frozenset[int]:
    """Sessions, and those of what was delegated in them."""
    return _with_below(connection, roots, sessions.c.kind == SessionKind.SUBAGENT.value)


def with_forks(connection: Connection, session: int) -> list[int]:
    """A session, and all that was forked from it or delegated in it."""
    return sorted(_with_below(connection, [session], true()))


def _with_below(
    connection: Connection, roots: Collection[int], which: ColumnElement[bool]
) -> frozenset[int]:
    found, fresh = set(roots), list(roots)
    while fresh:
        some, fresh = fresh[:AT_ONCE], fresh[AT_ONCE:]
        below = select(sessions.c.id).where(sessions.c.parent_session.in_(some), which)
        new = set(connection.execute(below).scalars()) - found
        found |= new
        fresh += sorted(new)
    return frozenset(found)


def _names(connection: Connection, identity: str) -> frozenset[str]:
    tables = (people, rights, pairing_requests)
    found = (
        connection.scalar(select(table.c.name).where(table.c.identity == identity))
        for table in tables
    )
    called = select(questions.c.decided_name).where(questions.c.decided_by == identity)
    given = select(grants.c.granted_name).where(grants.c.granted_by == identity)
    more = (*connection.execute(called).scalars(), *connection.execute(given).scalars())
    return frozenset(name for name in (*found, *more) if name)


def _spoken_names(connection: Connection, identity: str, shared: Collection[int]) -> frozenset[str]:
    """What they called themselves when they last spoke to others."""
    found: set[str] = set()
    for some in portions(shared):
        query = (
            select(entries.c.body)
            .where(entries.c.session.in_(some), entries.c.author == identity)
            .order_by(entries.c.id.desc())
            .limit(_LAST_SAID)
        )
        for body in connection.execute(query).scalars():
            if (speaker := speaker_of(loads(body))) is not None:
                found.add(speaker.name)
    return frozenset(found - {""})


def of(connection: Connection, identity: str) -> Extent:
    """See Forgettings.extent."""
    own = theirs(connection, identity)
    by_them = _of_talk(connection, own.shared, entries.c.author == identity)
    return Extent(
        private_sessions=_conversations(connection, own.sessions),
        private_messages=sum(_of_talk(connection, own.sessions).values()),
        own_messages=sum(by_them.values()),
        shared_sessions=len(by_them),
        files=len(
            _shown(connection, own.sessions)
            | _shown(connection, own.shared, entries.c.author == identity)
        ),
        notes=_count(connection, select(func.count()).where(notes_of(identity, own.addresses))),
        schedules=_count(
            connection,
            select(func.count()).where(
                schedules.c.person == identity, schedules.c.state.in_(("active", "paused"))
            ),
        ),
        questions=len(open_questions(connection, identity, own)),
    )


def notes_of(identity: str, addresses: Collection[str]) -> ColumnElement[bool]:
    """Notes about a person, in their private conversations, or by them."""
    about = (notes.c.scope == NoteScope.PERSON.value) & (notes.c.owner == identity)
    return or_(about, notes.c.owner.in_(addresses), notes.c.by_whom == identity)


def open_questions(connection: Connection, identity: str, own: Theirs) -> list[int]:
    """Questions that wait for this person, or in what is theirs alone."""
    query = select(questions.c.id, questions.c.session, questions.c.subject).where(
        questions.c.state == QuestionState.OPEN.value
    )
    return [
        id_
        for id_, session, subject in connection.execute(query)
        if session in own.sessions or loads(subject).get("person") == identity
    ]


def portions(numbers: Collection[int]) -> Iterator[list[int]]:
    """So many at once as a statement takes."""
    ordered = sorted(numbers)
    for start in range(0, len(ordered), AT_ONCE):
        yield ordered[start : start + AT_ONCE]


def _of_talk(
    connection: Connection, among: Collection[int], *more: ColumnElement[bool]
) -> dict[int, int]:
    """Session → how many messages it has of these."""
    found: dict[int, int] = {}
    talk = entries.c.sort.in_(sorted(TALK)) & IS_NONE
    for some in portions(among):
        query = select(entries.c.session, func.count()).where(
            entries.c.session.in_(some), talk, *more
        )
        found |= {row[0]: row[1] for row in connection.execute(query.group_by(entries.c.session))}
    return found


def _shown(connection: Connection, among: Collection[int], *more: ColumnElement[bool]) -> set[str]:
    """Contents that entries of these sessions show."""
    found: set[str] = set()
    joined = select(blob_uses.c.digest).join(entries, entries.c.id == blob_uses.c.entry)
    for some in portions(among):
        query = joined.where(entries.c.session.in_(some), *more).distinct()
        found |= set(connection.execute(query).scalars())
    return found


def _conversations(connection: Connection, among: Collection[int]) -> int:
    chat = sessions.c.kind == SessionKind.CHAT.value
    return sum(
        _count(connection, select(func.count()).where(sessions.c.id.in_(some), chat))
        for some in portions(among)
    )


def _count(connection: Connection, query: Select[int]) -> int:
    return int(connection.scalar(query) or 0)
