"""Slash commands: what people type to steer the bot itself, not the agent.

A command is carried out and answered in one transaction, which also finishes its inbox row: twice
is once, after a crash too.
"""

import re
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass

from adapters.base import CommandSpec
from adapters.events import Message
from gateway.listing import agents_text
from gateway.markup import escape
from gateway.questions import Questions
from gateway.turns import Turns
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


@dataclass(frozen=True, slots=True)
class Asked:
    """One command as somebody gave it."""

    message: Message
    row: InboxRow
    argument: str
    session: int | None


Work = Callable[[Transaction], str]
"""Does the command within a transaction; returns the answer in Markdown, "" for none."""


@dataclass(frozen=True, slots=True)
class Command:
    spec: CommandSpec
    run: Callable[[Desk, Asked], Awaitable[Work]]


async def _help(desk: Desk, asked: Asked) -> Work:
    lines = [f"/{name} · {command.spec.description}" for name, command in COMMANDS.items()]
    hello = "I am a bot. Write to me; in a group, mention me or reply to me."
    return lambda tx: "\n".join([hello, "", *lines])


async def _new(desk: Desk, asked: Asked) -> Work:
    if asked.session is not None:
        await desk.turns.interrupt(asked.session)

    def work(tx: Transaction) -> str:
        session = tx.tree.create(SessionDraft(SessionKind.CHAT))
        tx.directory.bind(asked.message.conversation.address, session.id)
        return "A new conversation. The old one is kept."

    return work


async def _stop(desk: Desk, asked: Asked) -> Work:
    stopped = asked.session is not None and await desk.turns.stop(asked.session)
    return lambda tx: "Stopped." if stopped else "Nothing was running."


async def _questions(desk: Desk, asked: Asked) -> Work:
    message = asked.message
    address = message.conversation.address

    def work(tx: Transaction) -> str:
        identity = message.user.identity
        visible = desk.questions.visible(tx, identity, address, message.private)
        for question in visible[:QUESTIONS_SHOWN]:
            desk.questions.post(tx, question, address)
        more = len(visible) - QUESTIONS_SHOWN
        if not visible:
            return "No question is open."
        text = "1 question is open." if len(visible) == 1 else f"{len(visible)} questions are open."
        return f"{text} Here are the oldest {QUESTIONS_SHOWN}." if more > 0 else text

    return work


async def _agents(desk: Desk, asked: Asked) -> Work:
    session = asked.session
    if session is None:
        return lambda tx: agents_text([], tx.now)
    return lambda tx: agents_text(tx.delegations.recent(session), tx.now)


COMMANDS: Mapping[str, Command] = {
    command.spec.name: command
    for command in (
        Command(CommandSpec("new", "start a new conversation; the old one is kept"), _new),
        Command(CommandSpec("stop", "stop what is running and withdraw open questions"), _stop),
        Command(CommandSpec("questions", "what waits for a decision, with buttons"), _questions),
        Command(CommandSpec("agents", "running and recent delegations, with their cost"), _agents),
        Command(CommandSpec("tasks", "the same as /agents"), _agents),
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
        return lambda tx: f"I do not know /{escape(name)}. /help lists what I know."
    return await command.run(desk, asked)
