"""What commands leave to a session's lane: the payload of each kind of row, which is the command's
message with what it asks for."""

from collections.abc import Callable
from dataclasses import asdict, dataclass, fields
from functools import cache
from typing import Any, TypeVar

from pydantic import TypeAdapter

from adapters.events import Message
from gateway.outbound.buttons import MenuItem
from storage.records.entries import Json
from storage.records.inbox_outbox import InboxRow

M = TypeVar("M", bound=Message)

_adapter: Callable[[object], TypeAdapter[Any]] = cache(TypeAdapter)


@dataclass(frozen=True, slots=True, kw_only=True)
class RetryRequest(Message):
    model: str = ""
    """By its name; "" for the session's own."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FanRequest(Message):
    models: tuple[str, ...]
    """One for each arm."""


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
    items: tuple[MenuItem, ...]


def request(kind: type[M], message: Message, **asked: Any) -> Json:
    """The payload of a row: a command's message, and what it asks for."""
    said = {field.name: getattr(message, field.name) for field in fields(Message)}
    return asdict(kind(**said, **asked))


def requested(kind: type[M], row: InboxRow) -> M:
    """What a row asks for. ValueError where it cannot be read."""
    found: M = _adapter(kind).validate_python(row.payload)
    return found
