"""What a chat in the terminal is shown on, and what is common to all such screens. Pure."""

import re
from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass
from typing import Protocol

from adapters.base import Body, Button

PROMPT = "you> "
BOT = "bough>"
HELLO = "Write a message and press Enter. /help lists the commands, Ctrl-D ends the chat."
ADVICE = "(type a number to choose)"

_CONTROLS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")
"""C0, DEL and C1 but for tab and newline, and what turns the direction of text around: a terminal
would obey them."""


@dataclass(frozen=True, slots=True)
class Numbered:
    """A button with the number that a person types to press it."""

    number: int
    button: Button


class Screen(Protocol):
    def lines(self) -> AsyncGenerator[str, None]:
        """What the person types, line by line, until the end of the input."""
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


def printable(text: str) -> str:
    """Text that does nothing to a terminal but show: without control characters, whoever wrote
    them."""
    return _CONTROLS.sub("", text)


def choices(buttons: Sequence[Numbered]) -> list[str]:
    """A line for every row of buttons, and what to do with them; none without buttons."""
    rows: list[str] = []
    for one in buttons:
        shown = f"  [{one.number}] {one.button.label}"
        if one.button.beside and rows:
            rows[-1] += shown
        else:
            rows.append(shown)
    return [*rows, f"  {ADVICE}"] if rows else []


def added(before: str, after: str) -> str | None:
    """What an edit adds to the end of a text; None where it changed something else."""
    return after.removeprefix(before).strip() if after.startswith(before) else None
