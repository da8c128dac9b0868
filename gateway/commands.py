"""Slash commands: what people type to steer the bot itself, not the agent.

A command is carried out and answered in one transaction, which also finishes its inbox row: twice
is once, after a crash too.
"""

import re
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass

from adapters.base import CommandSpec
from adapters.events import Message
from agent.activity import Activity
from agent.markup import escape
from gateway.control import control_question
from gateway.listing import NOTHING_DELEGATED, agents_text, family, transcript
from gateway.parcels import Composer
from gateway.questions import Questions
from gateway.turns import Turns
from gateway.usage import conversation_usage, whole_usage
from storage.boxes import InboxRow
from storage.entries import SessionDraft, SessionKind
from storage.store import Transaction

COMMAND = re.compile(r"/([a-z][a-z0-9_]{0,31})(?:\s+(.*))?\s*\Z", re.IGNORECASE | re.DOTALL)
QUESTIONS_SHOWN = 10


@dataclass(frozen=True, slots=True)
class Desk:
    """What commands work with."""

    turns: Turns
    questions: Questions
    composer: Composer
    active: Mapping[int, Activity]
    """The children that run now."""


@dataclass(frozen=True, slots=True)
class Asked:
    """One command as somebody gave it."""

    message: Message
    row: InboxRow
    argument: str
    session: int | None


Work = Callable[[Transaction], None]
"""Does the command and answers it, within a transaction."""


@dataclass(frozen=True, slots=True)
class Command:
    spec: CommandSpec
    run: Callable[[Desk, Asked], Awaitable[Work]]


def _answer(desk: Desk, asked: Asked, text: str) -> Work:
    """Work that only answers."""
    parcels = desk.composer.reply(asked.message, text)

    def work(tx: Transaction) -> None:
        for parcel in parcels:
            tx.outbox.enqueue(parcel)

    return work


async def _help(desk: Desk, asked: Asked) -> Work:
    lines = [f"/{name} · {command.spec.description}" for name, command in COMMANDS.items()]
    hello = "I am a bot. Write to me; in a group, mention me or reply to me."
    return _answer(desk, asked, "\n".join([hello, "", *lines]))


async def _new(desk: Desk, asked: Asked) -> Work:
    if asked.session is not None:
        await desk.turns.interrupt(asked.session)
    answer = _answer(desk, asked, "A new conversation. The old one is kept.")

    def work(tx: Transaction) -> None:
        session = tx.tree.create(SessionDraft(SessionKind.CHAT))
        tx.directory.bind(asked.message.conversation.address, session.id)
        answer(tx)

    return work


async def _stop(desk: Desk, asked: Asked) -> Work:
    stopped = asked.session is not None and await desk.turns.stop(asked.session)
    return _answer(desk, asked, "Stopped." if stopped else "Nothing was running.")


async def _questions(desk: Desk, asked: Asked) -> Work:
    message = asked.message
    address = message.conversation.address

    def work(tx: Transaction) -> None:
        identity = message.user.identity
        visible = desk.questions.visible(tx, identity, address, message.private)
        _answer(desk, asked, _how_many(len(visible)))(tx)
        for question in visible[:QUESTIONS_SHOWN]:
            desk.questions.post(tx, question, address)

    return work


def _how_many(count: int) -> str:
    if count == 0:
        return "No question is open."
    text = "1 question is open:" if count == 1 else f"{count} questions are open:"
    return text if count <= QUESTIONS_SHOWN else f"{text} the oldest {QUESTIONS_SHOWN} follow."


async def _agents(desk: Desk, asked: Asked) -> Work:
    """The delegations of this conversation as a tree, with buttons for those that run; with a
    number, what that one's children said, turn by turn."""
    session = asked.session
    if session is None:
        return _answer(desk, asked, NOTHING_DELEGATED)
    if asked.argument:
        return lambda tx: _answer(desk, asked, transcript(tx, session, asked.argument))(tx)

    def work(tx: Transaction) -> None:
        forest = family(tx, session)
        text = agents_text(forest, desk.active, tx.now)
        control = control_question(
            text,
            [row for row, _ in forest],
            desk.active,
            by=asked.message.user.identity,
            session=session,
            address=asked.message.conversation.address,
            now=tx.now,
        )
        if control is None:
            _answer(desk, asked, text)(tx)
        else:
            desk.questions.ask(tx, control, asked.message.handle)

    return work


async def _usage(desk: Desk, asked: Asked) -> Work:
    """What this conversation cost; for an owner in private, what all did."""
    message = asked.message
    everything = message.private and desk.questions.access.is_owner(message.user.identity)

    def work(tx: Transaction) -> None:
        text = conversation_usage(tx, message.conversation.address)
        if everything:
            text = f"{text}\n\n{whole_usage(tx)}"
        _answer(desk, asked, text)(tx)

    return work


COMMANDS: Mapping[str, Command] = {
    command.spec.name: command
    for command in (
        Command(CommandSpec("new", "start a new conversation; the old one is kept"), _new),
        Command(CommandSpec("stop", "stop what is running and withdraw open questions"), _stop),
        Command(CommandSpec("questions", "what waits for a decision, with buttons"), _questions),
        Command(
            CommandSpec(
                "agents", "running and recent delegations; with a number, its transcript", "number"
            ),
            _agents,
        ),
        Command(CommandSpec("tasks", "the same as /agents", "number"), _agents),
        Command(
            CommandSpec("usage", "what the models cost, today and in the last 30 days"), _usage
        ),
        Command(CommandSpec("help", "what I can do"), _help),
    )
}
ALIASES = {"start": "help"}
"""Names that work and are not in the menu: Telegram sends /start when a chat is opened."""


def parse_command(text: str) -> tuple[str, str] | None:
    """(name, argument) of "/name argument"; None for anything else, "/etc/hosts" too."""
    found = COMMAND.match(text)
    if found is None:
        return None
    name = found[1].lower()
    return ALIASES.get(name, name), (found[2] or "").strip()


async def run_command(desk: Desk, name: str, asked: Asked) -> Work:
    command = COMMANDS.get(name)
    if command is None:
        return _answer(desk, asked, f"I do not know /{escape(name)}. /help lists what I know.")
    return await command.run(desk, asked)
