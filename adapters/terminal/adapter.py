"""A chat in this terminal: lines in, messages out, and a number for every button.

A line that is nothing but "#" and a number presses that button; all else is talk. So what a person
says to the model never presses anything by accident.
"""

import asyncio
import re
import uuid
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field
from pathlib import PurePath
from typing import assert_never

from adapters.base import (
    Acknowledge,
    Body,
    Button,
    CommandSpec,
    Draft,
    Edit,
    Menu,
    OpenThread,
    Outgoing,
    Post,
    Receive,
    Refused,
    Suggest,
    Typing,
)
from adapters.cleaning import clean
from adapters.events import Conversation, File, Message, Press, Update, User
from adapters.terminal.files import load, save
from adapters.terminal.plain_screen import PlainScreen
from adapters.terminal.screen import Numbered, Screen

CONVERSATION = Conversation("terminal", "local")
PERSON = User("terminal", "local", "you")
ESCAPED = re.compile(r"(`+)(?!`)[^`\n]+\1(?!`)|\\([\\`*_{}\[\]()<>#+\-.!|~@])")
"""Code, in which nothing is escaped, or a character that is."""
COMMAND = re.compile(r"/(\w+)\s+(\S.*)")
NUMBER = re.compile(r"(#?)([0-9]{1,9})")
COMMANDED = re.compile(r"/\w|#[0-9]{1,9}\Z")
"""What is no answer where one is asked for."""
NO_BUTTON = "(there is no button #{0}; nothing was pressed or sent. /questions shows what is open)"
ASK = "(type your answer and press Enter; an empty line or a command: no answer)"
NO_ANSWER = "(nothing was answered)"
TALK = "({0} was sent as a message; #{0} presses the button)"


@dataclass(frozen=True, slots=True)
class Reopened:
    """The conversation that goes on in this terminal."""

    text: str
    """Markdown: where it is."""
    said: Sequence[str] = ()
    """What the person said last, oldest first."""


@dataclass
class TerminalAdapter:
    screen: Screen = field(default_factory=PlainScreen)
    commands: Sequence[CommandSpec] = ()
    name: str = "terminal"
    numbers_buttons: bool = True
    reopen: Callable[[], Awaitable[Reopened | None]] | None = None
    """What somebody who comes back is told."""
    _buttons: dict[int, tuple[Button, str]] = field(default_factory=dict)
    """Number as shown → button, and the message it hangs on."""
    _highest: int = 0
    """No number means a second button: somebody may be typing it while the first one goes."""
    _newest: str = ""
    """Id of the message that was posted last."""
    _asking: int | None = None
    """Number of the button for which the next line is the words."""
    _ready: asyncio.Event = field(default_factory=asyncio.Event)

    def label(self, text: str) -> str:
        return " ".join(clean(text).split())

    def render(self, markdown: str) -> list[Body]:
        return [{"text": _plain(markdown), "markdown": markdown}]

    async def start(self) -> str:
        if self.screen.personal:
            reopened = await self.reopen() if self.reopen is not None else None
            self.screen.open(reopened.said if reopened is not None else ())
            if reopened is not None:
                (body,) = self.render(reopened.text)
                self.screen.post(uuid.uuid4().hex, body, ())
        return "this terminal"

    @property
    def feeds(self) -> tuple[str, ...]:
        return ()

    async def prepare(self, feeds: Collection[str]) -> None:
        """There is nothing to be told beforehand."""

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
            case Draft():
                raise Refused("a terminal has no drafts")
            case Typing():
                self.screen.busy()
            case Menu():
                pass  # there is one person, and they own the bot
            case OpenThread() | Suggest():
                raise Refused("a terminal has no threads, and no options to choose from")
            case _:
                assert_never(outgoing)
        return None

    async def fetch(self, ref: str, limit: int) -> bytes:
        return await asyncio.to_thread(load, ref, limit)

    async def close(self) -> None:
        """Nothing is held open."""

    def _update(self, line: str) -> Update | None:
        asking, self._asking = self._asking, None
        unique = uuid.uuid4().hex
        if asking is not None:
            if line and not COMMANDED.match(line):
                return self._press(asking, unique, words=line)
            self.screen.note(NO_ANSWER)
        if not line:
            return None
        if found := NUMBER.fullmatch(line):
            number = int(found[2])
            if found[1]:
                return self._press(number, unique)
            if number in self._buttons and self._buttons[number][1] == self._newest:
                self.screen.note(TALK.format(number))
        return Message(
            f"terminal:local:{unique}",
            CONVERSATION,
            PERSON,
            line,
            message_id=unique,
            private=True,
            files=self._files(line),
        )

    def _press(self, number: int, unique: str, words: str = "") -> Press | None:
        if number not in self._buttons:
            self.screen.note(NO_BUTTON.format(number))
            return None
        button, message_id = self._buttons[number]
        if button.asks and not words:
            self._asking = number
            self.screen.note(ASK)
            return None
        key = f"terminal:press:{unique}"
        return Press(key, CONVERSATION, PERSON, button.token, message_id, unique, words)

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
        self._newest = message_id = uuid.uuid4().hex
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
            if button.token not in numbers:
                self._highest += 1
            number = numbers.get(button.token, self._highest)
            self._buttons[number] = (button, message_id)
            numbered.append(Numbered(number, button))
        return numbered


def _plain(markdown: str) -> str:
    return ESCAPED.sub(lambda found: found[2] or found[0], markdown)
