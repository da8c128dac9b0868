"""All else that is about a person who is being forgotten, in SQL: few rows, changed at once."""

from collections.abc import Collection, Sequence
from typing import Any

from sqlalchemy import ColumnElement, Connection, and_, delete, or_, select, update

from storage.json_text import dumps, loads
from storage.records.entries import Entry, content_text
from storage.records.questions import QuestionState
from storage.records.retention.forgetting import Forgetting
from storage.sql.people_schema import pairing_requests, rights
from storage.sql.retention.extent import notes_of, portions
from storage.sql.retention.mentions import decided, forget_mentions
from storage.sql.schema import (
    buttons,
    chat_settings,
    delegations,
    facts,
    leaf_moves,
    original_ids,
    people,
    questions,
    session_members,
    sessions,
)
from storage.sql.tool_schema import commands, grants, notes, schedules, shells, zones

_ENDED = "interrupted"
_BEGINNING = 16
"""Characters by which a title is known to be what somebody said."""


def all_else(connection: Connection, of: Forgetting) -> None:
    _who_they_are(connection, of)
    _what_they_keep(connection, of)
    forget_mentions(connection, of, decided(connection, of))
    for some in portions(of.sessions):
        _their_sessions(connection, some)
    _questions(connection, of)
    _names_elsewhere(connection, of)


def _who_they_are(connection: Connection, of: Forgetting) -> None:
    members = [of.identity, *of.addresses]
    for statement in (
        delete(people).where(people.c.identity == of.identity),
        delete(pairing_requests).where(pairing_requests.c.identity == of.identity),
        delete(session_members).where(
            session_members.c.member.in_(members),
            session_members.c.session <= of.bounds["sessions"],
        ),
        delete(chat_settings).where(
            chat_settings.c.address.in_(of.addresses), chat_settings.c.time <= of.started
        ),
        delete(zones).where(zones.c.person == of.identity),
        update(rights).where(rights.c.identity == of.identity).values(name=""),
    ):
        connection.execute(statement)


def _what_they_keep(connection: Connection, of: Forgetting) -> None:
    kept = notes_of(of.identity, of.addresses)
    connection.execute(delete(notes).where(kept, notes.c.time <= of.started))
    theirs = or_(schedules.c.person == of.identity, schedules.c.address.in_(of.addresses))
    connection.execute(delete(schedules).where(theirs, schedules.c.created <= of.started))
    _commands(connection, of)
    _delegations(connection, of)
    # Of messages to them since then, the answer to them among it, they stay.
    gone = delete(buttons).where(buttons.c.address.in_(of.addresses))
    connection.execute(gone.where(buttons.c.outbox <= of.bounds["outbox"]))


def outputs(connection: Connection, of: Forgetting) -> list[tuple[int, str]]:
    """See Forgettings.outputs."""
    query = select(commands.c.home, commands.c.output).where(_ran(of), commands.c.output != "")
    return [(row[0], row[1]) for row in connection.execute(query)]


def _ran(of: Forgetting) -> ColumnElement[bool]:
    """Commands that they had run, or that were run in private."""
    own = or_(commands.c.person == of.identity, commands.c.address.in_(of.addresses))
    return and_(own, commands.c.started <= of.started)


def _commands(connection: Connection, of: Forgetting) -> None:
    change = update(commands).where(_ran(of))
    emptied = {"line": "", "output": "", "directory": "", "why": "", "person": of.pseudonym}
    in_private = commands.c.address.in_(of.addresses)
    connection.execute(change.values(emptied))
    connection.execute(change.where(in_private).values(address=of.pseudonym))


def _delegations(connection: Connection, of: Forgetting) -> None:
    change = update(delegations).where(delegations.c.created <= of.started)
    in_private = delegations.c.address.in_(of.addresses)
    going_on = delegations.c.state.in_(("running", "waiting"))
    connection.execute(change.where(in_private, going_on).values(state=_ENDED))
    emptied = {"goal": "", "result": "", "address": of.pseudonym, "person": of.pseudonym}
    connection.execute(change.where(in_private).values(emptied))
    own = delegations.c.person == of.identity
    connection.execute(change.where(own).values(person=of.pseudonym))


def _their_sessions(connection: Connection, some: list[int]) -> None:
    for statement in (
        update(sessions).where(sessions.c.id.in_(some)).values(title=""),
        delete(grants).where(grants.c.session.in_(some)),
        delete(shells).where(shells.c.session.in_(some)),
        delete(original_ids).where(original_ids.c.session.in_(some)),
        delete(facts).where(facts.c.name.in_([f"header:{session}" for session in some])),
        update(delegations).where(delegations.c.journal.in_(some)).values(goal="", result=""),
    ):
        connection.execute(statement)


def untitle(connection: Connection, said: Sequence[Entry]) -> None:
    """Take away the titles that begin with what was said: a fork is called like that."""
    for entry in said:
        words = " ".join(content_text(entry.body.get("content")).split())[:_BEGINNING]
        held = or_(sessions.c.id == entry.session, sessions.c.parent_session == entry.session)
        rows = connection.execute(select(sessions.c.id, sessions.c.title).where(held)).all()
        # A title may be cut anywhere behind its beginning.
        begins = (words,) if len(words) == _BEGINNING else (f"{words},", f"{words}…")
        called = [
            id_ for id_, title in rows if words and (title == words or title.startswith(begins))
        ]
        if called:
            gone = update(sessions).where(sessions.c.id.in_(called))
            connection.execute(gone.values(title=""))


def _questions(connection: Connection, of: Forgetting) -> None:
    """What was asked in private is emptied; elsewhere, who decided and in which words."""
    theirs = frozenset(of.sessions)
    until_then = questions.c.created <= of.started
    query = select(questions.c.id, questions.c.session, questions.c.subject).where(until_then)
    decided = questions.c.decided_by == of.identity
    values = {"decided_by": of.pseudonym, "decided_name": "", "words": ""}
    connection.execute(update(questions).where(decided, until_then).values(values))
    private = [
        row.id
        for row in connection.execute(query)
        if row.session in theirs or loads(row.subject).get("person") == of.identity
    ]
    emptied = {"text": "", "choices": "[]", "details": "", "words": "", "subject": "{}"}
    for some in portions(private):
        these = questions.c.id.in_(some)
        still_open = questions.c.state == QuestionState.OPEN.value
        withdrawn = {"state": QuestionState.WITHDRAWN.value}
        connection.execute(update(questions).where(these, still_open).values(withdrawn))
        connection.execute(update(questions).where(these).values(emptied))
    at = questions.c.address.in_(of.addresses)
    connection.execute(update(questions).where(at, until_then).values(address=of.pseudonym))


def _names_elsewhere(connection: Connection, of: Forgetting) -> None:
    """Who did something that stays."""
    for column in (leaf_moves.c.moved_by, rights.c.by_whom, chat_settings.c.by_whom):
        change = update(column.table).where(column == of.identity)
        connection.execute(change.values({column.name: of.pseudonym}))
    granted = update(grants).where(grants.c.granted_by == of.identity)
    connection.execute(granted.values(granted_by=of.pseudonym, granted_name=""))


def forget_facts(connection: Connection, of: Forgetting) -> None:
    """What is kept under their names, or says who they are. Limits hold until then."""
    known = {of.identity, *of.addresses}
    for name, value in connection.execute(select(facts.c.name, facts.c.value)).all():
        if any(name.endswith(f":{one}") for one in known):
            connection.execute(delete(facts).where(facts.c.name == name))
        elif any(one in value for one in known):
            held = loads(value)
            changed = _without(held, known)
            if changed != held:
                change = update(facts).where(facts.c.name == name)
                connection.execute(change.values(value=dumps(changed)))


def _without(held: Any, known: Collection[str]) -> Any:
    """Without what stands under one of these, or is one of them."""
    match held:
        case dict():
            return {k: _without(each, known) for k, each in held.items() if k not in known}
        case list():
            return [_without(each, known) for each in held if each not in known]
        case _:
            return held
