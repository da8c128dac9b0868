"""What a chat in the terminal is shown on, and what is common to all such screens. Pure."""

import re
from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass
from itertools import takewhile
from typing import Protocol

from adapters.base import Body, Button
from adapters.terminal.wrapping import cells, wrapped

PROMPT = "you> "
BOT = "bough>"
HELLO = "Write a message and press Enter. /help lists the commands; quit, or Ctrl-D, ends the chat."
ADVICE = "(type a number with its # to choose)"
SET_IN = "  "

_LEAVING = ("quit", "exit")


@dataclass(frozen=True, slots=True)
class Numbered:
    """A button with the number that a person types, after a "#", to press it."""

    number: int
    button: Button

    @property
    def mark(self) -> str:
        return f"[#{self.number}]"


class Screen(Protocol):
    @property
    def personal(self) -> bool:
        """A person sits at it; else it is a pipe or a file."""
        ...

    def open(self, said: Sequence[str]) -> None:
        """Greet the person. `said` is what they said here before, oldest first: a screen may let
        them say it again."""
        ...

    def lines(self) -> AsyncGenerator[str, None]:
        """What the person types, message by message, until the end of the input, or until they
        want to leave."""
        ...

    def post(self, message_id: str, body: Body, buttons: Sequence[Numbered]) -> None: ...

    def edit(
        self, message_id: str, body: Body, buttons: Sequence[Numbered], *, fleeting: bool
    ) -> None:
        """Show that a message changed; `fleeting` as in Edit."""
        ...

    def note(self, text: str) -> None:
        """Something from us that is no message."""
        ...

    def busy(self) -> None:
        """An answer is being worked on; said again every few seconds for as long as that is so."""
        ...


def leaves(line: str) -> bool:
    """Whether somebody who types this wants to end the chat."""
    return line.strip().lower() in _LEAVING


def choices(buttons: Sequence[Numbered], columns: int | None = None) -> list[str]:
    """A line for every row of buttons, and what to do with them; none without buttons.

    No line is wider than `columns`: what does not fit goes to the next one, as a whole button.
    """
    rows: list[str] = []
    for one in buttons:
        shown = f"{SET_IN}{one.mark} {one.button.label}"
        if one.button.beside and rows and _fits(rows[-1] + shown, columns):
            rows[-1] += shown
        else:
            rows.append(shown)
    if not rows:
        return []
    rows.append(f"{SET_IN}{ADVICE}")
    return [row for long in rows for row in _cut(long, columns)]


def _fits(row: str, columns: int | None) -> bool:
    return columns is None or cells(row) <= columns


def _cut(row: str, columns: int | None) -> list[str]:
    """One button that is wider than the screen goes on below its own label."""
    if columns is None or cells(row) <= columns:
        return [row]
    mark = re.match(r" *(?:\[#\d+\] )?", row)
    return wrapped(row, columns, " " * len(mark[0]) if mark is not None else "")


def added(before: str, after: str) -> str | None:
    """What an edit adds to the end of a text, whichever lines it takes out of the middle; None
    where it changed something else."""
    if after.startswith(before):
        return after.removeprefix(before).strip()
    old, lines = before.strip().splitlines(), after.splitlines()
    left = iter(old)
    kept = list(takewhile(lambda line: line in left, lines))
    more = "\n".join(lines[len(kept) :])
    whole = "\n".join(kept).strip().splitlines()
    is_end = bool(old and whole) and (whole[0], whole[-1]) == (old[0], old[-1])
    return more.strip() if is_end else None
