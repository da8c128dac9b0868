"""Rows of the inbox and the outbox: what came in and is not finished, what must go out.

An update is in the inbox before its platform hears that we have it; a message is in the outbox
before it is sent, one row per platform message. Addresses are "platform:chat" or
"platform:chat/thread".
"""

from dataclasses import dataclass, field
from enum import StrEnum

from storage.records.entries import Json
from storage.traces import trace_in, trace_of_key


class InboxKind(StrEnum):
    """What an inbox row is, and with it the class of its payload: of the first four the adapters'
    update, of the next three Resume or DelegationRow, of EVENT Event, of the last seven what a
    command leaves to be done (gateway.turns.requests)."""

    MESSAGE = "message"
    EDIT = "edit"
    PRESS = "press"
    UNREADABLE = "unreadable"

    RESUME = "resume"
    RESULT = "result"
    BACKGROUND = "background"

    EVENT = "event"

    RETRY = "retry"
    FAN = "fan"
    COMPACT = "compact"
    SUMMARY = "summary"
    LEAVE = "leave"
    FORK = "fork"
    MODEL = "model"


@dataclass(frozen=True, slots=True)
class Resume:
    """A question was closed: what waited for it goes on."""

    question: int
    asked: str = ""
    """The trace that asked; "" where that is not known."""


@dataclass(frozen=True, slots=True)
class DelegationRow:
    """A delegation goes on in the background (kind background), or has a result from there (kind
    result)."""

    delegation: int


@dataclass(frozen=True, slots=True)
class Event:
    """Something happened that the agent is to hear of and answer: a command ended, a time came. The
    turn that answers it waits for one that runs, and no talk is answered with it."""

    title: str
    """What happened, in a few words of ours."""
    text: str
    """What the model reads; untrusted."""
    person: str
    """Identity of who wanted to know; "" for nobody."""
    private: bool
    """Whether nobody but this person and the bot reads the conversation."""
    about: str = ""
    """What people read of it where the agent cannot answer it; untrusted."""
    standing: bool = False
    """A person wanted it beforehand, as a schedule: it is their word, said now."""


class InboxState(StrEnum):
    OPEN = "open"
    DONE = "done"
    FAILED = "failed"
    """Given up: it failed each time it was tried."""


@dataclass(frozen=True, slots=True)
class Arrival:
    """Something to be worked on: an update of a platform, or a wake-up of our own."""

    key: str
    """Unique for ever: the second arrival with a key is not stored."""
    kind: InboxKind
    address: str
    payload: Json
    session: int | None = None
    cursor: str | None = None
    """The platform's own mark of how far this conversation was read, kept with the conversation."""


def person_of(payload: Json) -> str:
    """Identity of whose a row of the inbox is; "" for nobody's."""
    user = payload.get("user")
    if isinstance(user, dict):
        return f"{user.get('platform')}:{user.get('id')}"
    person = payload.get("person")
    return person if isinstance(person, str) else ""


def name_of(payload: Json) -> str:
    """What they call themselves; "" where that is not said."""
    user = payload.get("user")
    return str(user.get("name") or "") if isinstance(user, dict) else ""


@dataclass(frozen=True, slots=True)
class InboxRow:
    id: int
    key: str
    kind: InboxKind
    address: str
    payload: Json
    """Empty once it is done, unless it is held."""
    session: int | None
    """The session whose turn answers it; None until it is routed."""
    entry: int | None
    """The entry it became; None until it is appended."""
    state: InboxState
    time: float

    @property
    def trace(self) -> str:
        """The one that it came with, or one of its own."""
        return trace_in(self.payload) or trace_of_key(self.key)


class OutboxState(StrEnum):
    PENDING = "pending"
    SENT = "sent"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class Thread:
    """A conversation that is a thread of a channel."""

    channel: str
    """Its address."""
    opened: bool = False
    """The bot opens it, for a question: all that is said there is said to the bot."""
    refused: bool = False
    """The bot may not open it: what is said there goes to the channel, as a reply to the message
    by which the thread is called."""


@dataclass(frozen=True, slots=True)
class StoredFile:
    """A file on its way out. A parcel's payload names it: {"file": id}."""

    name: str
    data: bytes = field(repr=False)
    picture: bool = False
    """Shown as a picture, not as a document. Then it is a PNG or a JPEG."""


@dataclass(frozen=True, slots=True)
class OutboxDraft:
    """A platform message that is not stored yet."""

    address: str
    kind: str
    """"post", "edit" or "thread"."""
    payload: Json
    entry: int | None = None
    """The entry this message shows, for message links."""
    edits: int | None = None
    """For an edit: the outbox row whose platform message it changes."""
    file: StoredFile | None = None
    """A file that is not kept yet: it is, with the parcel."""


@dataclass(frozen=True, slots=True)
class OutboxRow:
    id: int
    address: str
    kind: str
    payload: Json
    """Empty once it is sent, unless something hangs on the message: see Outbox.sent."""
    entry: int | None
    edits: int | None
    state: OutboxState
    message_id: str | None
    """The platform's id of the message, once sent."""
    error: str
    time: float

    @property
    def trace(self) -> str:
        """The one that it answers; "" where it answers nothing."""
        return trace_in(self.payload)
