"""Forgetting a person: what it is about, how far it has come, and the seam to the rows."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Protocol

from storage.records.entries import Json


class Step(StrEnum):
    """What is gone through, in this order."""

    ENTRIES = "entries"
    INBOX = "inbox"
    OUTBOX = "outbox"
    AUDIT = "audit"
    LINKS = "links"
    ROWS = "rows"
    """All else that is about them."""
    MONEY = "money"
    """The ledger: only after the day, so that the limits of a day hold for who was forgotten."""
    DONE = "done"


@dataclass(frozen=True, slots=True)
class Forgetting:
    """One person is being forgotten. It goes on after a restart."""

    id: int
    identity: str
    """Whom; "" once it is done."""
    pseudonym: str
    """What stands in their place from now on."""
    salt: str
    names: tuple[str, ...]
    """What they are known by."""
    addresses: tuple[str, ...]
    """Their private conversations."""
    sessions: tuple[int, ...]
    """Those that were theirs alone, transcripts below them among them: forgotten wholly."""
    bounds: Mapping[str, int]
    """By table, the newest row that was there: what they write later is no part of it."""
    step: Step
    reached: int
    """The last row of that step's table that was looked at."""
    rights: bool
    """What was given to them in a chat goes, too."""
    started: float


@dataclass(frozen=True, slots=True)
class Extent:
    """What would be forgotten, in counts."""

    private_sessions: int
    private_messages: int
    """Of both sides, on all branches."""
    own_messages: int
    """Theirs, in conversations with others."""
    shared_sessions: int
    files: int
    notes: int
    schedules: int
    questions: int
    """That wait, for them alone."""


@dataclass(frozen=True, slots=True)
class PersonRow:
    """Somebody who is known."""

    identity: str
    name: str
    first_seen: float
    sessions: int
    """Conversations that they took part in."""
    role: str
    """What was given to them in a chat; "" for nothing."""


@dataclass(frozen=True, slots=True)
class Personal:
    """All that is kept about one person."""

    facts: Json
    """For JSON: everything but the files' contents."""
    digests: Mapping[str, str] = field(default_factory=dict)
    """Contents that they sent, by hash, with a name for each."""


class Forgettings(Protocol):
    def begin(self, identity: str, by: str, *, rights: bool = False) -> Forgetting:
        """Note that a person is to be forgotten, and let go of their private conversations: what
        they say from now on begins anew. One that has begun is given back where nothing came
        since: what did is no part of it."""
        ...

    def open(self) -> list[Forgetting]:
        """Those that are not done, oldest first."""
        ...

    def get(self, forgetting: int) -> Forgetting: ...

    def extent(self, identity: str) -> Extent: ...

    def paths(self, forgetting: Forgetting, limit: int) -> list[tuple[int, str]]:
        """Files that they sent and that stand in workspaces, of the entries that `advance` goes
        through next, in the sessions that were forked from theirs, too: session, path."""
        ...

    def outputs(self, forgetting: Forgetting) -> list[tuple[int, str]]:
        """Files in workspaces with what commands said that they had run: session, path."""
        ...

    def advance(self, forgetting: Forgetting, limit: int) -> bool:
        """Go through the next rows, at most so many; False where nothing can be done now: all is,
        or the day is not over, or messages are still to be sent."""
        ...


class People(Protocol):
    """Who is known, and what is kept about them."""

    def listed(self) -> list[PersonRow]:
        """Longest known first."""
        ...

    def data_of(self, identity: str) -> Personal: ...

    def strangers(self, before: float, known: Callable[[str], bool], limit: int) -> int:
        """Drop traces of people who were first heard of before, took part in nothing and are not
        known by their identity; how many."""
        ...
