"""The vocabulary of the session tree: what an entry is, what a session is.

Entries are append-only and point at their parent, so a session is a tree and a conversation is a
path through it. The kinds follow Pi's session format. Nothing here does I/O.
"""

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

Json = dict[str, Any]


class Kind(StrEnum):
    """What an entry is. Only the first three, and one kind of record, are shown to a model."""

    MESSAGE = "message"
    """body: one chat message in OpenAI's shape (role, content, tool_calls, tool_call_id, name)."""
    COMPACTION = "compaction"
    """body: summary, first_kept (entry id), tokens_before, details (read_files, modified_files)."""
    BRANCH_SUMMARY = "branch_summary"
    """body: summary, from (entry id), details (read_files, modified_files)."""
    LABEL = "label"
    """body: label, target (entry id); an empty label removes it."""
    MODEL_CHANGE = "model_change"
    """body: model, by its name in the configuration; "" for the one that answers unless another is
    chosen."""
    RECORD = "record"
    """body: record (a name) and whatever that record holds. Durable; no model is shown one, but for
    the notes that a session begins with (told_notes)."""


CUT = "cut"
"""What `stop` says in the body of an assistant's message that broke off while it came: people have
read this much of it, and there is no more."""


LENGTH, FILTER = "length", "filter"
"""What `stop` says of one that the model ended before its end: at the limit of its length, or
because the provider's filter took the rest. There is nothing more to come."""


class SessionKind(StrEnum):
    CHAT = "chat"
    SUBAGENT = "subagent"
    IMPORT = "import"
    """Comes in part by part, and is no conversation yet: nobody sees it before all is there."""


class RunRole(StrEnum):
    """Who runs in a child's session."""

    WORKER = "worker"
    WORKER_AS_TEXT = "worker as text"
    """A worker again, with the handed commands as text."""
    OVERSEER = "overseer"


@dataclass(frozen=True, slots=True)
class Run:
    """Which run of a delegation a session below its journal is; there is one of each."""

    role: RunRole
    number: int
    """Of the attempt or the cycle, from 1."""


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


def is_cut(entry: Entry) -> bool:
    """Whether it is an answer that broke off."""
    return entry.kind is Kind.MESSAGE and entry.body.get("stop") == CUT


def is_incomplete(entry: Entry) -> bool:
    """Whether it is an answer that ends before its end, however that came."""
    return entry.kind is Kind.MESSAGE and entry.body.get("stop") in (CUT, LENGTH, FILTER)


@dataclass(frozen=True, slots=True)
class Unasked:
    """What is kept of a session while its turns begin by themselves, since a person's word; see
    gateway.turns.policy.unasked."""

    turns: int
    """How many there were in a row."""
    row: int
    """The inbox row of the last of them."""
    told: str = ""
    """Why the next ones wait, once people were told; "" where they were not."""


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
    run: Run | None = None
    unasked: Unasked | None = None
    """None where a person began the last turn."""


@dataclass(frozen=True, slots=True)
class SessionDraft:
    kind: SessionKind
    title: str = ""
    parent_session: int | None = None
    parent_entry: int | None = None
    run: Run | None = None


@dataclass(frozen=True, slots=True)
class Overview:
    """A session as a list of them shows it."""

    session: int
    title: str
    messages: int
    """What people and the bot said, on all branches; in a fork, with the path it begins with."""
    active: float
    """When it was made or last written to; Unix seconds."""
    first: Entry | None
    """The first message of a person."""


@dataclass(frozen=True, slots=True)
class ImportedEntry:
    """An entry of a session that is taken in whole."""

    draft: Draft
    """Ids in its body are places in the list it stands in."""
    parent: int | None
    """Place in the list; None for a root."""
    original: str = ""
    """What it was called where it comes from."""


@dataclass(slots=True)
class Growth:
    """What was planted so far, by place: the rest may follow in other transactions."""

    ids: list[int] = field(default_factory=list)
    depths: list[int] = field(default_factory=list)
    strands: list[int] = field(default_factory=list)
    first_children: dict[int, int] = field(default_factory=dict)

    def cut(self, places: int) -> None:
        """Forget all but so many: what a transaction planted that is done again."""
        for kept in (self.ids, self.depths, self.strands):
            del kept[places:]


@dataclass(frozen=True, slots=True)
class Strand:
    """A straight piece of one session's tree: an entry, its first child there, that one's first
    child, and so on. Every branch is a strand of its own that hangs on another one."""

    first: int
    """Its first entry, by which it is called."""
    session: int
    parent: int | None
    """The entry it hangs on, in another session at the root of a fork; None for a root."""
    above: int | None
    """The strand that `parent` is on."""
    number: int
    depth: int
    """Number and depth of the first entry."""
    tip: int
    """Its last entry."""
    tip_number: int
    tip_depth: int
    sort: str
    tip_sort: str
    """Of the first and the last entry: see `tree.sort_of`."""


@dataclass(frozen=True, slots=True)
class Stretch:
    """What a path has of one strand: from its first entry to `last`."""

    strand: int
    session: int
    parent: int | None
    depth: int
    """Of the strand's first entry."""
    last: int
    last_number: int
    last_depth: int


@dataclass(frozen=True, slots=True)
class Label:
    """A name that somebody gave an entry."""

    name: str
    target: int
    author: str
    time: float


@dataclass(frozen=True, slots=True)
class LeafMove:
    source: int | None
    target: int | None
    by: str
    """Identity of who moved it."""
    why: str
    """The command it was moved by: "undo", "goto"…"""
    time: float


def message(role: str, content: str | None, **more: Any) -> Json:
    """The body of a message entry."""
    return {"role": role, "content": content, **more}


def content_text(content: Any) -> str:
    """What a content says: a text, or parts of which some are. It may be anything."""
    match content:
        case str():
            return content
        case list():
            parts = (part.get("text") for part in content if isinstance(part, dict))
            return "\n".join(part for part in parts if isinstance(part, str) and part)
        case _:
            return ""


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
    cached: int = 0
    """Tokens of `input` that the provider had in its prompt cache."""

    def __add__(self, other: "Usage") -> "Usage":
        return Usage(
            self.input + other.input,
            self.output + other.output,
            self.calls + other.calls,
            None if self.cost is None or other.cost is None else self.cost + other.cost,
            self.cached + other.cached,
        )
