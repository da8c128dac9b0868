"""A terminal: a pseudo-terminal, and the screen that what is written to it makes.

It knows the few control sequences that are used here; any other is a fault.
"""

import asyncio
import codecs
import fcntl
import os
import pty
import re
import struct
import termios
import threading
import unicodedata
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TextIO

COLUMNS, ROWS = 60, 24

_SEQUENCE = re.compile(r"\x1b\[(\??[\d;]*)([A-Za-z])")
_UNFINISHED = re.compile(r"\x1b(\[[\d;?]*)?\Z")


@dataclass
class Display:
    """All rows that were ever shown, the oldest first."""

    columns: int = COLUMNS
    rows: list[list[str]] = field(default_factory=lambda: [[]])
    """Cells; a wide character has an empty one after it."""
    row: int = 0
    column: int = 0
    wraps: bool = True
    faults: list[str] = field(default_factory=list)
    """What was written that no program of ours should write."""

    def feed(self, text: str) -> None:
        while text:
            if found := _SEQUENCE.match(text):
                self._obey(found[1], found[2])
                text = text[found.end() :]
            else:
                self._put(text[0])
                text = text[1:]

    @property
    def text(self) -> str:
        return "\n".join("".join(row).rstrip() for row in self.rows)

    def _obey(self, arguments: str, what: str) -> None:
        match what:
            case "A":
                self.row -= int(arguments or 1)
                if self.row < max(0, len(self.rows) - ROWS):
                    self.faults.append("the cursor left the screen")
            case "C":
                self.column = min(self.column + int(arguments or 1), self.columns - 1)
            case "D":
                self.column = max(self.column - int(arguments or 1), 0)
            case "K" if not arguments:
                del self.rows[self.row][self.column :]
            case "J" if not arguments:
                del self.rows[self.row][self.column :]
                del self.rows[self.row + 1 :]
            case "h" | "l" if arguments == "?7":
                self.wraps = what == "h"
            case "m" | "h" | "l":
                pass  # colours, whether the cursor is seen, how pasted text comes
            case _:
                self.faults.append(f"a sequence that is not known: {arguments}{what}")

    def _put(self, character: str) -> None:
        match character:
            case "\r":
                self.column = 0
            case "\b":
                self.column = max(self.column - 1, 0)
            case "\n":
                self._next_row()
            case _:
                if not character.isprintable():
                    self.faults.append(f"{character!r} reached the terminal")
                self._show([character, *[""] * (width(character) - 1)])

    def _show(self, cells: list[str]) -> None:
        if self.column + len(cells) > self.columns:
            if self.wraps:
                self._next_row()
                self.column = 0
            else:
                self.column = self.columns - len(cells)
        row = self.rows[self.row]
        row += [" "] * (self.column - len(row))
        row[self.column : self.column + len(cells)] = cells
        self.column += len(cells)

    def _next_row(self) -> None:
        self.row += 1
        if self.row == len(self.rows):
            self.rows.append([])


def width(character: str) -> int:
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


@dataclass
class Terminal:
    """What a person sees and types; `input` and `output` are what a program has of it."""

    input: TextIO
    output: TextIO
    _ours: int
    display: Display = field(default_factory=Display)
    raw: str = ""
    """All that was written, as it was written."""

    def type(self, keys: str) -> None:
        os.write(self._ours, keys.encode())

    async def shows(self, text: str) -> str:
        """All that is shown, once this is among it."""
        async with asyncio.timeout(60):
            while text not in self.display.text:
                await asyncio.sleep(0.01)
        return self.display.text

    async def hides(self, text: str) -> str:
        """All that is shown, once this is not among it."""
        async with asyncio.timeout(60):
            while text in self.display.text:
                await asyncio.sleep(0.01)
        return self.display.text

    @property
    def reads_keys(self) -> bool:
        """Keys are given to the program at once, and not shown by the terminal itself."""
        flags = termios.tcgetattr(self._ours)[3]
        return not flags & (termios.ICANON | termios.ECHO)

    def as_a_shell_wants_it(self) -> None:
        attributes = termios.tcgetattr(self._ours)
        attributes[3] |= termios.ICANON | termios.ECHO
        termios.tcsetattr(self._ours, termios.TCSANOW, attributes)

    def show(self) -> None:
        """Show what is written until the program is gone."""
        decode = codecs.getincrementaldecoder("utf-8")().decode
        pending = ""
        while written := _read(self._ours):
            text = pending + decode(written)
            cut = _UNFINISHED.search(text)
            text, pending = (text[: cut.start()], cut[0]) if cut else (text, "")
            self.raw += text
            self.display.feed(text)


def _read(descriptor: int) -> bytes:
    try:
        return os.read(descriptor, 65_536)
    except OSError:  # Linux's way to say that nobody has the other end open
        return b""


@contextmanager
def terminal(columns: int = COLUMNS) -> Iterator[Terminal]:
    """A thread reads, as a terminal does: whoever writes must not wait for itself."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, columns, 0, 0))
    with (
        os.fdopen(theirs, encoding="utf-8", closefd=False) as input_,
        os.fdopen(theirs, "w", encoding="utf-8") as output,
    ):
        shown = Terminal(input_, output, ours, Display(columns))
        reader = threading.Thread(target=shown.show)
        reader.start()
        yield shown
    reader.join()
    os.close(ours)
    assert shown.display.faults == []
