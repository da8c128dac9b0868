"""What comes in from a platform, in one vocabulary for all of them. Nothing here does I/O."""

from dataclasses import dataclass, fields, is_dataclass, replace
from typing import Any, Literal, TypeVar, cast

from adapters.cleaning import clean


@dataclass(frozen=True, slots=True)
class Conversation:
    """A chat, or one topic of a chat. Written "platform:chat" or "platform:chat/thread"."""

    platform: str
    chat: str
    thread: str = ""

    @property
    def address(self) -> str:
        return f"{self.platform}:{self.chat}" + (f"/{self.thread}" if self.thread else "")

    @staticmethod
    def parse(address: str) -> "Conversation":
        """ValueError where it is not an address."""
        platform, colon, rest = address.partition(":")
        chat, _, thread = rest.partition("/")
        if not (platform and colon and chat):
            raise ValueError(f"{address!r} is not an address like telegram:1001 or discord:42")
        return Conversation(platform, chat, thread)


@dataclass(frozen=True, slots=True)
class User:
    platform: str
    id: str
    name: str
    """What people call them: `display_name` of an untrusted text."""

    @property
    def identity(self) -> str:
        return f"{self.platform}:{self.id}"


@dataclass(frozen=True, slots=True)
class File:
    """A file that came with a message."""

    ref: str
    """What the adapter needs to fetch it; means nothing elsewhere, and may go stale."""
    name: str
    """As its sender called it; untrusted text."""
    size: int
    """Bytes, as the platform says; 0 where it does not."""
    kind: str = "document"
    """"document", "photo", "voice", "audio", "video", "video_note", "animation", "sticker"."""
    media_type: str = ""
    """As the platform says, "image/png"; "" where it does not. Untrusted."""
    seconds: float = 0.0
    """How long it plays; 0 where it does not, or nobody says."""


@dataclass(frozen=True, slots=True)
class Message:
    """Something a person said: in private, or in a group, where it may be `addressed` to the bot by
    mention, reply or command.

    normalize gives None for group talk that is addressed to somebody else.
    """

    key: str
    """Names the platform's message for ever ("telegram:100:7"), so that twice is once. The
    message's own key, an edit's being "{that key}:edit:{when}"."""
    conversation: Conversation
    user: User
    text: str
    """Without the mention of the bot; commands as "/name words", whatever the platform does.
    No NUL, no lone surrogates."""
    message_id: str
    private: bool
    """Nobody but this person and the bot reads the conversation."""
    quoted: str = ""
    """Text of the message it replies to, where that is not the bot's own."""
    attachments: tuple[str, ...] = ()
    """Kinds of what came with it that is not text: "photo", "voice" …"""
    handle: str = ""
    """What the platform needs to answer this very event (a Discord interaction); else ""."""
    reply_to: str = ""
    """Id of the message it replies to; "" for none."""
    files: tuple[File, ...] = ()
    """Those that came with it, or with the message it replies to."""
    reply_token: str = ""
    """Token of a button of the message it replies to, where that is the bot's and has any."""
    album: str = ""
    """The same for all messages that were sent together as one; "" for none."""
    addressed: bool = True
    """It is said to the bot. In a group, what is not is answered only where all talk is."""
    sent: float = 0.0
    """When it was sent, in Unix seconds, as the platform says; 0 where it does not."""
    quoted_from: str = ""
    """Name of who said what it replies to, where that is not the bot: `display_name`."""
    channel: str = ""
    """Address of the channel that the conversation is a thread of; "" where the address says that
    itself, or it is none."""
    about: str = ""
    """Of a command: id of the message that it was given on; "" for none."""
    kind: Literal["message", "edit"] = "message"
    """An edit is a message that was there before, with its text as it is now."""


@dataclass(frozen=True, slots=True)
class Press:
    """A person pressed a button. Token and conversation are untrusted."""

    key: str
    conversation: Conversation
    user: User
    token: str
    message_id: str
    """The message the button hangs on."""
    handle: str
    """What the platform needs to acknowledge this press."""
    words: str = ""
    """What the person wrote, where the button asks for it in a form."""
    aside: bool = False
    """Only the presser sees the message: only this press leads to it."""
    kind: Literal["press"] = "press"


@dataclass(frozen=True, slots=True)
class Completion:
    """Somebody is typing a command's option, and wants to know what could stand there. It is
    answered now or not at all, so it is not stored."""

    key: str
    conversation: Conversation
    user: User
    command: str
    """Its name, without the slash."""
    typed: str
    """What stands there so far; untrusted."""
    handle: str
    private: bool
    """Nobody but this person and the bot reads the conversation."""
    kind: Literal["completion"] = "completion"


NOWHERE = "unknown"
"""The chat of what does not say where it was said."""


@dataclass(frozen=True, slots=True)
class Unreadable:
    """Something that came and cannot be read. It is put on record, once, and passed over."""

    key: str
    """Names it for ever, so that twice is once. It begins with the platform, and is not the key of
    the message it may be: an edit that can be read makes that one a new message."""
    conversation: Conversation
    """Where it was said; where not even that can be read, NOWHERE is its chat."""
    message_id: str
    """Id of the message up to which the conversation is read with it; "" for none."""
    why: str
    """For who looks after the bot; bounded, and untrusted text."""
    kind: Literal["unreadable"] = "unreadable"


Stored = Message | Press | Unreadable
"""What is committed before its platform hears that we have it."""
Update = Stored | Completion


Cleaned = TypeVar("Cleaned")


def cleaned(update: Cleaned) -> Cleaned:
    """The same update, every string in it as every database and encoder takes it: its texts by
    `clean`, its ids so that two that differ still differ. Cleaning again changes nothing."""
    return cast(Cleaned, _cleaned(update, "text"))


def _cleaned(value: Any, field: str) -> Any:
    if isinstance(value, str):
        return clean(value) if field in _TEXTS else _clean_id(value)
    if isinstance(value, tuple):
        return tuple(_cleaned(each, field) for each in value)
    if not is_dataclass(value) or isinstance(value, type):
        return value
    before = {each.name: getattr(value, each.name) for each in fields(value)}
    after = {name: _cleaned(each, name) for name, each in before.items()}
    return value if after == before else replace(value, **after)


_TEXTS = ("text", "name", "quoted", "quoted_from", "words", "typed")
"""Fields that people read. What stands in the others names something."""


def _clean_id(text: str) -> str:
    """U+FFFD and the number of what stood there: no platform gives ids like that, no token of ours
    is like that, so it is nobody else's."""
    if clean(text) == text:
        return text
    return "".join(c if clean(c) == c else f"�{ord(c):04x}" for c in text)
