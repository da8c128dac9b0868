"""All commands that people can type, what their buttons do, and the jobs they leave.

A command is carried out and answered in one transaction, which also finishes its inbox row: twice
is once, after a crash too.
"""

import re
from collections.abc import Mapping
from functools import partial

from adapters.base import CommandSpec
from agent.text.markdown import escape
from agent.text.suggestion import did_you_mean
from gateway.access.denials import ONLY_BY_BUTTON
from gateway.access.roles import Access
from gateway.commands import performer
from gateway.commands.actions import ACTIONS, action_of
from gateway.commands.activity import ACTIVITY
from gateway.commands.chat.model import CHOOSING, MODEL, ModelChange
from gateway.commands.chat.settings import SETTINGS
from gateway.commands.context import CarryOut, Command, CommandCall, Outcome, Plan, Reply
from gateway.commands.guidance.guide import explained
from gateway.commands.guidance.help import help_command, here, saying_why_not
from gateway.commands.jobs import JobContext
from gateway.commands.memory import MEMORY
from gateway.commands.on_message import on_message
from gateway.commands.people.forget import FORGETTING
from gateway.commands.people.listing import PEOPLE
from gateway.commands.people.requests import PAIRING
from gateway.commands.schedules import SCHEDULES
from gateway.commands.sessions.attach import ATTACHING
from gateway.commands.sessions.fork import FORKING
from gateway.commands.sessions.fork_files import FORK, ForkFiles
from gateway.commands.sessions.search import FINDING
from gateway.commands.sessions.sessions import CONVERSATIONS
from gateway.commands.sessions.switch import OPENING
from gateway.commands.sessions.transfer import EXCHANGE
from gateway.commands.tools import TOOLS
from gateway.commands.tree.branch_summary import LEAVE, SUMMARIES, SUMMARY, Leaving
from gateway.commands.tree.branches import BRANCH_POINTS
from gateway.commands.tree.compact import COMPACT, COMPACTION, Compaction
from gateway.commands.tree.diff import COMPARISON
from gateway.commands.tree.fan import FAN, FANNING, Fan
from gateway.commands.tree.labels import LABELS
from gateway.commands.tree.navigation import NAVIGATION
from gateway.commands.tree.retry import RETRY, RETRYING
from gateway.commands.tree.siblings import ALTERNATIVES
from gateway.commands.tree.tree import TREE
from gateway.turns.turn import Job
from storage.records.buttons import OnMenu, RunCommand
from storage.records.inbox_outbox import InboxKind
from storage.store import Transaction

COMMAND = re.compile(r"/([a-z][a-z0-9_]{0,31})(?:\s+(.*))?\s*\Z", re.IGNORECASE | re.DOTALL)


COMMANDS: Mapping[str, Command] = {
    command.spec.name: explained(command)
    for command in (
        *CONVERSATIONS,
        *ACTIVITY,
        *SCHEDULES,
        *TOOLS,
        *PEOPLE,
        *PAIRING,
        help_command(lambda: COMMANDS),
        *OPENING,
        *ATTACHING,
        *FORKING,
        *FINDING,
        *MEMORY,
        *FORGETTING,
        *EXCHANGE,
        *NAVIGATION,
        *LABELS,
        *BRANCH_POINTS,
        *TREE,
        *COMPARISON,
        *COMPACTION,
        *SUMMARIES,
        *RETRYING,
        *CHOOSING,
        *SETTINGS,
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
    return [command.spec for command in COMMANDS.values() if command.listed]


def jobs(context: JobContext) -> Mapping[InboxKind, Job]:
    """What commands leave to the session's lane, by the kind of the inbox row. (/retry leaves a
    turn like any other.)"""
    leaving = Leaving(context)
    return {
        COMPACT: Compaction(context).run,
        SUMMARY: leaving.summarise,
        LEAVE: leaving.leave,
        FAN: Fan(context).run,
        FORK: ForkFiles(context).bring,
        MODEL: ModelChange(context).run,
    }


async def perform(name: str, call: CommandCall, carry_out: CarryOut) -> None:
    """Run a command by its name, or the action of the button that was pressed; `carry_out` takes
    its work into the transaction that ends it."""
    await performer.perform(call, _plan(name, call), carry_out)


def _plan(name: str, call: CommandCall) -> Plan:
    action = call.pressed.action if call.pressed is not None else None
    if action is not None:
        return action.plan
    if name in COMMANDS:
        plan = saying_why_not(COMMANDS[name])
        # /retry takes no number: it looks at the message itself.
        return on_message(plan) if call.message.about and name != RETRY else plan
    return _only_by_button if name in ACTIONS else partial(_unknown, name=name)


def _only_by_button(tx: Transaction, call: CommandCall) -> Outcome:
    return Reply(ONLY_BY_BUTTON)


def _unknown(tx: Transaction, call: CommandCall, name: str) -> Outcome:
    known = [command.spec.name for command in here(tx, call, COMMANDS)]
    meant = did_you_mean(name, [*known, *ALIASES], "/{}")
    return Reply(f"I do not know /{escape(name)}.{meant} /help lists what I know.")


def moves(run: OnMenu) -> bool:
    """Whether what a button does ends the turn that runs in its session. ValueError as `action_of`
    says."""
    does = action_of(run) or COMMANDS.get(line_of(run).split()[0])
    return does is not None and does.moves


def refused(run: OnMenu, access: Access, who: str) -> str:
    """Why somebody may not press a button that others may; "" where they may."""
    does = action_of(run)
    return does.refused(access, who, private=run.private) if does is not None else ""


def line_of(run: OnMenu) -> str:
    """What a button does as if it had been typed, without the slash; an action's name."""
    return run.command if isinstance(run, RunCommand) else run.name
