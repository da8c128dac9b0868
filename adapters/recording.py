"""An adapter without a platform: it records what goes out and is told what comes in.

It ships with the package: tests, benches and whoever embeds Bough talk to a gateway through it.
"""

import asyncio
import itertools
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, replace

from adapters.base import (
    Acknowledge,
    Body,
    Button,
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
    Upload,
)
from adapters.events import Conversation, File, Message, Press, User


@dataclass(slots=True)
class Shown:
    """A message as the conversation shows it now."""

    id: str
    conversation: Conversation
    text: str
    buttons: tuple[Button, ...]
    upload: Upload | None = None


@dataclass
class RecordingAdapter:
    name: str = "recording"
    limit: int = 4000
    """Characters in a message."""
    longest_label: int = 100
    """Characters on a button."""
    numbers_buttons: bool = False
    before_delivery: Callable[[Outgoing], None] | None = None
    """Called with everything that is about to go out; may raise an AdapterError."""
    outgoing: list[Outgoing] = field(default_factory=list)
    shown: dict[str, Shown] = field(default_factory=dict)
    contents: dict[str, bytes] = field(default_factory=dict)
    """What people sent, by the `ref` of its File."""
    _ids: "itertools.count[int]" = field(default_factory=lambda: itertools.count(1))
    _keys: "itertools.count[int]" = field(default_factory=lambda: itertools.count(1))
    _receive: Receive | None = None
    _ready: asyncio.Event = field(default_factory=asyncio.Event)
    _changed: asyncio.Condition = field(default_factory=asyncio.Condition)

    def label(self, text: str) -> str:
        return text if len(text) <= self.longest_label else f"{text[: self.longest_label - 1]}…"

    def render(self, markdown: str) -> list[Body]:
        starts = range(0, len(markdown), self.limit)
        return [{"text": markdown[start : start + self.limit]} for start in starts]

    async def start(self) -> str:
        return "a recording"

    @property
    def feeds(self) -> tuple[str, ...]:
        return (f"poll:{self.name}",)

    async def prepare(self, feeds: Collection[str]) -> None:
        """There is nothing to be told beforehand."""

    async def run(self, receive: Receive, cursors: Mapping[str, str]) -> None:
        self._receive = receive
        self._ready.set()
        await asyncio.Event().wait()

    async def wait_ready(self) -> None:
        await self._ready.wait()

    async def deliver(self, outgoing: Outgoing) -> str | None:
        if self.before_delivery is not None:
            self.before_delivery(outgoing)
        self.outgoing.append(outgoing)
        message_id = self._show(outgoing)
        async with self._changed:
            self._changed.notify_all()
        return message_id

    async def fetch(self, ref: str, limit: int) -> bytes:
        content = self.contents.get(ref)
        if content is None:
            raise Refused("the file is not there any more: send it again")
        if len(content) > limit:
            raise Refused(f"the file has {len(content)} bytes, and at most {limit} are taken")
        return content

    async def close(self) -> None:
        """Nothing is held open."""

    async def say(
        self,
        text: str,
        *,
        chat: str = "1",
        user: str = "1",
        private: bool = True,
        key: str = "",
        reply_to: str = "",
        files: Mapping[str, bytes] | None = None,
        album: str = "",
    ) -> Message:
        """A person writes; returns once the gateway has it. `files`: documents by name;
        `reply_to`: a message's id; `album`: what several messages belong to."""
        message_id = str(next(self._keys))
        message = Message(
            key=key or f"{self.name}:{chat}:{message_id}",
            conversation=Conversation(self.name, chat),
            user=User(self.name, user, f"User {user}"),
            text=text,
            message_id=message_id,
            private=private,
            attachments=("document",) if files else (),
            reply_to=reply_to,
            files=tuple(self._keep(name, content) for name, content in (files or {}).items()),
            album=album,
        )
        await self._deliver_in(message)
        return message

    async def edit(self, message: Message, text: str) -> Message:
        """The person changes what they wrote; returns once the gateway has it. May be given an
        edit, too."""
        key, _, _ = message.key.partition(":edit:")
        edited = replace(message, key=f"{key}:edit:{next(self._keys)}", text=text, kind="edit")
        await self._deliver_in(edited)
        return edited

    async def press(self, shown: Shown, label: str, *, user: str = "1", words: str = "") -> Press:
        """A person presses the button with that label; returns once the gateway has it. `words`:
        what they write into its form."""
        button = next(button for button in shown.buttons if button.label == label)
        number = next(self._keys)
        press = Press(
            key=f"{self.name}:press:{number}",
            conversation=shown.conversation,
            user=User(self.name, user, f"User {user}"),
            token=button.token,
            message_id=shown.id,
            handle=str(number),
            words=words,
        )
        await self._deliver_in(press)
        return press

    async def wait_for(self, found: Callable[[list[Shown]], bool]) -> list[Shown]:
        """Return what is shown as soon as `found` holds of it."""
        async with self._changed:
            await self._changed.wait_for(lambda: found(list(self.shown.values())))
        return list(self.shown.values())

    def texts(self, chat: str = "1") -> list[str]:
        """What the bot shows in a chat, oldest first."""
        return [s.text for s in self.shown.values() if s.conversation.chat == chat]

    async def _deliver_in(self, update: Message | Press) -> None:
        await self._ready.wait()
        assert self._receive is not None
        await self._receive(update)

    def _keep(self, name: str, content: bytes) -> File:
        ref = f"file-{len(self.contents) + 1}"
        self.contents[ref] = content
        return File(ref, name, len(content))

    def _show(self, outgoing: Outgoing) -> str | None:
        match outgoing:
            case Post(conversation, body, buttons, upload=upload):
                message_id = f"m{next(self._ids)}"
                shown = Shown(message_id, conversation, body["text"], buttons, upload)
                self.shown[message_id] = shown
                return message_id
            case Edit(_, message_id, body, buttons):
                self.shown[message_id].text = body["text"]
                self.shown[message_id].buttons = buttons
            case Draft() | Typing() | Acknowledge() | OpenThread() | Suggest() | Menu():
                pass
        return None
