"""The command line. Everything is imported when a command needs it, so that --help is instant."""

import argparse
import sys
from pathlib import Path


def main(argv: list[str] | None = None) -> int:
    arguments = parser().parse_args(argv)
    from gateway.commandline import run

    return run(arguments)


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
    return top


if __name__ == "__main__":
    sys.exit(main())
