"""The books after a turn was cut: no call stays open, no row is answered twice. What is done here
belongs into one transaction, with no turn of the session running."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Protocol

from agent.delegation.pending_calls import (
    Unsettled,
    path_tail,
    pending_call,
    settle_late,
    settle_running,
    settle_waiting,
    unsettled,
)
from gateway.questions.service import Questions
from gateway.turns.messages import author_of
from gateway.turns.policy.unasked import waits
from gateway.turns.turn import RESULTS
from storage.records.entries import Entry
from storage.records.inbox_outbox import InboxKind, InboxRow, InboxState
from storage.records.record_entries import TurnStopped, record_draft
from storage.store import Transaction


class InProgress(Protocol):
    """A turn that runs, or is to go on."""

    @property
    def address(self) -> str: ...
    @property
    def person(self) -> str:
        """Identity of who asked."""
        ...


TurnAt = Callable[[Transaction, int], InProgress | None]
"""The turn of a session; None where none runs."""


@dataclass(frozen=True, slots=True)
class RecordedTurn:
    """A turn as its inbox rows tell of it, in whatever process it runs."""

    address: str
    person: str


def turn_on_record(tx: Transaction, session: int) -> RecordedTurn | None:
    """The turn that was begun in a session, or that carries out what was decided there."""
    rows = tx.inbox.unfinished(session)
    said = [row for row in rows if row.entry is not None and row.kind not in RESULTS]
    if said:
        return RecordedTurn(said[-1].address, author_of(said[-1]))
    results = [row for row in rows if row.kind in RESULTS and not waits(tx, row)]
    if not results:
        return None
    pending = pending_call(tx, results[0])
    return RecordedTurn(results[0].address, pending.person if pending is not None else "")


def begun(tx: Transaction, session: int) -> list[InboxRow]:
    """The rows that the turn which was cut was to answer."""
    rows = [row for row in tx.inbox.unfinished(session) if row.entry is not None]
    return [row for row in rows if row.kind not in RESULTS]


def end_rows(
    tx: Transaction, session: int, rows: list[InboxRow], state: InboxState = InboxState.DONE
) -> None:
    """End rows without an answer, and give the calls that were cut a result. `state`: theirs, from
    then on."""
    claimed = tx.tree.claim(session)
    path = list(path_tail(tx, claimed.leaf))
    settle_running(tx, session, path)
    _finish(tx, session, rows, path, state)


def end_everything(
    tx: Transaction, session: int, questions: Questions, known: Unsettled | None = None
) -> bool:
    """The same with all rows, and with what waits for people or runs in the background; False where
    there was nothing. A model that was chosen meanwhile is no work: it answers from then on.
    `known`: what there is to be settled, if the leaf has not moved."""
    rows = [row for row in tx.inbox.unfinished(session) if row.kind is not InboxKind.MODEL]
    claimed = tx.tree.claim(session)
    leaf = claimed.leaf
    if claimed.unasked is not None:  # somebody is there
        tx.tree.note_unasked(session, None)
    found = known if known is not None and known.leaf == leaf else unsettled(tx, leaf)
    path = list(found.tail)
    settle_running(tx, session, path)
    ended = _end_delegations(tx, session, path, found.waiting, questions)
    _finish(tx, session, rows, path)
    return bool(rows or ended)


def _finish(
    tx: Transaction,
    session: int,
    rows: list[InboxRow],
    path: list[Entry],
    state: InboxState = InboxState.DONE,
) -> None:
    """Work that nothing in the tree stands for, a summary say, leaves no trace there."""
    if any(row.entry is not None for row in rows):
        after = path[-1].id if path else None
        tx.tree.append(session, record_draft(TurnStopped()), after=after)
    tx.inbox.finish([row.id for row in rows], state)


def _end_delegations(
    tx: Transaction,
    session: int,
    path: list[Entry],
    waiting: Mapping[tuple[int, str], int],
    questions: Questions,
) -> int:
    """How many there were, with other calls that waited for people."""
    unfinished = tx.delegations.unfinished(session)
    for root in {session, *(row.root for row in unfinished)}:
        questions.withdraw_all(tx, root)
    for row in unfinished:
        if row.background:
            tx.inbox.finish([due.id for due in tx.inbox.unfinished(row.root)])
    settle_waiting(tx, session, path, waiting)
    settle_late(tx, session, path)
    return len(unfinished) + len(waiting)
