"""Where the rows of others name a person who is being forgotten, or repeat in which words they
decided, in SQL."""

import re
from collections.abc import Collection, Mapping
from typing import Any

from sqlalchemy import Connection, delete, select, update

from storage.json_text import dumps, loads
from storage.records.entries import SessionKind
from storage.records.questions import QuestionState
from storage.records.retention.forgetting import Forgetting
from storage.records.retention.tombstones import FORGOTTEN
from storage.sql.retention.extent import portions, with_transcripts
from storage.sql.schema import buttons, delegations, question_posts, questions, sessions

_MARKS = frozenset(
    {
        *("nonce", "reply_to", "handle", "message_id", "channel", "queue", "token", "style"),
        *("type", "trace", "platform", "id", "status", "resolved_by", "exit_reason"),
    }
)
"""Keys under which no words stand but marks that we read again. People may be called like one."""


def decided(connection: Connection, of: Forgetting) -> dict[int, frozenset[str]]:
    """What they decided in words, by the sessions that may repeat it: those that asked, those they
    work for, and transcripts. With nothing where they decided by a button."""
    query = select(questions.c.session, questions.c.words).where(
        questions.c.decided_by == of.identity, questions.c.created <= of.started
    )
    found: dict[int, frozenset[str]] = {}
    for session, words in connection.execute(query):
        said = frozenset({words}) if words else frozenset()
        for one in with_transcripts(connection, [_top(connection, session)]):
            found[one] = found.get(one, frozenset()) | said
    return found


def _top(connection: Connection, session: int) -> int:
    """The conversation in which a session works."""
    while True:
        query = select(sessions.c.parent_session).where(
            sessions.c.id == session, sessions.c.kind == SessionKind.SUBAGENT.value
        )
        above = connection.scalar(query)
        if above is None:
            return session
        session = above


def pattern_of(of: Forgetting, words: Collection[str] = ()) -> re.Pattern[str]:
    """What names them, as a platform may have it: with a stroke before a mark that means
    something."""
    known = {of.identity, *of.addresses, *of.names, *words} - {""}
    either = "|".join(_escaped(one) for one in sorted(known, key=lambda one: (-len(one), one)))
    return re.compile(rf"(?<![\w-])(?:{either})(?!\w)")


def _escaped(text: str) -> str:
    return "".join(
        re.escape(c) if c.isalnum() or c.isspace() else rf"\\?{re.escape(c)}" for c in text
    )


def unnamed(payload: Any, named: re.Pattern[str]) -> Any:
    """What was sent to others, without the person."""
    match payload:
        case str():
            return named.sub(FORGOTTEN, payload)
        case dict():
            return {
                key: each if key in _MARKS else unnamed(each, named)
                for key, each in payload.items()
            }
        case list():
            return [unnamed(each, named) for each in payload]
        case _:
            return payload


def unasked(payload: Any, of: Forgetting) -> Any:
    """Without whose reply a message wanted, where that is theirs."""
    if not isinstance(payload, dict):
        return payload
    asks = payload.get("asks")
    theirs = isinstance(asks, dict) and of.identity.endswith(f":{asks.get('id')}")
    return {key: each for key, each in payload.items() if not (theirs and key == "asks")}


def posts_of_decided(connection: Connection, of: Forgetting) -> dict[int, str]:
    """Posts of questions that they decided in words, with those."""
    query = (
        select(question_posts.c.outbox, questions.c.words)
        .join(questions, questions.c.id == question_posts.c.question)
        .where(questions.c.decided_by == of.identity, questions.c.words != "")
    )
    return {row[0]: row[1] for row in connection.execute(query)}


def forget_mentions(connection: Connection, of: Forgetting, within: Mapping[int, object]) -> None:
    """Buttons about them or made for them, where copies of questions stood, and what was delegated
    in `within`."""
    until_then = buttons.c.outbox <= of.bounds["outbox"]
    about = buttons.c.body.contains(dumps(of.identity), autoescape=True)
    connection.execute(delete(buttons).where(about, until_then))
    made_for = update(buttons).where(buttons.c.by_whom == of.identity, until_then)
    connection.execute(made_for.values(by_whom=of.pseudonym))
    # Copies of what is still open are shown its end.
    closed = select(questions.c.id).where(questions.c.state != QuestionState.OPEN.value)
    at = question_posts.c.address.in_(of.addresses)
    moved = update(question_posts).where(at, question_posts.c.question.in_(closed))
    connection.execute(moved.values(address=of.pseudonym))
    named = pattern_of(of)
    for some in portions(within):
        query = select(delegations.c.id, delegations.c.result).where(
            delegations.c.journal.in_(some), delegations.c.result != ""
        )
        for id_, result in connection.execute(query).all():
            if (left := dumps(unnamed(loads(result), named))) != dumps(loads(result)):
                change = update(delegations).where(delegations.c.id == id_)
                connection.execute(change.values(result=left))
