"""What commands leave to a session's lane: the payload of each kind of row, which is the command's
message with what it asks for."""

from collections.abc import Callable
from dataclasses import asdict, dataclass, fields
from functools import cache
from typing import Annotated, Any, TypeVar

from pydantic import BeforeValidator, TypeAdapter

from adapters.events import Message
from gateway.outbound.buttons import MenuItem
from storage.records.buttons import from_subject
from storage.records.entries import Json
from storage.records.inbox_outbox import InboxRow

M = TypeVar("M", bound=Message)

_adapter: Callable[[object], TypeAdapter[Any]] = cache(TypeAdapter)


def _item(stored: Any) -> Any:
    """A button as it is kept now; versions until 2026-11 kept a command line and its subject."""
    if isinstance(stored, dict) and "command" in stored:
        rest = {key: stored[key] for key in stored.keys() - {"command", "subject"}}
        return {**rest, "does": from_subject(stored["command"], stored.get("subject", {}))}
    return stored


@dataclass(frozen=True, slots=True, kw_only=True)
class RetryRequest(Message):
    model: str = ""
    """By its name; "" for the session's own."""
    of: str = ""
    """Identity of who wrote what is answered again; "" in rows of older versions."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FanRequest(Message):
    models: tuple[str, ...]
    """One for each arm."""
    of: str = ""
    """As that of RetryRequest."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CompactRequest(Message):
    instructions: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class SummaryRequest(Message):
    left: int
    """The last entry of the branch that was left."""
    words: str = ""
    """What the summary should look at."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LeaveRequest(Message):
    left: int
    to: int | None
    why: str
    """The command that moves."""
    answer: str
    items: tuple[Annotated[MenuItem, BeforeValidator(_item)], ...]
    shows: int | None = None
    """The entry that the answer shows."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ForkRequest(Message):
    source: int
    """The session that was forked."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelRequest(Message):
    model: str
    """By its name; "" for the one that answers where none is chosen."""
    told: bool = False
    """Whether people know already."""


def request(kind: type[M], message: Message, **asked: Any) -> Json:
    """The payload of a row: a command's message, and what it asks for."""
    said = {field.name: getattr(message, field.name) for field in fields(Message)}
    return asdict(kind(**said, **asked))


def requested(kind: type[M], row: InboxRow) -> M:
    """What a row asks for. ValueError where it cannot be read."""
    found: M = _adapter(kind).validate_python(row.payload)
    return found
