"""Whether a line is more than one plain command. Pure.

Not a parser of the shell: it errs to the side of "more". What joins, substitutes or redirects is an
operator wherever it is not in single quotes; so is everything that could make quotes mean something
else than they seem to: a comment, a line break, a quote that stays open.
"""

from typing import assert_never

from agent.tools.base import Syntax

SHELL = ";&|\n\r<>`$()"
PYTHON = ";\n\r"
_IN_DOUBLE_QUOTES = "\n\r`$"


def operators_of(syntax: Syntax) -> str:
    match syntax:
        case "" | "json":
            return ""
        case "shell":
            return SHELL
        case "python":
            return PYTHON
        case _:
            assert_never(syntax)


def has_operators(line: str, syntax: Syntax) -> bool:
    if syntax == "shell":
        return _is_chain(line)
    return any(one in line for one in operators_of(syntax))


def _is_chain(line: str) -> bool:
    quote, characters = "", iter(line)
    for one in characters:
        if one in "\n\r":
            return True
        if quote == "'":
            quote = "" if one == "'" else quote
        elif one == "\\":
            # What it protects is no quote then; at the end it joins the next line.
            if next(characters, "\n") in SHELL:
                return True
        elif quote:
            if one in _IN_DOUBLE_QUOTES:
                return True
            quote = "" if one == '"' else quote
        elif one in "'\"":
            quote = one
        elif one in SHELL or one == "#":
            return True
    return bool(quote)


def pieces(line: str) -> list[str]:
    """What stands between operators, for rules that forbid: quotes are not looked at."""
    for one in SHELL:
        line = line.replace(one, "\n")
    return [piece.strip() for piece in line.split("\n") if piece.strip()]
