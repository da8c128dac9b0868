"""A chat in this terminal: lines in, messages out, and a number for every button."""

import asyncio
import re
import uuid
from collections.abc import Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field
from pathlib import PurePath
from typing import assert_never

from adapters.base import (
    Acknowledge,
    Body,
    Button,
    CommandSpec,
    Edit,
    Outgoing,
    Post,
    Receive,
    Typing,
)
from adapters.events import Conversation, File, Message, Press, Update, User, clean
from adapters.terminal.files import load, save
from adapters.terminal.plain import PlainScreen
from adapters.terminal.screen import Numbered, Screen

CONVERSATION = Conversation("terminal", "local")
PERSON = User("terminal", "local", "you")
ESCAPED = re.compile(r"(`+)(?!`)[^`\n]+\1(?!`)|\\([\\`*_{}\[\]()<>#+\-.!|~@])")
"""Code, in which nothing is escaped, or a character that is."""
COMMAND = re.compile(r"/(\w+)\s+(\S.*)")


@dataclass
class TerminalAdapter:
    screen: Screen = field(default_factory=PlainScreen)
    commands: Sequence[CommandSpec] = ()
    name: str = "terminal"
    numbers_buttons: bool = True
    _buttons: dict[int, tuple[Button, str]] = field(default_factory=dict)
    """Number as shown → button, and the message it hangs on."""
    _ready: asyncio.Event = field(default_factory=asyncio.Event)

    def label(self, text: str) -> str:
        return " ".join(clean(text).split())

    def render(self, markdown: str) -> list[Body]:
        return [{"text": _plain(markdown), "markdown": markdown}]

    async def start(self) -> str:
        return "this terminal"

    async def run(self, receive: Receive, cursors: Mapping[str, str]) -> None:
        """Until the end of the input."""
        self._ready.set()
        async with aclosing(self.screen.lines()) as lines:
            async for line in lines:
                update = self._update(clean(line.strip()))
                if update is not None:
                    await receive(update)

    async def wait_ready(self) -> None:
        await self._ready.wait()

    async def deliver(self, outgoing: Outgoing) -> str | None:
        match outgoing:
            case Post():
                return await self._post(outgoing)
            case Edit(_, message_id, body, buttons, fleeting=fleeting):
                numbered = self._number(message_id, buttons)
                self.screen.edit(message_id, body, numbered, fleeting=fleeting)
            case Acknowledge(_, text):
                if text:
                    self.screen.note(f"({_plain(text)})")
            case Typing():
                pass
            case _:
                assert_never(outgoing)
        return None

    async def fetch(self, ref: str, limit: int) -> bytes:
        return await asyncio.to_thread(load, ref, limit)

    async def close(self) -> None:
        """Nothing is held open."""

    def _update(self, line: str) -> Update | None:
        if not line:
            return None
        unique = uuid.uuid4().hex
        if line.isdecimal() and int(line) in self._buttons:
            button, message_id = self._buttons[int(line)]
            key = f"terminal:press:{unique}"
            return Press(key, CONVERSATION, PERSON, button.token, message_id, handle=unique)
        return Message(
            f"terminal:local:{unique}",
            CONVERSATION,
            PERSON,
            line,
            message_id=unique,
            private=True,
            files=self._files(line),
        )

    def _files(self, line: str) -> tuple[File, ...]:
        """The file that a command names, where it is one that takes a file."""
        found = COMMAND.fullmatch(line)
        takes_file = {spec.name for spec in self.commands if spec.file}
        if found is None or found[1].lower() not in takes_file:
            return ()
        return (File(found[2], PurePath(found[2]).name, size=0),)

    async def _post(self, post: Post) -> str:
        body = post.body
        if post.upload is not None:
            path = await asyncio.to_thread(save, post.upload)
            said = f"{body['text']}\n(saved as {path})".strip()
            body = {"text": said}
        message_id = uuid.uuid4().hex
        self.screen.post(message_id, body, self._number(message_id, post.buttons))
        return message_id

    def _number(self, message_id: str, buttons: Sequence[Button]) -> list[Numbered]:
        """Numbers for a message's buttons. A number means the same for as long as its message has
        buttons: somebody may be typing it."""
        mine = {n: button for n, (button, owner) in self._buttons.items() if owner == message_id}
        if not buttons:
            for number in mine:
                del self._buttons[number]
        numbers = {button.token: number for number, button in mine.items()}
        numbered = []
        for button in buttons:
            number = numbers.get(button.token) or max(self._buttons, default=0) + 1
            self._buttons[number] = (button, message_id)
            numbered.append(Numbered(number, button))
        return numbered


def _plain(markdown: str) -> str:
    return ESCAPED.sub(lambda found: found[2] or found[0], markdown)
