"""A chat in this terminal: lines in, lines out, and a number for every button."""

import asyncio
import re
import sys
import threading
import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TextIO

from adapters.base import Acknowledge, Body, Button, Edit, Outgoing, Post, Receive, Typing
from adapters.events import Conversation, Message, Press, Update, User, clean

CONVERSATION = Conversation("terminal", "local")
PERSON = User("terminal", "local", "you")
PROMPT = "you> "
HELLO = "Write a message and press Enter. /help lists the commands, Ctrl-D ends the chat."
ESCAPED = re.compile(r"\\([\\`*_{}\[\]()<>#+\-.!|~@])")


@dataclass
class TerminalAdapter:
    input: TextIO = field(default_factory=lambda: sys.stdin)
    output: TextIO = field(default_factory=lambda: sys.stdout)
    name: str = "terminal"
    _buttons: dict[int, tuple[Button, str]] = field(default_factory=dict)
    """Number as shown → button, and the message it hangs on."""
    _texts: dict[str, str] = field(default_factory=dict)
    """Messages with buttons, to show only what an edit adds."""
    _ready: asyncio.Event = field(default_factory=asyncio.Event)

    def render(self, markdown: str) -> list[Body]:
        return [{"text": ESCAPED.sub(r"\1", markdown)}]

    async def start(self) -> str:
        return "this terminal"

    async def run(self, receive: Receive, cursors: Mapping[str, str]) -> None:
        """Until the end of the input."""
        lines: asyncio.Queue[str] = asyncio.Queue()
        loop = asyncio.get_running_loop()
        # A thread that nobody waits for: a blocked read of a terminal cannot be cancelled.
        reader = threading.Thread(target=self._read, args=(loop, lines), daemon=True)
        reader.start()
        self._ready.set()
        if self.input.isatty():
            print(HELLO, file=self.output)
        self._prompt()
        while line := await lines.get():
            update = self._update(clean(line.strip()))
            if update is not None:
                await receive(update)
            self._prompt()
        if self.input.isatty():
            print(file=self.output)

    async def wait_ready(self) -> None:
        await self._ready.wait()

    async def deliver(self, outgoing: Outgoing) -> str | None:
        match outgoing:
            case Post(_, body, buttons):
                return self._post(body["text"], buttons)
            case Edit(_, message_id, body):
                self._edit(message_id, body["text"])
            case Acknowledge(_, text) if text:
                self._print(f"({text})")
            case Acknowledge() | Typing():
                pass
        return None

    async def close(self) -> None:
        """Nothing is held open."""

    def _read(self, loop: asyncio.AbstractEventLoop, lines: "asyncio.Queue[str]") -> None:
        line = "-"
        while line:
            line = self.input.readline()
            if loop.is_closed():
                return
            loop.call_soon_threadsafe(lines.put_nowait, line)

    def _update(self, line: str) -> Update | None:
        if not line:
            return None
        unique = uuid.uuid4().hex
        if line.isdigit() and int(line) in self._buttons:
            button, message_id = self._buttons[int(line)]
            key = f"terminal:press:{unique}"
            return Press(key, CONVERSATION, PERSON, button.token, message_id, handle=unique)
        return Message(
            f"terminal:local:{unique}", CONVERSATION, PERSON, line, message_id=unique, private=True
        )

    def _post(self, text: str, buttons: tuple[Button, ...]) -> str:
        message_id = uuid.uuid4().hex
        lines = [text]
        for number, button in enumerate(buttons, start=max(self._buttons, default=0) + 1):
            self._buttons[number] = (button, message_id)
            lines.append(f"  [{number}] {button.label}")
        if buttons:
            self._texts[message_id] = text
            lines.append("  (type a number to choose)")
        self._print("\n".join(lines))
        return message_id

    def _edit(self, message_id: str, text: str) -> None:
        """A terminal cannot change what stands above: show what the edit adds."""
        before = self._texts.pop(message_id, None)
        if before is None:
            return  # from a process that was here before: nothing of it is in sight
        gone = [number for number, (_, owner) in self._buttons.items() if owner == message_id]
        for number in gone:
            del self._buttons[number]
        self._print(text.removeprefix(before).strip())

    def _print(self, text: str) -> None:
        start = "\r" if self.input.isatty() else ""
        lines = text.splitlines() or [""]
        print(
            f"{start}bough> {lines[0]}",
            *(f"       {line}".rstrip() for line in lines[1:]),
            sep="\n",
            file=self.output,
            flush=True,
        )
        self._prompt()

    def _prompt(self) -> None:
        if self.input.isatty():
            print(PROMPT, end="", file=self.output, flush=True)
