"""Slash commands: what people type to steer the bot itself, not the agent.

A command is carried out and answered in one transaction, which also finishes its inbox row: twice
is once, after a crash too.
"""

import re
from collections.abc import Mapping
from functools import partial

from adapters.base import CommandSpec
from agent.text.markdown import escape
from gateway.commands.buttons import ANOTHER_SESSION, is_elsewhere
from gateway.commands.context import CarryOut, Command, CommandCall, CommandContext, Work, answer
from gateway.commands.sessions.attach import ATTACHING
from gateway.commands.sessions.fork import FORKING
from gateway.commands.sessions.search import FINDING
from gateway.commands.sessions.sessions import CONVERSATIONS
from gateway.commands.sessions.switch import OPENING
from gateway.commands.sessions.transfer import EXCHANGE
from gateway.commands.tree.branch_summary import SUMMARIES
from gateway.commands.tree.branches import BRANCH_POINTS
from gateway.commands.tree.compact import COMPACTION
from gateway.commands.tree.diff import COMPARISON
from gateway.commands.tree.fan import FANNING
from gateway.commands.tree.labels import LABELS
from gateway.commands.tree.navigation import NAVIGATION
from gateway.commands.tree.retry import RETRYING
from gateway.commands.tree.siblings import ALTERNATIVES
from gateway.commands.tree.tree import TREE
from gateway.status.child_control import post_panel
from gateway.views.delegations import NOTHING_DELEGATED, agents_text, family, transcript
from gateway.views.usage import conversation_usage, whole_usage
from storage.errors import LeafMoved
from storage.records.entries import LeafMove
from storage.store import Transaction

COMMAND = re.compile(r"/([a-z][a-z0-9_]{0,31})(?:\s+(.*))?\s*\Z", re.IGNORECASE | re.DOTALL)
QUESTIONS_SHOWN = 10
TRIES = 5


async def _help(desk: CommandContext, asked: CommandCall) -> Work:
    lines = [f"/{spec.name} · {spec.description}" for spec in command_specs()]
    hello = "I am a bot. Write to me; in a group, mention me or reply to me."
    return answer(desk, asked, "\n".join([hello, "", *lines]))


async def _stop(desk: CommandContext, asked: CommandCall) -> Work:
    stopped = asked.session is not None and await desk.turns.stop(asked.session)
    return answer(desk, asked, "Stopped." if stopped else "Nothing was running.")


async def _questions(desk: CommandContext, asked: CommandCall) -> Work:
    message = asked.message
    address = message.conversation.address

    def work(tx: Transaction) -> None:
        identity = message.user.identity
        visible = desk.questions.visible(tx, identity, address, message.private)
        answer(desk, asked, _how_many(len(visible)))(tx)
        for question in visible[:QUESTIONS_SHOWN]:
            desk.questions.post(tx, question, address)

    return work


def _how_many(count: int) -> str:
    if count == 0:
        return "No question is open."
    text = "1 question is open:" if count == 1 else f"{count} questions are open:"
    return text if count <= QUESTIONS_SHOWN else f"{text} the oldest {QUESTIONS_SHOWN} follow."


async def _agents(desk: CommandContext, asked: CommandCall) -> Work:
    """The delegations of this conversation as a tree, with buttons for those that run; with a
    number, what that one's children said, turn by turn."""
    session = asked.session
    if session is None:
        return answer(desk, asked, NOTHING_DELEGATED)
    if asked.argument:
        return lambda tx: desk.say(tx, asked, *transcript(tx, session, asked.argument))

    def work(tx: Transaction) -> None:
        forest = family(tx, session)
        posted = post_panel(
            tx,
            desk.composer,
            forest,
            desk.active,
            session=session,
            address=asked.address,
            handle=asked.message.handle,
            by=asked.who,
        )
        if not posted:
            answer(desk, asked, agents_text(forest, desk.active, tx.now))(tx)

    desk.panel.follow(session, asked.address)
    return work


async def _usage(desk: CommandContext, asked: CommandCall) -> Work:
    """What this conversation cost; for an owner in private, what all did."""
    message = asked.message
    everything = message.private and desk.questions.access.is_owner(message.user.identity)

    def work(tx: Transaction) -> None:
        text = conversation_usage(tx, message.conversation.address)
        if everything:
            text = f"{text}\n\n{whole_usage(tx)}"
        answer(desk, asked, text)(tx)

    return work


COMMANDS: Mapping[str, Command] = {
    command.spec.name: command
    for command in (
        *CONVERSATIONS,
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
        *OPENING,
        *ATTACHING,
        *FORKING,
        *FINDING,
        *EXCHANGE,
        *NAVIGATION,
        *LABELS,
        *BRANCH_POINTS,
        *TREE,
        *COMPARISON,
        *COMPACTION,
        *SUMMARIES,
        *RETRYING,
        *FANNING,
        *ALTERNATIVES,
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


def command_specs() -> list[CommandSpec]:
    """What a platform's menu shows."""
    return [command.spec for command in COMMANDS.values() if not command.hidden]


async def perform(desk: CommandContext, name: str, asked: CommandCall, carry_out: CarryOut) -> None:
    """Run a command; `carry_out` takes its work into the transaction that ends it."""
    command = COMMANDS.get(name)
    if command is None:
        text = f"I do not know /{escape(name)}. /help lists what I know."
        return await carry_out(answer(desk, asked, text))
    if is_elsewhere(asked):
        return await carry_out(answer(desk, asked, ANOTHER_SESSION))
    session = asked.session
    if not command.moves or session is None:
        async with asked.held:
            await carry_out(await command.run(desk, asked))
    else:
        await _move(desk, asked, command, session, carry_out)


async def _move(
    desk: CommandContext, asked: CommandCall, command: Command, session: int, carry_out: CarryOut
) -> None:
    """Run a command that moves the leaf. Where somebody else has moved it since the command was
    given, they are told: they meant another place than where the leaf is now."""

    newest = partial(_newest_move, session=session)
    seen = await desk.store.read(newest)
    for _ in range(TRIES):
        try:
            async with asked.held:
                work = await command.run(desk, asked)
                await carry_out(partial(_unless_moved, asked=asked, seen=seen, work=work))
            return
        except LeafMoved:
            last = await desk.store.read(newest)
        if last is not None and last != seen and last.by != asked.who:
            break
        seen = last  # another command of the same person, or a label: one after the other then
    text = "Somebody else moved this conversation at the same moment; nothing was changed."
    await carry_out(answer(desk, asked, text))


def _unless_moved(tx: Transaction, asked: CommandCall, seen: LeafMove | None, work: Work) -> None:
    assert asked.session is not None
    last = _newest_move(tx, asked.session)
    if last is not None and last != seen and last.by != asked.who:
        raise LeafMoved(f"session {asked.session} was moved by {last.by}")
    work(tx)


def _newest_move(tx: Transaction, session: int) -> LeafMove | None:
    return next(iter(tx.tree.leaf_moves(session, 1)), None)
