"""/retry: another answer to the same message, beside the one that is there."""

from collections.abc import Sequence
from dataclasses import replace

from adapters.base import CommandSpec
from adapters.events import Message
from agent.text.markdown import bounded, escape
from agent.text.suggestion import LONGEST, did_you_mean
from gateway.access.denials import MAY_NOT_TALK
from gateway.commands.context import (
    Command,
    CommandCall,
    Job,
    Move,
    Outcome,
    Reply,
    in_session,
    refused_as_dear,
)
from gateway.commands.on_message import NOT_HERE, shown_entry
from gateway.turns.policy.limits import no_room_below
from gateway.turns.requests import RetryRequest, request
from gateway.views.entries import PERSONS, last_of
from storage.records.entries import Entry
from storage.records.inbox_outbox import InboxKind
from storage.store import Transaction

RETRY = InboxKind.RETRY
"""The command, and the kind of the inbox row that it becomes."""
NOBODY_SAID = "Nobody has said anything here yet that could be answered again."
SHOWN = 60
"""Characters of a name that is not known."""


def _retry(tx: Transaction, call: CommandCall, session: int) -> Outcome:
    model = call.argument
    said = answerable(tx, call, session, [model] if model else [])
    if isinstance(said, Reply):
        return said
    waited_for = call.message.handle or call.pressed is not None
    reply = Reply("Asking again…") if waited_for else None  # the platform waits for an answer
    job = again(call, RETRY, said, RetryRequest, model=model)
    return Move(session, said.id, RETRY, reply, job)


def answerable(
    tx: Transaction, call: CommandCall, session: int, models: Sequence[str]
) -> Entry | Reply:
    """The last message of the path, or of the one to what the command was given on, which is to be
    answered again; else why it is not. `models`: those that are named for it."""
    context = call.context
    if not context.questions.access.may_talk(call.who):
        return Reply(MAY_NOT_TALK)
    for name in models:
        if context.offered.models.find(name) is None:
            names = [escape(one) for one in context.offered.models.names()]
            meant = did_you_mean(escape(name[:LONGEST]), names)
            there = f"There are: {', '.join(names)}.{meant}"
            return Reply(f"There is no model {escape(bounded(name, SHOWN))}. {there}")
    named = [spec for name in models if (spec := context.offered.models.find(name)) is not None]
    if refused := refused_as_dear(call, named):
        return Reply(refused)
    place = tx.tree.session(session).leaf
    if call.message.about:
        shown = shown_entry(tx, call)
        if shown is None:
            return Reply(NOT_HERE)
        place = shown.id
    said = last_of(tx, place, PERSONS, 1)
    if not said:
        return Reply(NOBODY_SAID)
    full = no_room_below(tx, session, said[0].id, context.config.session)
    return said[0] if full is None else Reply(full)


def again(
    call: CommandCall, kind: InboxKind, said: Entry, form: type[Message], **more: object
) -> Job:
    """Have a message answered again by a job of a kind; `more`: what it asks for."""
    typed = call.message.message_id if call.pressed is None else ""
    message = replace(call.message, message_id=typed, reply_to="")
    return Job(kind, request(form, message, of=said.author, **more), entry=said.id)


RETRYING = (
    Command(
        CommandSpec(
            RETRY,
            "another answer to the last message; name a model to ask it",
            "model",
            completes=True,
            on_message="Retry",
        ),
        in_session(_retry),
        moves=True,
    ),
)
