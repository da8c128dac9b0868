"""The books after a turn was cut: no call stays open, no row is answered twice. What is done here
belongs into one transaction, with no turn of the session running."""

from agent.delegation.pending_calls import path_tail, settle_late, settle_running, settle_waiting
from agent.runtime.next_step import suspended_calls
from gateway.questions.service import Questions
from gateway.turns.turn import RESULTS
from storage.records.entries import Entry
from storage.records.inbox_outbox import InboxKind, InboxRow
from storage.records.record_entries import TurnStopped, record_draft
from storage.store import Transaction


def begun(tx: Transaction, session: int) -> list[InboxRow]:
    """The rows that the turn which was cut was to answer."""
    rows = [row for row in tx.inbox.unfinished(session) if row.entry is not None]
    return [row for row in rows if row.kind not in RESULTS]


def end_rows(tx: Transaction, session: int, rows: list[InboxRow]) -> None:
    """End rows without an answer, and give the calls that were cut a result."""
    claimed = tx.tree.claim(session)
    path = list(path_tail(tx, claimed.leaf))
    settle_running(tx, session, path)
    _finish(tx, session, rows, path)


def end_everything(tx: Transaction, session: int, questions: Questions) -> bool:
    """The same with all rows, and with what waits for people or runs in the background; False where
    there was nothing. A model that was chosen meanwhile is no work: it answers from then on."""
    rows = [row for row in tx.inbox.unfinished(session) if row.kind is not InboxKind.MODEL]
    claimed = tx.tree.claim(session)
    path = list(tx.tree.context_path(claimed.leaf))
    settle_running(tx, session, path)
    ended = _end_delegations(tx, session, path, questions)
    _finish(tx, session, rows, path)
    return bool(rows or ended)


def _finish(tx: Transaction, session: int, rows: list[InboxRow], path: list[Entry]) -> None:
    """Work that nothing in the tree stands for, a summary say, leaves no trace there."""
    if any(row.entry is not None for row in rows):
        after = path[-1].id if path else None
        tx.tree.append(session, record_draft(TurnStopped()), after=after)
    tx.inbox.finish([row.id for row in rows])


def _end_delegations(tx: Transaction, session: int, path: list[Entry], questions: Questions) -> int:
    """How many there were, with other calls that waited for people."""
    waiting = suspended_calls(path)
    unfinished = tx.delegations.unfinished(session)
    for root in {session, *(row.root for row in unfinished)}:
        questions.withdraw_all(tx, root)
    for row in unfinished:
        if row.background:
            tx.inbox.finish([waiting.id for waiting in tx.inbox.unfinished(row.root)])
    settle_waiting(tx, session, path)
    settle_late(tx, session, path)
    return len(unfinished) + len(waiting)
