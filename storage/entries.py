"""The vocabulary of the session tree: what an entry is, what a session is.

Entries are append-only and point at their parent, so a session is a tree and a conversation is a
path through it. The kinds follow Pi's session format. Nothing here does I/O.
"""

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

Json = dict[str, Any]


class Kind(StrEnum):
    """What an entry is. Only the first three are ever shown to a model."""

    MESSAGE = "message"
    """body: one chat message in OpenAI's shape (role, content, tool_calls, tool_call_id, name)."""
    COMPACTION = "compaction"
    """body: summary, first_kept (entry id), tokens_before."""
    BRANCH_SUMMARY = "branch_summary"
    """body: summary, from (entry id)."""
    LABEL = "label"
    """body: label, target (entry id); an empty label removes it."""
    MODEL_CHANGE = "model_change"
    """body: model."""
    RECORD = "record"
    """body: record (a name) and whatever that record holds. Durable, never shown to a model."""


class SessionKind(StrEnum):
    CHAT = "chat"
    SUBAGENT = "subagent"


@dataclass(frozen=True, slots=True)
class Draft:
    """An entry that is not stored yet."""

    kind: Kind
    body: Json
    author: str = ""
    """Who caused it: a person's identity ("telegram:1001"), a tier ("worker"), or nothing."""
    tokens: int = 0
    time: float | None = None
    """Unix seconds; the store's clock when None."""


@dataclass(frozen=True, slots=True)
class Entry:
    id: int
    session: int
    parent: int | None
    number: int
    """Counts from 1 in its session: what people type as #12."""
    depth: int
    """Entries above it on its path; a root has 0."""
    kind: Kind
    body: Json
    author: str
    tokens: int
    time: float


@dataclass(frozen=True, slots=True)
class Session:
    id: int
    kind: SessionKind
    leaf: int | None
    """The entry a new one is appended after; None in an empty session."""
    epoch: int
    """Raised by every claim. A writer that holds an older one can write nothing."""
    title: str
    parent_session: int | None
    parent_entry: int | None
    created: float


@dataclass(frozen=True, slots=True)
class SessionDraft:
    kind: SessionKind
    title: str = ""
    parent_session: int | None = None
    parent_entry: int | None = None


def message(role: str, content: str | None, **more: Any) -> Json:
    """The body of a message entry."""
    return {"role": role, "content": content, **more}


def record(name: str, **more: Any) -> Json:
    """The body of a record entry."""
    return {"record": name, **more}


@dataclass(frozen=True, slots=True)
class Usage:
    """What model calls used. `cost` is dollars, None where a price is not known."""

    input: int = 0
    output: int = 0
    calls: int = 0
    cost: float | None = field(default=0.0)

    def __add__(self, other: "Usage") -> "Usage":
        cost = None if self.cost is None or other.cost is None else self.cost + other.cost
        return Usage(
            self.input + other.input, self.output + other.output, self.calls + other.calls, cost
        )
