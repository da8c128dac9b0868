"""Results that come after their call: decided by people, from the background, or cut off, so that
no call stays open for ever."""

from collections.abc import Mapping
from dataclasses import dataclass

from agent.delegation.outcomes import Finished
from agent.delegation.result import to_text
from agent.delegation.runner import Subagents
from agent.delegation.settlement import interrupt, result_arrival, result_of, settle_call
from agent.models.base import ToolCall
from agent.runtime.loop import Loop
from agent.runtime.next_step import RunTools, calls_of, next_step
from agent.runtime.side_branch import branch_end
from agent.runtime.steps.tool_runs import INTERRUPTED, outcome_draft
from agent.runtime.waiting_calls import waiting_on
from agent.tools.base import Done
from storage.records.delegations import Delegation
from storage.records.entries import Entry, Kind
from storage.records.inbox_outbox import DelegationRow, InboxKind, InboxRow, Resume
from storage.records.questions import QuestionState
from storage.store import Store, Transaction
from storage.traces import without_trace
from storage.tree.paths import from_first_kept

UNDECIDED = "Error: stopped before anybody decided; nothing more was done"
TAIL = 64
"""Entries that are read of a path before all of its context is."""


def path_tail(tx: Transaction, leaf: int | None) -> tuple[Entry, ...]:
    """A path's end, as far up as the model's last word, or further: all that settle_running looks
    at, and in a long conversation much less than the context."""
    end = from_first_kept(tx.tree.path_end(leaf, TAIL))
    if any(e.kind is Kind.MESSAGE and e.body["role"] == "assistant" for e in end):
        return end
    return tx.tree.context_path(leaf)


def settle_running(tx: Transaction, session: int, path: list[Entry]) -> None:
    """Answer the calls that a turn was cut in, below the end of `path`, and extend it. What waits
    for a person goes on waiting."""
    step = next_step(path)
    if isinstance(step, RunTools):
        for call in step.calls:
            after = path[-1].id
            path.append(
                _settle(tx, session, step.entry, call, after, INTERRUPTED, waiting_too=False)
            )


@dataclass(frozen=True, slots=True)
class Unsettled:
    """What there is to be settled on a path: of a long one, far less than its context."""

    leaf: int | None
    tail: tuple[Entry, ...]
    """See path_tail."""
    waiting: Mapping[tuple[int, str], int]
    """See suspended_calls."""


def unsettled(tx: Transaction, leaf: int | None) -> Unsettled:
    return Unsettled(leaf, path_tail(tx, leaf), waiting_on(tx, leaf))


def settle_waiting(
    tx: Transaction, session: int, path: list[Entry], waiting: Mapping[tuple[int, str], int]
) -> None:
    """Answer the calls that wait for people, below the end of `path`, and extend it."""
    for (entry_id, call_id), question in waiting.items():
        entry = tx.tree.entry(entry_id)
        call = next(call for call in calls_of(entry) if call.id == call_id)
        otherwise = UNDECIDED if _was_withdrawn(tx, question) else INTERRUPTED
        after = path[-1].id
        path.append(_settle(tx, session, entry, call, after, otherwise, waiting_too=True))


def _was_withdrawn(tx: Transaction, question: int) -> bool:
    """Whether nobody will ever decide it; 0 in what was imported."""
    return bool(question) and tx.questions.get(question).state is QuestionState.WITHDRAWN


def settle_late(tx: Transaction, session: int, path: list[Entry]) -> None:
    """End what is left of calls that have a result already: in the background, or waiting while
    the rest of its batch was done. Each gets a late result."""
    for row in tx.delegations.unfinished(session):
        interrupt(tx, row)
        entry = tx.tree.entry(row.call_entry)
        call = next(call for call in calls_of(entry) if call.id == row.call_id)
        outcome = Done(to_text(result_of(tx, row)), (row.id,))
        draft = outcome_draft(call, entry.id, outcome)
        elsewhere = branch_end(tx, session, entry.id, path)
        if elsewhere is not None:
            tx.tree.append(session, draft, after=elsewhere, aside=True)
        else:
            path.append(tx.tree.append(session, draft, after=path[-1].id))


def _settle(
    tx: Transaction,
    session: int,
    entry: Entry,
    call: ToolCall,
    leaf: int,
    otherwise: str,
    *,
    waiting_too: bool,
) -> Entry:
    """`otherwise`: what is said of a call that delegated nothing."""
    settled = settle_call(tx, session, entry.id, call.id, waiting_too=waiting_too)
    outcome = settled if settled is not None else Done(otherwise)
    return tx.tree.append(session, outcome_draft(call, entry.id, outcome), after=leaf)


@dataclass(frozen=True, slots=True)
class PendingCall:
    """The call that an inbox row goes on with."""

    session: int
    entry: int
    """The assistant entry that holds it."""
    id: str
    person: str
    """Identity of who asked for it."""
    question: int | None
    """What it waited for, where that was decided."""
    delegation: Delegation | None
    """What it delegated, where the row is about that."""


def pending_call(tx: Transaction, row: InboxRow) -> PendingCall | None:
    """What a row of kind resume, result or background goes on with; None for other kinds."""
    match row.kind:
        case InboxKind.RESUME:
            question = tx.questions.get(Resume(**without_trace(row.payload)).question)
            if "delegation" not in question.subject:
                subject = question.subject
                return PendingCall(
                    question.session,
                    subject["call_entry"],
                    subject["call_id"],
                    subject["person"],
                    question.id,
                    None,
                )
            return _call_of(tx.delegations.get(question.subject["delegation"]), question.id)
        case InboxKind.RESULT | InboxKind.BACKGROUND:
            about = DelegationRow(**without_trace(row.payload))
            return _call_of(tx.delegations.get(about.delegation), None)
        case _:
            return None


def _call_of(row: Delegation, question: int | None) -> PendingCall:
    return PendingCall(row.session, row.call_entry, row.call_id, row.person, question, row)


@dataclass(frozen=True, slots=True)
class Results:
    store: Store
    subagents: Subagents

    async def resume(self, loop: Loop, pending: PendingCall) -> None:
        """Run a call again: what it waited for was decided, or has ended in the background."""
        entry = await self.store.read(lambda tx: tx.tree.entry(pending.entry))
        await loop.resume(entry, pending.id, pending.question)

    async def work_in_background(self, delegation: Delegation) -> bool:
        """Carry a background delegation on; True where its result now waits in the inbox of the
        session that delegated."""
        performed = await self.subagents.carry_on(delegation)
        if not isinstance(performed, Finished):
            return False
        await self.store.run(lambda tx: tx.inbox.receive(result_arrival(delegation)))
        return True
