"""Lines in, lines out: for pipes and files, and terminals that can do no more."""

import asyncio
import os
import sys
import threading
from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass, field
from typing import TextIO

from adapters.base import Body
from adapters.cleaning import printable
from adapters.terminal.screen import BOT, HELLO, PROMPT, Numbered, added, choices, leaves
from adapters.terminal.wrapping import wrapped_drawing

SET_IN_BY = " " * (len(BOT) + 1)
TAB = 8
LEAST_ROOM = 16
"""Both in columns."""


@dataclass
class PlainScreen:
    input: TextIO = field(default_factory=lambda: sys.stdin)
    output: TextIO = field(default_factory=lambda: sys.stdout)
    _texts: dict[str, str] = field(default_factory=dict)
    """Messages with buttons, to show only what an edit adds."""

    @property
    def personal(self) -> bool:
        return self.input.isatty()

    def open(self, said: Sequence[str]) -> None:
        print(*self._rows([HELLO]), sep="\n", file=self.output, flush=True)

    async def lines(self) -> AsyncGenerator[str, None]:
        lines: asyncio.Queue[str] = asyncio.Queue()
        loop = asyncio.get_running_loop()
        # A thread that nobody waits for: a blocked read of a terminal cannot be cancelled.
        reader = threading.Thread(target=self._read, args=(loop, lines), daemon=True)
        reader.start()
        self._prompt()
        while (line := await lines.get()) and not leaves(line):
            yield line
            self._prompt()
        if self.personal:
            print(file=self.output)

    def post(self, message_id: str, body: Body, buttons: Sequence[Numbered]) -> None:
        text = body["text"]
        if buttons:
            self._texts[message_id] = text
        self._print("\n".join([text, *self._choices(buttons)]))

    def edit(
        self, message_id: str, body: Body, buttons: Sequence[Numbered], *, fleeting: bool
    ) -> None:
        """What stands above cannot be changed: show what the edit adds, or else all of it."""
        before, text = self._texts.get(message_id), body["text"]
        if before is None:
            return  # from a process that was here before: nothing of it is in sight
        if not buttons:
            del self._texts[message_id]
        if fleeting:
            return
        if buttons:
            self._texts[message_id] = text
        more = added(before, text)
        self._print("\n".join([text if more is None else more, *self._choices(buttons)]))

    def note(self, text: str) -> None:
        self._print(text)

    def busy(self) -> None:
        """Nothing moves on lines that stand."""

    def _read(self, loop: asyncio.AbstractEventLoop, lines: "asyncio.Queue[str]") -> None:
        line = "-"
        while line:
            line = self.input.readline()
            if loop.is_closed():
                return
            loop.call_soon_threadsafe(lines.put_nowait, line)

    def _print(self, text: str) -> None:
        start = "\r" if self.personal else ""
        first, *rest = self._rows(printable(text).splitlines() or [""])
        print(
            f"{start}{BOT} {first}",
            *(f"{SET_IN_BY}{row}".rstrip() for row in rest),
            sep="\n",
            file=self.output,
            flush=True,
        )
        self._prompt()

    def _choices(self, buttons: Sequence[Numbered]) -> list[str]:
        return choices(buttons, self._room())

    def _rows(self, lines: Sequence[str]) -> list[str]:
        room = self._room()
        if room is None:
            return list(lines)
        return [row for line in lines for row in wrapped_drawing(line.expandtabs(TAB), room)]

    def _room(self) -> int | None:
        """Columns for what is said; None in a pipe, where a line is a line, however long it is."""
        if not (self.personal and self.output.isatty()):
            return None
        columns = os.get_terminal_size(self.output.fileno()).columns or 80
        return max(columns - len(SET_IN_BY), LEAST_ROOM)

    def _prompt(self) -> None:
        if self.personal:
            print(f"\r{PROMPT}", end="", file=self.output, flush=True)
