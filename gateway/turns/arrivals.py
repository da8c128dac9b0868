"""Talk comes in: it is committed for its session, and where nothing else is due there, the turn
that answers it begins in the same transaction."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from functools import partial

from gateway.access.quota import Quota
from gateway.turns.control import SessionControl
from gateway.turns.messages import author_of
from gateway.turns.policy.due_turns import DueTurns
from gateway.turns.turn import Turn
from storage.records.entries import SessionDraft, SessionKind
from storage.records.inbox_outbox import Arrival, InboxRow, InboxState
from storage.store import Transaction

Taken = Callable[[Transaction], bool]
"""Whether a message was taken in as something else than talk."""
Alongside = Callable[[Transaction], None]
"""What belongs to the commit that takes it in."""
TakeIn = Callable[[Arrival, Taken, Alongside], Awaitable[bool]]


@dataclass(frozen=True, slots=True)
class Arrivals:
    control: SessionControl
    due: DueTurns
    quota: Callable[[], Quota]

    async def talk(
        self,
        arrival: Arrival,
        taken: Taken,
        alongside: Alongside,
    ) -> bool:
        """Take a message in; False where it was seen before, or `taken` as something else. It
        interrupts a turn, waits for one, or is answered; `alongside` belongs to its commit. Of
        somebody who is over a limit it does none of that: they are told."""
        row, begun = await self.control.store.run(
            partial(self._take_in, arrival=arrival, taken=taken, alongside=alongside)
        )
        if row is None or row.session is None:
            return False
        if begun is not None:
            self.control.scheduler.wake(row.session, begun)
        elif row.state is InboxState.OPEN:
            self.control.arrived(row)
        return True

    def _take_in(
        self,
        tx: Transaction,
        arrival: Arrival,
        taken: Taken,
        alongside: Alongside,
    ) -> tuple[InboxRow | None, Turn | None]:
        row = None if taken(tx) else _receive(tx, arrival)
        if row is None or row.session is None:
            return None, None
        alongside(tx)
        if self._is_over(tx, row):
            return replace(row, state=InboxState.DONE), None
        return row, self.control.scheduler.begin(tx, row, self.due.begin)

    def _is_over(self, tx: Transaction, row: InboxRow) -> bool:
        """Count a message; where it is over a limit, it is done with. An album is one turn, however
        many messages it comes in."""
        who = author_of(row)
        if row.session is not None and _continues(tx, row, row.session):
            return False
        quota = self.quota()
        over = quota.over(tx, who, row.address)
        if over is None:
            quota.take(tx, who, row.address)
            return False
        if text := quota.refuse(tx, over, who, row.address):
            reply_to = "" if row.payload["private"] else row.payload["message_id"]
            for parcel in self.due.composer.post(row.address, text, reply_to=reply_to):
                tx.outbox.enqueue(parcel)
        tx.inbox.finish([row.id])
        return True


def _continues(tx: Transaction, row: InboxRow, session: int) -> bool:
    """Whether a message belongs to an album of which one was taken in, and counted."""
    album = row.payload.get("album")
    return bool(album) and any(
        other.id != row.id
        and other.payload.get("album") == album
        and (other.address, author_of(other)) == (row.address, author_of(row))
        for other in tx.inbox.unfinished(session)
        if other.kind is row.kind
    )


def _receive(tx: Transaction, arrival: Arrival) -> InboxRow | None:
    """Commit a message for its conversation's session; None where it was seen before."""
    address = arrival.address
    session = tx.directory.conversation(address)
    row = tx.inbox.receive(replace(arrival, session=session))
    if row is None:
        return None
    if session is None:
        session = tx.tree.create(SessionDraft(SessionKind.CHAT)).id
        tx.directory.bind(address, session)
        tx.inbox.route(row.id, session)
    return replace(row, session=session)
