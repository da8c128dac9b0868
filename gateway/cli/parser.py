"""The arguments of every command."""

import argparse
from pathlib import Path


def parser() -> argparse.ArgumentParser:
    """The arguments of every command. `--config` is taken before and after the command."""
    common = argparse.ArgumentParser(add_help=False)
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
    top = argparse.ArgumentParser(
        prog="bough",
        description="A bot for Telegram, Discord and the terminal that delegates, and asks people.",
        parents=[common],
    )
    commands = top.add_subparsers(dest="command", metavar="COMMAND", required=True)
    for name, text in (
        ("run", "serve the configured platforms; with none, chat in this terminal"),
        ("chat", "chat in this terminal"),
        ("demo", "a scripted tour that needs no keys, no network and no terminal"),
        ("doctor", "check the configuration, the database, the platforms and the models"),
    ):
        commands.add_parser(name, help=text, description=text, parents=[common])
    _add_sessions(commands, common)
    return top


def _add_sessions(
    commands: "argparse._SubParsersAction[argparse.ArgumentParser]",
    common: argparse.ArgumentParser,
) -> None:
    text = "list, show, import and export sessions, beside a running gateway too"
    sessions = commands.add_parser("sessions", help=text, description=text, parents=[common])
    actions = sessions.add_subparsers(dest="action", metavar="ACTION", required=True)

    def add(name: str, text: str, *, shows: bool = True) -> argparse.ArgumentParser:
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


def _session_id(text: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) < 19):
        raise argparse.ArgumentTypeError(f"{text!r} is no session; see bough sessions list")
    return int(text)
