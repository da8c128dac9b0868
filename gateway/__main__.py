"""The command line. What a command needs is imported when it runs, so that --help is instant."""

import sys

from gateway.running.process.leaving import leave_at_once


def main(argv: list[str] | None = None) -> int:
    # Before anything else: a reload may be asked for while the program is still being loaded.
    as_before = leave_at_once() if argv is None else None
    from gateway.cli.parser import parser

    arguments = parser().parse_args(argv)
    if as_before is not None and arguments.command != "run":
        as_before()
    from gateway.cli.main import run

    return run(arguments)


if __name__ == "__main__":
    sys.exit(main())
