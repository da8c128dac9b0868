"""One turn of a session: what it answers, and with what."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from agent.delegation.pending_calls import PendingCall
from agent.runtime.journal import Journal
from gateway.outbound.buttons import MenuItem
from gateway.streaming.live_answer import OnRecord
from gateway.turns.messages import author_of, speaker_in
from gateway.turns.requests import RetryRequest, requested
from storage.records.entries import Entry
from storage.records.inbox_outbox import InboxKind, InboxRow
from storage.store import Transaction


@dataclass(slots=True)
class Turn:
    """What it answers, and the journal that it is written to."""

    journal: Journal
    rows: list[InboxRow]
    """Grows when talk is steered in."""
    left: bool
    """There was more in the session than this turn answers."""
    pending: PendingCall | None = None
    """The call that it goes on with, where it is about one."""
    answered: bool = False
    """The last word is on its way, and the rows are finished with it."""
    given_up: bool = False
    """It came to the limit of its model calls without an answer."""
    begun: float = 0.0
    """In Unix seconds."""
    live: OnRecord = field(default_factory=OnRecord)
    """Whether it, or a turn that was killed in its place, has shown what is not whole."""

    async def finish(self) -> None:
        """Its rows are done with, and nothing is left to say. EpochLost."""

        def work(tx: Transaction) -> None:
            self.journal.hold(tx)
            tx.inbox.finish(self.row_ids)

        await self.journal.store.run(work)

    @property
    def aside(self) -> bool:
        """It goes on with a branch that the conversation has left."""
        return self.journal.aside

    @property
    def address(self) -> str:
        return self.rows[-1].address

    @property
    def person(self) -> str:
        """Identity of who asked."""
        asked_by = self.pending.person if self.pending is not None else ""
        return author_of(self.rows[-1]) or asked_by

    @property
    def speaker(self) -> str:
        """Identity of whose words it acts on, and so for whom its tools do what they do: notes,
        schedules, questions. After /retry that is who wrote the message, not who asked again."""
        return speaker_in(self.rows[-1]) or self.person

    @property
    def model(self) -> str:
        """The model that was asked for by its name; "" for the session's own."""
        row = self.rows[-1]
        return requested(RetryRequest, row).model if row.kind is InboxKind.RETRY else ""

    @property
    def row_ids(self) -> list[int]:
        return [row.id for row in self.rows]

    @property
    def private(self) -> bool:
        return bool(self.rows[-1].payload.get("private", True))

    @property
    def reply_to(self) -> str:
        """The message that a reply in a group names."""
        return "" if self.private else str(self.rows[-1].payload.get("message_id", ""))


def traces_of(turn: Turn) -> tuple[str, tuple[str, ...]]:
    """Besides its own, that of its last row: the one that asked what was decided, "" for none, and
    those of what it answers as well."""
    *others, last = turn.rows
    asked = str(last.payload.get("asked") or "") if last.kind is InboxKind.RESUME else ""
    return asked, tuple(dict.fromkeys(row.trace for row in others if row.trace != last.trace))


Job = Callable[[Turn], Awaitable[None]]
"""Does a turn's work, and finishes its rows."""

AnswerItems = Callable[[Transaction, Turn, Entry], list[MenuItem]]

TALK = (InboxKind.MESSAGE, InboxKind.RETRY, InboxKind.FAN)
"""Kinds of rows that answer what people say. More talk interrupts them, and is answered with it."""
SAID = (InboxKind.MESSAGE, InboxKind.EVENT)
"""Kinds of rows that become a message of the session."""
RESULTS = (InboxKind.RESUME, InboxKind.RESULT)
"""Kinds of rows that bring a delegation's result."""
