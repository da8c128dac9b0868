"""Turns that begin by themselves: a command ended, background work has a result, a time came, or a
question's time was over.

Such a turn may start what begins the next one, and so go on for ever, at somebody's cost. So it
counts against the limits of its person and its conversation, and waits where they are reached.
After MOST of them in a row without a person's word the session begins no more of them, and says so.
What waits stays in the inbox until somebody presses *Go on* or writes.

A time that a person scheduled is their word, given beforehand: it is never stopped, and the count
begins anew with it. What such a turn schedules itself is nobody's word, and counts.

The count stands with the session, so it holds after a crash and over processes.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

from agent.delegation.pending_calls import pending_call
from gateway.access.quota import Quota
from gateway.outbound.buttons import MenuItem, send_menu
from gateway.outbound.composer import Composer
from gateway.turns.messages import author_of
from gateway.turns.turn import TALK
from storage.records.buttons import RunAction
from storage.records.entries import Unasked
from storage.records.inbox_outbox import Event, InboxKind, InboxRow, Resume
from storage.records.questions import QuestionState
from storage.store import Transaction
from storage.traces import without_trace

MOST = 10
"""Turns in a row, without a person's word."""
GO_ON = "go_on"
"""The action of the button."""
STOPPED = (
    f"⏸ I acted {MOST} times in a row on what happened by itself, and nobody wrote meanwhile. So "
    "that this cannot go on for ever, I stopped. What happens now waits. Press *Go on* for "
    f"{MOST} more, or write to me."
)
WAITS = "⏳ {reached}. What happened here by itself waits until the limit allows it."
_LIMIT = "limit"
_STOP = "stopped"
_BY_ITSELF = (InboxKind.EVENT, InboxKind.RESULT, InboxKind.RESUME)
"""Kinds of rows that may have come by themselves."""


@dataclass(frozen=True, slots=True)
class _Waits:
    row: InboxRow
    why: str
    """_LIMIT or _STOP."""
    text: str
    """For people."""


@dataclass(frozen=True, slots=True)
class UnaskedTurns:
    quota: Callable[[], Quota]
    composer: Composer

    def ready(self, tx: Transaction, session: int, rows: list[InboxRow]) -> list[InboxRow]:
        """Those of a session's unfinished rows that a turn may begin with now."""
        waiting = {each.row.id for each in self._waiting(tx, session, rows)}
        return [row for row in rows if row.id not in waiting] if waiting else rows

    def tell(self, tx: Transaction, session: int, rows: list[InboxRow]) -> None:
        """Nothing is due but what waits: people are told why, once until somebody writes."""
        found = next(iter(self._waiting(tx, session, rows)), None)
        kept = tx.tree.session(session).unasked or Unasked(0, 0)
        if found is None or kept.told in (found.why, _STOP):
            return
        tx.tree.note_unasked(session, replace(kept, told=found.why))
        items = []
        if found.why == _STOP:
            items = [MenuItem("Go on", RunAction(GO_ON, {"session": session}))]
            details = {"session": session, "turns": kept.turns}
            tx.directory.audit("stopped by itself", "", details)
        private = bool(tx.directory.private_with(found.row.address))
        parcels = self.composer.post(found.row.address, found.text)
        send_menu(tx, parcels, items, private=private)

    def begins(self, tx: Transaction, session: int, row: InboxRow, kept: Unasked | None) -> None:
        """A turn begins with a row, or goes on after a crash. `kept`: as it is with the session."""
        if not _is_by_itself(tx, row):
            if kept is not None and (row.kind in TALK or row.kind is InboxKind.RESUME):
                tx.tree.note_unasked(session, None)
            return
        if row.entry is not None or (kept is not None and kept.row == row.id):
            return  # it is counted
        self.quota().take(tx, _whose(tx, row), row.address)
        kept = kept or Unasked(0, 0)
        if not _is_standing(row):
            kept = replace(kept, turns=kept.turns + 1, row=row.id)
        elif kept.turns < MOST:
            kept = Unasked(0, row.id)
        tx.tree.note_unasked(session, kept)

    def _waiting(self, tx: Transaction, session: int, rows: Iterable[InboxRow]) -> list[_Waits]:
        new = [row for row in rows if row.kind in _BY_ITSELF and row.entry is None]
        if not new:
            return []
        kept = tx.tree.session(session).unasked or Unasked(0, 0)
        found = [self._why(tx, row, kept) for row in new if row.id != kept.row]
        return [each for each in found if each is not None]

    def _why(self, tx: Transaction, row: InboxRow, kept: Unasked) -> _Waits | None:
        if not _is_by_itself(tx, row):
            return None
        if kept.turns >= MOST and not _is_standing(row):
            return _Waits(row, _STOP, STOPPED)
        over = self.quota().over(tx, _whose(tx, row), row.address)
        return None if over is None else _Waits(row, _LIMIT, WAITS.format(reached=over.reached))


def spoken(tx: Transaction, session: int) -> None:
    """A person spoke while a turn ran that had begun by itself."""
    if tx.tree.session(session).unasked is not None:
        tx.tree.note_unasked(session, None)


def go_on(tx: Transaction, session: int, who: str) -> bool:
    """Let as many more begin; False where none was kept from it."""
    kept = tx.tree.session(session).unasked
    if kept is None or kept.turns < MOST:
        return False
    tx.tree.note_unasked(session, Unasked(0, kept.row))
    tx.directory.audit("goes on by itself", who, {"session": session})
    for row in tx.inbox.unfinished(session)[:1]:
        tx.inbox.route(row.id, session)  # its commit wakes the session
    return True


def waits(tx: Transaction, row: InboxRow) -> bool:
    """Whether a row waits for a person's word or for its limit, and people know."""
    if row.session is None or row.kind not in _BY_ITSELF or row.entry is not None:
        return False
    kept = tx.tree.session(row.session).unasked
    if kept is None or not kept.told or row.id == kept.row:
        return False
    return _is_by_itself(tx, row)


def _is_by_itself(tx: Transaction, row: InboxRow) -> bool:
    match row.kind:
        case InboxKind.EVENT | InboxKind.RESULT:
            return True
        case InboxKind.RESUME:
            question = tx.questions.get(Resume(**without_trace(row.payload)).question)
            return question.state is not QuestionState.DECIDED
        case _:
            return False


def _is_standing(row: InboxRow) -> bool:
    return row.kind is InboxKind.EVENT and Event(**without_trace(row.payload)).standing


def _whose(tx: Transaction, row: InboxRow) -> str:
    """Identity of who wanted what has happened; "" for nobody."""
    pending = pending_call(tx, row)
    return author_of(row) if pending is None else pending.person
