"""The seam: what the rest of Bough may ask of a store.

`await store.run(work)` runs a plain function on one transaction, in a thread. Nothing can be
awaited inside, so transactions are short by construction. `work` may run twice (a retry), so it
must have no other effect. It is shielded from cancellation: once begun, it commits or fails.
`await store.read(work)` is the same for work that only reads, and never waits for writers.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, Protocol, TypeVar

from storage.ephemeral import Ephemeral
from storage.jobs import Jobs, TakenJob
from storage.leases import Leases
from storage.news import Committed
from storage.records.blobs import Blobs
from storage.records.buttons import ButtonRow
from storage.records.chats.chat_settings import ChatChoices
from storage.records.chats.live_messages import LiveMessages
from storage.records.chats.people import Requests, Rights
from storage.records.delegations import Delegation, DelegationDraft
from storage.records.entries import Entry, Json, Overview, Usage
from storage.records.figures.backlog import Backlogs
from storage.records.inbox_outbox import (
    Arrival,
    InboxRow,
    InboxState,
    OutboxDraft,
    OutboxRow,
    StoredFile,
    Thread,
)
from storage.records.ledger import Ledger
from storage.records.questions import Questions
from storage.records.retention.forgetting import Forgettings, People
from storage.records.retention.pruning import Pruning
from storage.records.tools.commands import Commands
from storage.records.tools.grants import Grants
from storage.records.tools.notes import Notes
from storage.records.tools.schedules import Schedules
from storage.records.tree import Tree

T = TypeVar("T")


class Inbox(Protocol):
    def receive(self, arrival: Arrival) -> InboxRow | None:
        """Store it; None where the key was seen before. A cursor, where given, becomes the
        conversation's, in either case."""
        ...

    def seen(self, key: str) -> bool:
        """Whether something with that key is stored."""
        ...

    def get(self, row: int) -> InboxRow: ...

    def unfinished(self, session: int | None = None) -> list[InboxRow]:
        """Open rows, oldest first: of one session, or all, the unrouted too."""
        ...

    def route(self, row: int, session: int) -> None: ...

    def amend(self, row: int, payload: Json) -> None:
        """Give a row another payload: what came, and what was found out about it since."""
        ...

    def link(self, row: int, entry: int) -> None:
        """Say which entry the row became."""
        ...

    def hold(self, row: InboxRow) -> None:
        """Keep what came when the row is done, too: somebody may want to ask it again."""
        ...

    def finish(self, rows: Sequence[int], state: InboxState = InboxState.DONE) -> None:
        """What came goes with it, where it is done and not held: its entry has the words. Of what
        failed it is kept."""
        ...

    def name_in(self, session: int, identity: str) -> str:
        """What somebody called themselves when they last wrote there; "" where they are not among
        the last who did."""
        ...


class Outbox(Protocol):
    def enqueue(self, parcel: OutboxDraft) -> OutboxRow: ...

    def get(self, row: int) -> OutboxRow: ...

    def pending(self, each: int = 20) -> list[OutboxRow]:
        """What is still to be sent, oldest first: the first rows of each conversation, at most so
        many of each. Costs what it returns, however much waits behind these."""
        ...

    def sent(self, row: int, message_id: str | None) -> None:
        """Mark as sent; with an id and an entry, the message link is recorded too. What the message
        says goes, unless it has buttons, is a question's or grows while a turn runs: of those it
        is read again."""
        ...

    def failed(self, row: int, error: str) -> None: ...

    def link_message(self, address: str, message_id: str, entry: int) -> None:
        """Say which entry a platform message shows (a person's own message, mostly)."""
        ...

    def linked_entry(self, address: str, message_id: str) -> int | None: ...

    def keep(self, file: StoredFile) -> int:
        """Keep a file until it is sent; its id for a parcel's payload."""
        ...

    def kept(self, file: int) -> StoredFile: ...

    def drop(self, file: int) -> None:
        """Forget a file's content."""
        ...


class Buttons(Protocol):
    def put(self, button: ButtonRow) -> None: ...

    def get(self, token: str) -> ButtonRow | None: ...

    def use(self, outbox: int, used: str) -> bool:
        """Compare-and-set: all buttons of a message are used up; False where they were before."""
        ...

    def temporary(self) -> list[ButtonRow]:
        """Those that expire and are not used up, by their messages, oldest first."""
        ...


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


class Directory(Protocol):
    """Which conversation is in which session, who is who, what was done by whom."""

    def conversation(self, address: str) -> int | None: ...

    def bind(self, address: str, session: int) -> None: ...

    def addresses(self, session: int) -> list[str]:
        """Conversations bound to a session."""
        ...

    def set_private(self, address: str, identity: str) -> None:
        """Note that a conversation is this person's private one; "": that more may read it."""
        ...

    def private_with(self, address: str) -> str | None:
        """Whose private conversation it is; "" where more may read it, None where nobody spoke
        there since this is noted."""
        ...

    def is_known(self, address: str) -> bool:
        """Whether anything ever came from a conversation, or was said there."""
        ...

    def join(self, session: int, member: str) -> None:
        """Note that a person (identity) spoke in a session. Conversations (address) join by being
        bound. Once is for ever."""
        ...

    def members(self, session: int) -> list[str]:
        """People and conversations that ever joined a session."""
        ...

    def joined(self, members: Collection[str]) -> list[int]:
        """Sessions that any of these ever joined, newest first."""
        ...

    def recent(self, members: Collection[str], *, limit: int, skip: int = 0) -> list[int]:
        """Chat sessions that any of these ever joined, those that were written to last first. An
        empty one without a title is not among them."""
        ...

    def foreign_forks(self, members: Collection[str]) -> list[int]:
        """Forks that any of these ever joined, of sessions that none of them did."""
        ...

    def overview(self, session: int) -> Overview:
        """NotFound where there is none."""
        ...

    def note_thread(self, address: str, thread: Thread) -> bool:
        """Note of which channel a conversation is a thread; what was noted first stays. True the
        first time."""
        ...

    def refuse_thread(self, address: str) -> None:
        """Note that it cannot be opened."""
        ...

    def threads(self) -> dict[str, Thread]:
        """All of them, by address."""
        ...

    def cursors(self, platform: str) -> Mapping[str, str]:
        """Address → cursor, for the conversations of a platform that have one."""
        ...

    def name_of(self, identity: str) -> str:
        """What a person was called when they were seen; "" where they were not."""
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


class Search(Protocol):
    """Full-text search over the entries that were followed. `storage/search/query.py` says
    what is found."""

    def find(
        self, words: str, sessions: Collection[int], *, limit: int = 10, before: int | None = None
    ) -> list[Entry]:
        """The sessions' own entries in which all of the words are, newest first; none where there
        is no word among `words`. With `before`, only entries with a smaller id. A fork has its own
        entries only: to find what it begins with, name the session it was made from too."""
        ...

    def follow(self, limit: int) -> int:
        """Take the next entries into the index, at most `limit`. How many were looked at: 0 where
        all of them were before."""
        ...

    def pass_over(self) -> None:
        """Leave the next entry, where there is one, out of the index."""
        ...


class Transaction(Protocol):
    @property
    def tree(self) -> Tree: ...
    @property
    def inbox(self) -> Inbox: ...
    @property
    def outbox(self) -> Outbox: ...
    @property
    def live_messages(self) -> LiveMessages: ...
    @property
    def buttons(self) -> Buttons: ...
    @property
    def chat_settings(self) -> ChatChoices: ...
    @property
    def questions(self) -> Questions: ...
    @property
    def delegations(self) -> Delegations: ...
    @property
    def directory(self) -> Directory: ...
    @property
    def ledger(self) -> Ledger: ...
    @property
    def grants(self) -> Grants: ...
    @property
    def search(self) -> Search: ...
    @property
    def commands(self) -> Commands: ...
    @property
    def notes(self) -> Notes: ...
    @property
    def schedules(self) -> Schedules: ...
    @property
    def blobs(self) -> Blobs: ...
    @property
    def rights(self) -> Rights: ...
    @property
    def pairing(self) -> Requests: ...
    @property
    def leases(self) -> Leases: ...
    @property
    def backlog(self) -> Backlogs: ...
    @property
    def forgettings(self) -> Forgettings: ...
    @property
    def people(self) -> People: ...
    @property
    def pruning(self) -> Pruning: ...
    @property
    def ephemeral(self) -> Ephemeral: ...
    @property
    def now(self) -> float:
        """Unix seconds, one value for the whole transaction."""
        ...

    def take(self, session: int) -> TakenJob | None:
        """Have this process do what is due in a session, as soon as it is committed. None where
        that is for whoever is first: it works on nothing now, or somebody does on this session."""
        ...

    def signal(self, topic: str, message: Json) -> None:
        """Say something to the other processes on this database, once it is committed. They hear
        it at once or never: nothing may depend on it alone."""
        ...


class Store(Protocol):
    @property
    def process(self) -> str:
        """A name that no other process on this database has, nor had."""
        ...

    @property
    def jobs(self) -> Jobs | None:
        """How sessions are shared with other processes; None where this is the only one."""
        ...

    async def listen(self) -> None:
        """Hear what other processes commit, until cancelled."""
        ...

    async def run(self, work: Callable[[Transaction], T]) -> T: ...

    async def read(self, work: Callable[[Transaction], T]) -> T: ...

    def watch(self, listener: Callable[[Committed], None]) -> None:
        """Have `listener` called, on the event loop, after every commit of `run` that put
        something into an inbox or the outbox, or changed a schedule, a right or a choice: before
        its caller goes on, and whether or not that one still waits. A failed commit is not told.
        Those of other processes follow as they are heard (`listen`)."""
        ...

    async def grown(self, seconds: float) -> None:
        """Wait until `run` has committed entries of sessions since this was last waited for, but no
        longer than so many seconds. For one who waits."""
        ...

    async def guard(self) -> None:
        """Wait until the database is lost, and raise StoreLost: it is damaged, or is not any more
        what its name leads to. From then on `run` and `read` do nothing but raise that too."""
        ...

    @property
    def short_of_room(self) -> str:
        """Why the database has less room than it should, for people; "" where it has enough. Known
        while `guard` runs."""
        ...

    async def warning(self) -> str:
        """What people should know of the database at the start; "" where there is nothing."""
        ...

    async def rescue(self) -> str:
        """After StoreLost: close, and save what is still open where it can be. What came of it and
        what to do, for people; "" where there was nothing to save."""
        ...

    def hasten(self) -> None:
        """The process ends: wait only moments from now on for who else holds the database."""
        ...

    async def close(self) -> None: ...
