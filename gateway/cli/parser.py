"""The arguments of every command, and what is said to those that are none."""

import argparse
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NoReturn

from agent.text.suggestion import did_you_mean


class Parser(argparse.ArgumentParser):
    """Says what may have been meant by a command or an option that does not exist."""

    def _check_value(self, action: argparse.Action, value: Any) -> None:
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
        options = sorted(set(self._all_options()))
        option = next((each for each in left if each.startswith("-")), "")
        meant = did_you_mean(option.partition("=")[0], options) if option else ""
        self.error(f"unrecognized arguments: {' '.join(left)[:200]}.{meant}")

    def _all_options(self) -> Iterator[str]:
        for action in self._actions:
            yield from (option for option in action.option_strings if option.startswith("--"))
            if isinstance(action, argparse._SubParsersAction):
                for below in action.choices.values():
                    yield from below._all_options()


def parser() -> Parser:
    """The arguments of every command. `--config` is taken before and after the command."""
    common = Parser(add_help=False)
    common.add_argument(
        "--config",
        type=Path,
        metavar="FILE",
        default=argparse.SUPPRESS,
        help="configuration (default: ./bough.toml where there is one)",
    )
    common.add_argument(
        "--verbose", action="store_true", default=argparse.SUPPRESS, help="log more, to stderr"
    )
    top = Parser(
        prog="bough",
        description="A bot for Telegram, Discord and the terminal that delegates, and asks people.",
        parents=[common],
    )
    commands = top.add_subparsers(dest="command", metavar="COMMAND", required=True)
    for name, text in (
        ("run", "serve the configured platforms; with none, chat in this terminal"),
        ("chat", "chat in this terminal"),
        ("init", "ask for platform, token, owner and models, try them, and write bough.toml"),
        ("demo", "a scripted tour that needs no keys, no network and no terminal"),
        ("doctor", "check the configuration, the database, the platforms and the models"),
    ):
        added = commands.add_parser(name, help=text, description=text, parents=[common])
        if name == "demo":
            added.add_argument(
                "--hands",
                action="store_true",
                help="another tour: commands, pages, approvals, notes and schedules",
            )
        if name == "doctor":
            added.add_argument(
                "--fix",
                action="store_true",
                help="look closer, mend what is safe, and say how to mend the rest",
            )
    _add_sessions(commands, common)
    _add_database(commands, common)
    return top


def _add_sessions(
    commands: "argparse._SubParsersAction[Parser]",
    common: Parser,
) -> None:
    text = "list, show, import and export sessions, beside a running gateway too"
    sessions = commands.add_parser("sessions", help=text, description=text, parents=[common])
    actions = sessions.add_subparsers(dest="action", metavar="ACTION", required=True)

    def add(name: str, text: str, *, shows: bool = True) -> Parser:
        action = actions.add_parser(name, help=text, description=text, parents=[common])
        if shows:
            action.add_argument("--json", action="store_true", help="for programs")
        return action

    listed = add("list", "all sessions, newest first")
    listed.add_argument("--all", action="store_true", help="transcripts of delegations too")
    tree = add("tree", "a session's entries as a tree")
    context = add("context", "the messages that a model would get")
    context.add_argument("--at", metavar="ENTRY", help="its number or original id (the leaf)")
    taken = add("import", "a file as a new session")
    taken.add_argument(
        "file", metavar="FILE", help="Pi's JSON lines or a list of messages; - stdin"
    )
    export = add("export", "a session as a file in Pi's format", shows=False)
    export.add_argument("--output", metavar="FILE", required=True, help="- for stdout")
    export.add_argument("--redact", action="store_true", help="take out what looks like a secret")
    for action in (tree, context, export):
        action.add_argument("session", metavar="SESSION", type=_session_id, help="its number")


def _add_database(
    commands: "argparse._SubParsersAction[Parser]",
    common: Parser,
) -> None:
    text = "copy, back up, restore and check the database"
    database = commands.add_parser("db", help=text, description=text, parents=[common])
    actions = database.add_subparsers(dest="action", metavar="ACTION", required=True)

    def add(name: str, text: str) -> Parser:
        return actions.add_parser(name, help=text, description=text, parents=[common])

    copied = add("copy", "everything from one database into another, empty one")
    copied.add_argument("source", metavar="FROM", help="URL of a database nobody works on")
    copied.add_argument("target", metavar="TO", help="URL of an empty one")
    backup = add("backup", "everything into a new file, beside a running gateway too")
    backup.add_argument("file", metavar="FILE", type=Path)
    restored = add("restore", "a backup into the empty database at storage.url")
    restored.add_argument("file", metavar="FILE", type=Path)
    add("check", "what is torn in the database; exit status 1 where something is")


def _session_id(text: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) < 19):
        raise argparse.ArgumentTypeError(f"{text!r} is no session; see bough sessions list")
    return int(text)
