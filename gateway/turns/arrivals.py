"""Talk comes in: it is committed for its session, and where nothing else is due there, the turn
that answers it begins in the same transaction."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from functools import partial

from gateway.turns.control import SessionControl
from gateway.turns.runner import TurnRunner
from gateway.turns.turn import Turn
from storage.records.entries import SessionDraft, SessionKind
from storage.records.inbox_outbox import Arrival, InboxRow
from storage.store import Transaction

Taken = Callable[[Transaction], bool]
"""Whether a message was taken in as something else than talk."""
Alongside = Callable[[Transaction], None]
"""What belongs to the commit that takes it in."""
TakeIn = Callable[[Arrival, Taken, Alongside], Awaitable[bool]]


@dataclass(frozen=True, slots=True)
class Arrivals:
    control: SessionControl
    runner: TurnRunner

    async def talk(
        self,
        arrival: Arrival,
        taken: Taken,
        alongside: Alongside,
    ) -> bool:
        """Take a message in; False where it was seen before, or `taken` as something else. It
        interrupts a turn, waits for one, or is answered; `alongside` belongs to its commit."""
        row, begun = await self.control.store.run(
            partial(self._take_in, arrival=arrival, taken=taken, alongside=alongside)
        )
        if row is None or row.session is None:
            return False
        if begun is not None:
            self.control.scheduler.wake(row.session, begun)
        else:
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
        if not self.control.scheduler.free(row.session):
            return row, None
        return row, self.runner.begin(tx, row.session)


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
