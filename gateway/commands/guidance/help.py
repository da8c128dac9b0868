"""/help and /start: what the bot is, what may be typed here, and how one command is used."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from itertools import groupby

from adapters.base import CommandSpec
from agent.text.markdown import bounded, escape
from agent.text.suggestion import LONGEST, did_you_mean
from gateway.commands.context import Command, CommandCall, Outcome, Plan, Reply
from gateway.commands.guidance.guide import CHAT, GROUPS
from storage.store import Transaction

START = "/start"
HELLO = """\
Hello! I am a bot with a language model behind me. Write to me as you would to a person; in a \
group, mention me or reply to me.

Three things to try:
• Ask me something, then press ▶ or write /retry for another answer.
• Write /undo and ask it differently: nothing is lost, /tree shows every branch.
• Write /settings to choose how I answer here.

/help lists what else I can do."""
_HEAD = "Just write to me; in a group, mention me."
_FOOT = "`/help branch` says how /branch is used, and so for each of them."

Known = Callable[[], Mapping[str, Command]]
"""All commands by name: those that /help is one of."""


def help_command(known: Known) -> Command:
    def plan(tx: Transaction, call: CommandCall) -> Outcome:
        if call.message.text.lower().startswith(START):
            return Reply(HELLO)
        if not call.argument:
            return Reply(_list(here(tx, call, known())))
        return _one(tx, call, known())

    return Command(
        CommandSpec("help", "what I can do; with a command, how to use it", "command"), plan
    )


def here(tx: Transaction, call: CommandCall, known: Mapping[str, Command]) -> list[Command]:
    """The commands that somebody may type where they are."""
    return [each for each in known.values() if each.listed and not why_not(tx, call, each)]


def why_not(tx: Transaction, call: CommandCall, command: Command) -> str:
    """Why a command does nothing for somebody where they are; "" where it does."""
    if command.spec.owner and not call.context.questions.access.is_owner(call.who):
        return f"/{command.spec.name} is for the owners of this bot."
    return command.lacking(tx, call) if command.lacking is not None else ""


def saying_why_not(command: Command) -> Plan:
    """The plan of a command, which alone says besides why a place has nothing for it."""
    plan, lacking = command.plan, command.lacking
    if lacking is None:
        return plan

    def planned(tx: Transaction, call: CommandCall) -> Outcome:
        outcome, why = plan(tx, call), "" if call.argument else lacking(tx, call)
        if isinstance(outcome, Reply) and why and why not in outcome.text:
            return replace(outcome, text=f"{outcome.text}\n{why}")
        return outcome

    return planned


def _list(commands: Iterable[Command]) -> str:
    places = {group: place for place, group in enumerate(GROUPS)}

    def place(command: Command) -> int:
        return places.get(command.spec.group, places[CHAT])

    lines = [_HEAD, ""]
    for at, group in groupby(sorted(commands, key=place), place):
        lines.append(f"**{GROUPS[at]}:** {' · '.join(map(_usage, group))}")
    return "\n".join([*lines, "", _FOOT])


def _usage(command: Command) -> str:
    """As it is typed: what may stand behind it is in capitals."""
    spec = command.spec
    return f"/{spec.name} \\[{spec.argument.upper()}\\]" if spec.argument else f"/{spec.name}"


def _one(tx: Transaction, call: CommandCall, known: Mapping[str, Command]) -> Reply:
    name = call.argument.split()[0].removeprefix("/").lower()
    if name == "start":
        return Reply(HELLO)
    command = known.get(name)
    if command is None or not command.listed:
        meant = did_you_mean(name, [one.spec.name for one in here(tx, call, known)], "/help {}")
        shown = escape(bounded(name, LONGEST))
        return Reply(f"There is no command /{shown}.{meant} /help lists them.")
    return Reply("\n".join(_about(tx, call, command)))


def _about(tx: Transaction, call: CommandCall, command: Command) -> Iterator[str]:
    spec = command.spec
    yield f"**{_usage(command)}**: {spec.description}."
    if spec.details:
        yield spec.details
    if why := why_not(tx, call, command):
        yield f"Not here: {why}"
