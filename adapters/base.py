"""The seam to a platform: what goes out, and what an adapter must do.

An adapter is thin: pure `normalize` and `render`, and I/O. It keeps nothing and decides nothing.
"""

from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from adapters.events import Conversation, Update, User

Body = dict[str, Any]
"""One platform message, rendered: what the adapter itself made of Markdown. Plain JSON, because it
is stored between rendering and sending. Every body has "text", the plain form of it."""

_JPEG = b"\xff\xd8\xff"
"""How one begins."""


@dataclass(frozen=True, slots=True)
class Button:
    label: str
    token: str
    """At most 64 bytes of ASCII; comes back in Press.token."""
    style: str = "plain"
    """"plain", "primary" or "danger"."""
    beside: bool = False
    """On the same row as the button before it, where the row has room."""
    asks: bool = False
    """For words: a platform that has forms gives them with the press, any other a press without."""


@dataclass(frozen=True, slots=True)
class Upload:
    """A file that goes out."""

    name: str
    data: bytes = field(repr=False)
    picture: bool = False
    """Shown as a picture, not as a document. Then it is a PNG or a JPEG."""

    @property
    def media_type(self) -> str:
        if not self.picture:
            return "application/octet-stream"
        return "image/jpeg" if self.data.startswith(_JPEG) else "image/png"


@dataclass(frozen=True, slots=True)
class Post:
    """A new message."""

    conversation: Conversation
    body: Body
    buttons: tuple[Button, ...] = ()
    nonce: str = ""
    """The same for every attempt to send the same message; at most 25 characters."""
    reply_to: str = ""
    """Message id it answers, shown as a reply where that is not obvious; "" for none."""
    handle: str = ""
    """Handle of the event it answers, where there is one."""
    upload: Upload | None = None
    """A file to go with it; the body is its caption, and at most 1,000 characters."""
    plain: bool = False
    """Send the body's text without any markup: the rendered form was refused."""
    asks: User | None = None
    """Of whom an answer is wanted, as a reply to this very message."""


@dataclass(frozen=True, slots=True)
class Edit:
    """A message of ours, changed. Without buttons, buttons that were there go. A file stays."""

    conversation: Conversation
    message_id: str
    body: Body
    buttons: tuple[Button, ...] = ()
    plain: bool = False
    handle: str = ""
    """Handle of the press that it answers, where only that leads to the message."""
    fleeting: bool = False
    """One of many, soon outdated: not shown where nothing can be changed in place."""


@dataclass(frozen=True, slots=True)
class Draft:
    """The beginning of a message of ours that is still being written; the platform shows it for a
    while, and forgets it. Refused where it has no such thing."""

    conversation: Conversation
    key: int
    """Of the message: the next draft with it takes the place of the one before. Not 0."""
    body: Body


@dataclass(frozen=True, slots=True)
class Typing:
    conversation: Conversation


@dataclass(frozen=True, slots=True)
class Acknowledge:
    """Tell the platform that a press arrived; with text, tell the presser, and only the presser."""

    handle: str
    text: str = ""
    """Markdown, of which no more is shown than one short message holds."""


@dataclass(frozen=True, slots=True)
class OpenThread:
    """A thread that hangs on a message becomes a conversation. Twice is once."""

    conversation: Conversation
    """What it will be."""
    channel: Conversation
    message_id: str
    name: str
    """What it is called; untrusted text."""


@dataclass(frozen=True, slots=True)
class Choice:
    """What could stand in a command's option."""

    label: str
    """What people read."""
    value: str
    """What stands there then."""


@dataclass(frozen=True, slots=True)
class Suggest:
    """The answer to a Completion, for who types alone."""

    handle: str
    choices: tuple[Choice, ...]


@dataclass(frozen=True, slots=True)
class Menu:
    """A private chat's menu shows an owner's commands, or from now on those of everybody. Nothing
    is done where menus are the same for all."""

    conversation: Conversation
    owner: bool


MOST_CHOICES = 25
LONGEST_CHOICE = 100
"""Characters of a label or a value."""

Outgoing = Post | Edit | Draft | Typing | Acknowledge | OpenThread | Suggest | Menu


@dataclass(frozen=True, slots=True)
class CommandSpec:
    """A chat command as the platform's menu shows it."""

    name: str
    description: str
    argument: str = ""
    """Name of its optional argument; "" where it takes none."""
    file: bool = False
    """Takes a file as well."""
    owner: bool = False
    """For owners alone: shown in their menus, and taken from them only."""
    group: str = ""
    """The heading that it stands under where commands are listed."""
    details: str = ""
    """Markdown: what it does in full, with examples."""
    discreet: bool = False
    """Its answer is for who asked alone, where the platform can show it so."""
    completes: bool = False
    """There is something to choose its argument from: see Completion."""
    on_message: str = ""
    """What it is called where it is given on a message, by the message's own menu; "" where it is
    not."""
    asks: bool = False
    """Given on a message, it asks for its argument first."""
    private: bool = False
    """For private chats alone: shown in no group's menu."""
    rights: bool = False
    """It may change who may talk, so what comes after it waits until it is done."""


Receive = Callable[[Update], Awaitable[None]]
"""Returns once the update is committed; only then may the platform hear that we have it."""


class Renderer(Protocol):
    """How a platform shows text. Pure and without a connection, so that what is said there may be
    written where the platform is not connected."""

    numbers_buttons: bool
    """Every button stands under a number of the adapter's own, and no label is cut."""

    def label(self, text: str) -> str:
        """What a button shows of a label: as much as fits, with an ellipsis where it is cut. A
        label that was made so stays as it is."""
        ...

    def render(self, markdown: str) -> list[Body]:
        """Markdown as the platform shows it, in as many messages as its limits need. Never empty
        for text that is not blank, never a message over the limit."""
        ...


class Adapter(Renderer, Protocol):
    name: str
    """The platform, as in addresses."""

    async def start(self) -> str:
        """Check the credentials; return who the bot is, for people. From now on it can send and
        fetch. Nothing is received and nothing is changed there, so any number of processes may.

        Misconfigured where the credentials are wrong; Unavailable where the platform is not there.
        """
        ...

    @property
    def feeds(self) -> tuple[str, ...]:
        """Once started: what there is to receive from, each of which one process holds at a time.
        None where any number of processes may receive side by side."""
        ...

    async def prepare(self, feeds: Collection[str]) -> None:
        """Before `run`, which then receives from these feeds: register commands and menus. Raises
        as `start` does."""
        ...

    async def run(self, receive: Receive, cursors: Mapping[str, str]) -> None:
        """Receive until cancelled. Outages of the platform are waited out, not raised.

        `cursors`: address → cursor of the last arrival, for platforms that replay nothing.
        """
        ...

    async def wait_ready(self) -> None:
        """Return once updates are being received."""
        ...

    async def deliver(self, outgoing: Outgoing) -> str | None:
        """Carry it out; a message's id for Post, else None. Raises an AdapterError."""
        ...

    async def fetch(self, ref: str, limit: int) -> bytes:
        """The content of a File by its `ref`. Refused where it is not there any more or has more
        than `limit` bytes. Raises an AdapterError."""
        ...

    async def close(self) -> None: ...


class AdapterError(Exception):
    """Base of what an adapter raises."""


class Throttled(AdapterError):
    """Too fast. Nothing was sent."""

    def __init__(self, retry_after: float, *, everywhere: bool = False) -> None:
        """`everywhere`: not in this conversation alone."""
        super().__init__(f"the platform asks to wait {retry_after:g} s")
        self.retry_after = retry_after
        self.everywhere = everywhere


class Unavailable(AdapterError):
    """Connection cut, time-out or 5xx: whether it was done is not known. Try again."""


class Refused(AdapterError):
    """The platform will never take this message as it is (400)."""


class Unreachable(AdapterError):
    """The platform will never take any message for this conversation (blocked, kicked, gone)."""


class Stopping(AdapterError):
    """Nothing more is taken in: the process comes to its end, and whatever platform this came from
    keeps it for the next one."""


class Misconfigured(AdapterError):
    """Wrong token, missing permission. The text says what to do."""


Commands = Sequence[CommandSpec]
