"""Lines in, lines out: for pipes and files, and terminals that can do no more."""

import asyncio
import sys
import threading
from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass, field
from typing import TextIO

from adapters.base import Body
from adapters.terminal.screen import BOT, HELLO, PROMPT, Numbered, added, choices, printable


@dataclass
class PlainScreen:
    input: TextIO = field(default_factory=lambda: sys.stdin)
    output: TextIO = field(default_factory=lambda: sys.stdout)
    _texts: dict[str, str] = field(default_factory=dict)
    """Messages with buttons, to show only what an edit adds."""

    async def lines(self) -> AsyncGenerator[str, None]:
        lines: asyncio.Queue[str] = asyncio.Queue()
        loop = asyncio.get_running_loop()
        # A thread that nobody waits for: a blocked read of a terminal cannot be cancelled.
        reader = threading.Thread(target=self._read, args=(loop, lines), daemon=True)
        reader.start()
        if self.input.isatty():
            print(HELLO, file=self.output)
        self._prompt()
        while line := await lines.get():
            yield line
            self._prompt()
        if self.input.isatty():
            print(file=self.output)

    def post(self, message_id: str, body: Body, buttons: Sequence[Numbered]) -> None:
        text = body["text"]
        if buttons:
            self._texts[message_id] = text
        self._print("\n".join([text, *choices(buttons)]))

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
        self._print("\n".join([text if more is None else more, *choices(buttons)]))

    def note(self, text: str) -> None:
        self._print(text)

    def _read(self, loop: asyncio.AbstractEventLoop, lines: "asyncio.Queue[str]") -> None:
        line = "-"
        while line:
            line = self.input.readline()
            if loop.is_closed():
                return
            loop.call_soon_threadsafe(lines.put_nowait, line)

    def _print(self, text: str) -> None:
        start = "\r" if self.input.isatty() else ""
        first, *rest = printable(text).splitlines() or [""]
        print(
            f"{start}{BOT} {first}",
            *(f"       {line}".rstrip() for line in rest),
            sep="\n",
            file=self.output,
            flush=True,
        )
        self._prompt()

    def _prompt(self) -> None:
        if self.input.isatty():
            print(PROMPT, end="", file=self.output, flush=True)
