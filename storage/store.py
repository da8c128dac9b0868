"""The seam: what the rest of Bough may ask of a store.

`await store.run(work)` runs a plain function on one transaction, in a thread. Nothing can be
awaited inside, so transactions are short by construction. `work` may run twice (a retry), so it
must have no other effect. It is shielded from cancellation: once begun, it commits or fails.
`await store.read(work)` is the same for work that only reads, and never waits for writers.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol, TypeVar

from storage.boxes import Arrival, InboxRow, InboxState, OutboxRow, Parcel
from storage.delegations import Delegation, DelegationDraft
from storage.entries import Draft, Entry, Json, Session, SessionDraft, Usage
from storage.ledger import LedgerGroup, LedgerLine, Spending
from storage.questions import (
    ButtonRow,
    Choice,
    Question,
    QuestionDraft,
    QuestionPost,
    QuestionState,
)

T = TypeVar("T")


class Tree(Protocol):
    """Sessions and their entries. No entry is ever changed or removed."""

    def create(self, draft: SessionDraft) -> Session: ...

    def session(self, session: int) -> Session:
        """NotFound where there is none."""
        ...

    def children(self, session: int) -> list[Session]:
        """Sessions whose parent is this one, oldest first."""
        ...

    def claim(self, session: int) -> Session:
        """Raise the epoch by one: whoever held the session before can no longer write."""
        ...

    def append(
        self, session: int, draft: Draft, *, after: int | None, epoch: int | None = None
    ) -> Entry:
        """Add an entry below `after` and move the leaf to it.

        LeafMoved where the leaf is not `after`; EpochLost where `epoch` is given and is not the
        session's; NotFound where there is no such session.
        """
        ...

    def move_leaf(self, session: int, to: int | None, *, after: int | None, by: str) -> Session:
        """Compare-and-set: LeafMoved where the leaf is not `after`; NotFound for an entry `to`
        that is not there. The move is itself recorded."""
        ...

    def leaf_moves(self, session: int) -> list[tuple[int | None, int | None, str]]:
        """Recorded moves as (from, to, by), oldest first. Appends are not among them."""
        ...

    def entry(self, entry: int) -> Entry: ...

    def path(self, leaf: int | None) -> tuple[Entry, ...]:
        """The whole path from the root to `leaf`, root first; empty for None."""
        ...

    def context_path(self, leaf: int | None) -> tuple[Entry, ...]:
        """What a context is made of: the path from the first kept entry of the newest compaction
        on it, root first; the whole path where there is no compaction. Where the kept entry is not
        on the path, from the compaction on. Costs what it returns, never the session's size."""
        ...


class Inbox(Protocol):
    def receive(self, arrival: Arrival) -> InboxRow | None:
        """Store it; None where the key was seen before. A cursor, where given, becomes the
        conversation's, in either case."""
        ...

    def get(self, row: int) -> InboxRow: ...

    def unfinished(self, session: int | None = None) -> list[InboxRow]:
        """Open rows, oldest first: of one session, or all, the unrouted too."""
        ...

    def route(self, row: int, session: int) -> None: ...

    def link(self, row: int, entry: int) -> None:
        """Say which entry the row became."""
        ...

    def finish(self, rows: Sequence[int], state: InboxState = InboxState.DONE) -> None: ...


class Outbox(Protocol):
    def enqueue(self, parcel: Parcel) -> OutboxRow: ...

    def get(self, row: int) -> OutboxRow: ...

    def pending(self) -> list[OutboxRow]:
        """What is still to be sent, oldest first."""
        ...

    def sent(self, row: int, message_id: str | None) -> None:
        """Mark as sent; with an id and an entry, the message link is recorded too."""
        ...

    def failed(self, row: int, error: str) -> None: ...

    def link_message(self, address: str, message_id: str, entry: int) -> None:
        """Say which entry a platform message shows (a person's own message, mostly)."""
        ...

    def linked_entry(self, address: str, message_id: str) -> int | None: ...


class Questions(Protocol):
    def create(self, draft: QuestionDraft) -> Question: ...

    def get(self, question: int) -> Question: ...

    def open(self, session: int | None = None) -> list[Question]:
        """Open questions, oldest first: of one session, or all."""
        ...

    def close(
        self,
        question: int,
        state: QuestionState,
        *,
        choice: str | None = None,
        by: str = "",
        name: str = "",
    ) -> bool:
        """Compare-and-set from open: False where it was not open any more, and nothing changes."""
        ...

    def reach_level(self, question: int, level: int) -> bool:
        """Compare-and-set from level-1 to `level`; False where it was not there."""
        ...

    def add_post(self, question: int, address: str, outbox: int) -> QuestionPost: ...

    def posts(self, question: int) -> list[QuestionPost]: ...

    def add_button(self, token: str, post: QuestionPost, choice: Choice) -> None: ...

    def button(self, token: str) -> ButtonRow | None: ...


class Delegations(Protocol):
    def create(self, draft: DelegationDraft) -> Delegation: ...

    def get(self, delegation: int) -> Delegation: ...

    def of_call(self, session: int, call_entry: int, call_id: str) -> list[Delegation]:
        """The delegations of one tool call, by index."""
        ...

    def recent(self, session: int, limit: int = 20) -> list[Delegation]:
        """Newest first."""
        ...

    def unfinished(self, session: int) -> list[Delegation]:
        """Running or waiting ones, oldest first."""
        ...

    def update(
        self,
        delegation: int,
        *,
        state: str | None = None,
        tier: str | None = None,
        model: str | None = None,
        usage: Usage | None = None,
        result: str | None = None,
    ) -> None:
        """Change what is given. `usage` is added to what was there."""
        ...


class Ledger(Protocol):
    """What model calls used, and for whom. Lines are only ever added."""

    def add(self, line: LedgerLine) -> None: ...

    def by_tier(self, delegation: int) -> dict[str, Usage]:
        """What each tier used in one delegation."""
        ...

    def total(
        self, *, since: float, address: str | None = None, person: str | None = None
    ) -> Spending:
        """Since a time in Unix seconds: of one conversation or person, or of all."""
        ...

    def grouped(
        self, by: LedgerGroup, *, since: float, address: str | None = None
    ) -> list[tuple[str, Spending]]:
        """The same in groups, the dearest first."""
        ...


class Directory(Protocol):
    """Which conversation is in which session, who is who, what was done by whom."""

    def conversation(self, address: str) -> int | None: ...

    def bind(self, address: str, session: int) -> None: ...

    def addresses(self, session: int) -> list[str]:
        """Conversations bound to a session."""
        ...

    def cursors(self, platform: str) -> Mapping[str, str]:
        """Address → cursor, for the conversations of a platform that have one."""
        ...

    def greet(self, identity: str, name: str) -> bool:
        """Note that a person was seen; True the first time."""
        ...

    def audit(self, what: str, who: str, details: Json) -> None: ...

    def audits(self, what: str | None = None) -> list[tuple[str, str, Json, float]]:
        """(what, who, details, time), oldest first."""
        ...

    def fact(self, name: str) -> Any:
        """A value kept under a name, None where there is none."""
        ...

    def set_fact(self, name: str, value: Any) -> None: ...


class Transaction(Protocol):
    @property
    def tree(self) -> Tree: ...
    @property
    def inbox(self) -> Inbox: ...
    @property
    def outbox(self) -> Outbox: ...
    @property
    def questions(self) -> Questions: ...
    @property
    def delegations(self) -> Delegations: ...
    @property
    def directory(self) -> Directory: ...
    @property
    def ledger(self) -> Ledger: ...
    @property
    def now(self) -> float:
        """Unix seconds, one value for the whole transaction."""
        ...


class Store(Protocol):
    async def run(self, work: Callable[[Transaction], T]) -> T: ...

    async def read(self, work: Callable[[Transaction], T]) -> T: ...

    def watch_outbox(self, listener: Callable[[], None]) -> None:
        """Have `listener` called, on the event loop, after every commit of `run` that put
        something into the outbox, whether or not the caller still waits."""
        ...

    async def close(self) -> None: ...
