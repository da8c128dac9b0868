"""The command line. What a command needs is imported when it runs, so that --help is instant."""

import sys

from gateway.cli.parser import parser
from gateway.running.process.leaving import leave_at_once


def main(argv: list[str] | None = None) -> int:
    arguments = parser().parse_args(argv)
    if argv is None and arguments.command == "run":
        leave_at_once()
    from gateway.cli.main import run

    return run(arguments)


if __name__ == "__main__":
    sys.exit(main())
