"""/retry: another answer to the same message, beside the one that is there."""

from dataclasses import replace

from adapters.base import CommandSpec
from adapters.events import Message
from agent.text.markdown import bounded, escape
from gateway.commands.context import (
    NOT_YOURS,
    NOTHING_YET,
    Command,
    CommandCall,
    CommandContext,
    Work,
    answer,
)
from gateway.commands.tree.siblings import move_to, stilled
from gateway.turns.limits import no_room_below
from gateway.turns.requests import RetryRequest, request
from gateway.views.entries import PERSONS, last_of
from storage.records.entries import Entry, Json
from storage.records.inbox_outbox import (
    Arrival,
    InboxKind,
)
from storage.store import Transaction

RETRY = InboxKind.RETRY
"""The command, and the kind of the inbox row that it becomes."""
NOBODY_SAID = "Nobody has said anything here yet that could be answered again."
MAY_NOT_TALK = "You may decide here, but not talk. Ask this bot's owner to let you in."
SHOWN = 60
"""Characters of a name that is not known."""


async def _retry(desk: CommandContext, given: CommandCall) -> Work:
    model = given.argument
    if (why := refusal(desk, given, [model] if model else [])) is not None:
        return answer(desk, given, why)
    asked = await stilled(desk, given)
    if asked is None:
        return answer(desk, given, NOT_YOURS)

    def work(tx: Transaction) -> None:
        said = answerable(tx, desk, asked)
        if said is None:
            return
        move_to(tx, asked, said.id, why=RETRY)
        begin(tx, asked, RETRY, said.id, request(RetryRequest, again(asked), model=model))
        if asked.message.handle or asked.pressed is not None:
            desk.say(tx, asked, "Asking again…")  # the platform waits for an answer to the command

    return work


def answerable(tx: Transaction, desk: CommandContext, asked: CommandCall) -> Entry | None:
    """The last message of the path; None where it cannot be answered again, which is said."""
    session = asked.session
    assert session is not None
    said = last_of(tx, asked.leaf, PERSONS, 1)
    full = no_room_below(tx, session, said[0].id, desk.config.session) if said else NOBODY_SAID
    if full is not None:
        desk.say(tx, asked, full)
        return None
    return said[0]


def again(asked: CommandCall) -> Message:
    """The command's message, for a row that has a message answered again."""
    typed = asked.message.message_id if asked.pressed is None else ""
    return replace(asked.message, message_id=typed, reply_to="")


def begin(tx: Transaction, asked: CommandCall, kind: InboxKind, said: int, payload: Json) -> None:
    """Have a message (its entry) answered again in the session's lane, by a row of a kind."""
    arrival = Arrival(f"{kind}:{asked.row.id}", kind, asked.address, payload, asked.session)
    row = tx.inbox.receive(arrival)
    if row is not None:
        tx.inbox.link(row.id, said)


def refusal(desk: CommandContext, asked: CommandCall, models: list[str]) -> str | None:
    """Why these models are not asked, for people; None where they are."""
    if asked.session is None:
        return NOTHING_YET
    if not desk.questions.access.may_talk(asked.who):
        return MAY_NOT_TALK
    for name in models:
        if desk.models.find(name) is None:
            known = ", ".join(escape(one) for one in desk.models.names())
            return f"There is no model {escape(bounded(name, SHOWN))}. There are: {known}."
    return None


RETRYING = (
    Command(
        CommandSpec(RETRY, "another answer to the last message; name a model to ask it", "model"),
        _retry,
        moves=True,
    ),
)
