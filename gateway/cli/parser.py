"""The arguments of every command, and what is said to those that are none."""

import argparse
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NoReturn, TypeAlias

from agent.text.suggestion import did_you_mean
from gateway.processes.roles import Role


class Parser(argparse.ArgumentParser):
    """Says what may have been meant by a command or an option that does not exist."""

    def _check_value(self, action: argparse.Action, value: object) -> None:
        if action.choices is None or value in action.choices:
            return
        known = [str(each) for each in action.choices]
        meant = did_you_mean(str(value), known)
        text = f"there is no {str(value)[:60]!r} here.{meant} There are: {', '.join(known)}."
        raise argparse.ArgumentError(action, text)

    def parse_args(  # type: ignore[override]
        self, args: Sequence[str] | None = None, namespace: argparse.Namespace | None = None
    ) -> argparse.Namespace:
        known, left = self.parse_known_args(args, namespace)
        if left:
            self._unknown(left)
        return known

    def _unknown(self, left: Sequence[str]) -> NoReturn:
        owners = dict(self._all_options())
        option = next((each for each in left if each.startswith("-")), "").partition("=")[0]
        meant = did_you_mean(option, sorted(owners)) if option else ""
        if option in owners:
            meant = f" {option} belongs to {owners[option]}."
        self.error(f"unrecognized arguments: {' '.join(left)[:200]}.{meant}")

    def _all_options(self) -> Iterator[tuple[str, str]]:
        """Each with the command that takes it, the last of several."""
        for action in self._actions:
            options = (option for option in action.option_strings if option.startswith("--"))
            yield from ((option, self.prog) for option in options)
            if isinstance(action, argparse._SubParsersAction):
                for below in action.choices.values():
                    yield from below._all_options()


Commands: TypeAlias = "argparse._SubParsersAction[Parser]"
Add = Callable[[str, str], Parser]
"""With an action's name, and what it does."""


def parser() -> Parser:
    """The arguments of every command. Those of all commands are taken before and after the command;
    `env_files_before` are those before it, which the same option after it must not replace."""
    common = _common("env_files")
    top = Parser(
        prog="bough",
        description="A bot for Telegram, Discord and the terminal that delegates, and asks people.",
        parents=[_common("env_files_before")],
    )
    commands = top.add_subparsers(dest="command", metavar="COMMAND", required=True)
    plain = {
        "run": "serve the configured platforms; with none, chat in this terminal",
        "chat": "chat in this terminal",
        "init": "ask for platform, token, owner and models, try them, and write bough.toml",
        "demo": "a scripted tour that needs no keys, no network and no terminal",
        "doctor": "check the configuration, the database, the platforms and the models",
    }
    added = {
        name: commands.add_parser(name, help=text, description=text, parents=[common])
        for name, text in plain.items()
    }
    added["run"].add_argument(
        "--role",
        choices=[role.value for role in Role],
        default=Role.ALL.value,
        help="what this process does, of several on one PostgreSQL (default: all)",
    )
    added["demo"].add_argument(
        "--hands",
        action="store_true",
        help="another tour: commands, pages, approvals, notes and schedules",
    )
    added["doctor"].add_argument(
        "--fix",
        action="store_true",
        help="look closer, mend what is safe, and say how to mend the rest",
    )
    _add_sessions(commands, common)
    _add_people(commands, common)
    _add_database(commands, common)
    return top


def _common(env_files: str) -> Parser:
    """What every command takes. `env_files`: the attribute that the --env-file are kept in."""
    common = Parser(add_help=False)
    common.add_argument(
        "--config",
        type=Path,
        metavar="FILE",
        default=argparse.SUPPRESS,
        help="configuration (default: ./bough.toml where there is one)",
    )
    common.add_argument(
        "--env-file",
        type=Path,
        metavar="FILE",
        action="append",
        dest=env_files,
        default=argparse.SUPPRESS,
        help="variables as KEY=VALUE lines, read as systemd reads an EnvironmentFile; repeatable",
    )
    common.add_argument(
        "--verbose", action="store_true", default=argparse.SUPPRESS, help="log more, to stderr"
    )
    return common


def _add_group(commands: Commands, common: Parser, name: str, text: str) -> Add:
    """A command of several actions; what is given back adds one of them."""
    group = commands.add_parser(name, help=text, description=text, parents=[common])
    actions = group.add_subparsers(dest="action", metavar="ACTION", required=True)

    def add(name: str, text: str) -> Parser:
        return actions.add_parser(name, help=text, description=text, parents=[common])

    return add


def _add_sessions(commands: Commands, common: Parser) -> None:
    text = "list, show, import and export sessions, beside a running gateway too"
    add = _add_group(commands, common, "sessions", text)
    listed = add("list", "all sessions, newest first")
    tree = add("tree", "a session's entries as a tree")
    context = add("context", "the messages that a model would get")
    taken = add("import", "a file as a new session")
    for action in (listed, tree, context, taken):
        action.add_argument("--json", action="store_true", help="for programs")
    listed.add_argument("--all", action="store_true", help="transcripts of delegations too")
    context.add_argument("--at", metavar="ENTRY", help="its number or original id (the leaf)")
    taken.add_argument(
        "file", metavar="FILE", help="Pi's JSON lines or a list of messages; - stdin"
    )
    export = add("export", "a session as a file in Pi's format")
    export.add_argument("--output", metavar="FILE", required=True, help="- for stdout")
    export.add_argument("--redact", action="store_true", help="take out what looks like a secret")
    for action in (tree, context, export):
        action.add_argument("session", metavar="SESSION", type=_session_id, help="its number")


def _add_people(commands: Commands, common: Parser) -> None:
    text = "list who is known, export what is kept about them, forget them"
    add = _add_group(commands, common, "people", text)
    listed = add("list", "everybody who is known")
    listed.add_argument("--json", action="store_true", help="for programs")
    forgotten = add("forget", "everything of one person, for good; beside a running gateway too")
    forgotten.add_argument("--rights", action="store_true", help="what they may do by a chat, too")
    forgotten.add_argument("--yes", action="store_true", help="without asking")
    export = add("export", "all that is kept about one person, as a ZIP archive")
    export.add_argument("--output", metavar="FILE", required=True)
    for action in (forgotten, export):
        action.add_argument("person", metavar="PERSON", help="as in telegram:1001")


def _add_database(commands: Commands, common: Parser) -> None:
    text = "copy, back up, restore and check the database"
    add = _add_group(commands, common, "db", text)
    copied = add("copy", "everything from one database into another, empty one")
    copied.add_argument("source", metavar="FROM", help="URL of a database nobody works on")
    copied.add_argument("target", metavar="TO", help="URL of an empty one")
    backup = add("backup", "everything into a new file, beside a running gateway too")
    backup.add_argument("file", metavar="FILE", type=Path)
    restored = add("restore", "a backup into the empty database at storage.url")
    restored.add_argument("file", metavar="FILE", type=Path)
    add("adopt", "give the database to the bots of this configuration; all gateways are stopped")
    add("check", "what is torn in the database; exit status 1 where something is")


def _session_id(text: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) < 19):
        raise argparse.ArgumentTypeError(f"{text!r} is no session; see bough sessions list")
    return int(text)
