"""What entries of kind `record` hold: one class for each name.

On disk a record's body is its name under "record", and the fields of its class. What was imported
from elsewhere may have other names.
"""

from dataclasses import MISSING, dataclass, fields
from enum import StrEnum
from typing import Any, ClassVar, Protocol, TypeVar

from storage.records.entries import Draft, Entry, Json, Kind


class RecordKind(StrEnum):
    SUSPENDED = "suspended"
    RESUMED = "resumed"
    SURPLUS = "surplus"
    FAILED = "failed"
    STOPPED = "stopped"
    FAN = "fan"
    DELEGATION = "delegation"
    SYSTEM = "system"
    NOTES = "notes"
    """See told_notes: the only record that a model is shown by itself."""


WAITS = (RecordKind.SUSPENDED, RecordKind.RESUMED)
"""Records of a call that waits for a question."""


@dataclass(frozen=True, slots=True)
class SuspendedCall:
    """A call waits for a person."""

    record: ClassVar = RecordKind.SUSPENDED
    tool_call_id: str
    call_entry: int
    """The assistant entry that holds the call."""
    question: int
    """0 in what was imported: nobody was asked here."""
    result: str = ""
    """What the model is told until then."""


@dataclass(frozen=True, slots=True)
class ResumedCall:
    """A call that must not be run twice goes on with the answer to a question."""

    record: ClassVar = RecordKind.RESUMED
    tool_call_id: str
    call_entry: int
    question: int


@dataclass(frozen=True, slots=True)
class SurplusCalls:
    """A reply made more calls than are run."""

    record: ClassVar = RecordKind.SURPLUS
    call_entry: int
    taken: list[str]
    """Ids of the calls that are run."""
    result: str
    """What the model is told about the others."""


@dataclass(frozen=True, slots=True)
class Failed:
    """A turn, or an arm of a fan, ended without an answer."""

    record: ClassVar = RecordKind.FAILED
    error: str


@dataclass(frozen=True, slots=True)
class TurnStopped:
    record: ClassVar = RecordKind.STOPPED
    put_off: bool = False
    """What it was to answer is answered later, in another turn; a model is told so."""


def is_put_off(entry: Entry) -> bool:
    return is_record(entry, RecordKind.STOPPED) and entry.body.get("put_off") is True


@dataclass(frozen=True, slots=True)
class FanArm:
    """Where an arm of a fan begins."""

    record: ClassVar = RecordKind.FAN
    row: int
    """The inbox row of the fan."""
    arm: int
    """From 1."""
    model: str


@dataclass(frozen=True, slots=True)
class DelegationEvent:
    """An event in the journal of a delegation."""

    record: ClassVar = RecordKind.DELEGATION
    data: Json


@dataclass(frozen=True, slots=True)
class SystemMessage:
    """A system message of an imported conversation."""

    record: ClassVar = RecordKind.SYSTEM
    message: Json


class Record(Protocol):
    record: ClassVar[RecordKind]
    __dataclass_fields__: ClassVar[dict[str, Any]]


R = TypeVar("R", bound=Record)


def record_draft(held: Record, author: str = "") -> Draft:
    return Draft(Kind.RECORD, record_body(held), author)


def record_body(held: Record) -> Json:
    return {"record": held.record.value, **{f.name: getattr(held, f.name) for f in fields(held)}}


def is_record(entry: Entry, *kinds: RecordKind) -> bool:
    return entry.kind is Kind.RECORD and entry.body.get("record") in kinds


def held_in(entry: Entry, kind: type[R]) -> R | None:
    """What a record of this kind holds; None for all other entries, and for an imported one that
    holds something else."""
    if not is_record(entry, kind.record):
        return None
    body = entry.body
    known = {field.name: body[field.name] for field in fields(kind) if field.name in body}
    missing = (f for f in fields(kind) if f.name not in known and f.default is MISSING)
    return kind(**known) if next(missing, None) is None else None
