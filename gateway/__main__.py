"""The command line. What a command needs is imported when it runs, so that --help is instant."""

import sys

from gateway.cli.parser import parser


def main(argv: list[str] | None = None) -> int:
    arguments = parser().parse_args(argv)
    from gateway.cli.main import run

    return run(arguments)


if __name__ == "__main__":
    sys.exit(main())
