"""How delegations end in the store, and what becomes of them when a turn is cut."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict

from agent.delegation.children.transcript import files_touched, more_of
from agent.delegation.core.events import AwaitHuman, Finish, Interrupted, event_draft, events_of
from agent.delegation.core.machine import advance, fold
from agent.delegation.core.state import State
from agent.delegation.result import (
    finished_result,
    launched_result,
    to_text,
    waiting_result,
    with_shared_files,
)
from agent.runtime.next_step import suspended_calls
from agent.runtime.people import asked_by
from agent.tools.base import Done, Settled, Waiting
from storage.records.delegations import Delegation
from storage.records.entries import Json, Usage
from storage.records.inbox_outbox import Arrival, DelegationRow, InboxKind
from storage.records.questions import Question, QuestionState
from storage.store import Transaction

FINAL = frozenset({"completed", "partial", "failed", "interrupted", "timeout", "rejected"})
MOST_CHILDREN = 1_000
"""Of one agent, that are counted in."""


def finish_delegation(tx: Transaction, row: Delegation, state: State, finish: Finish) -> Json:
    """Note the end of a delegation; its result. What it delegated and did not wait for ends too."""
    for child in unfinished_below(tx, row):
        interrupt(tx, child)
    files = files_of_branch(tx, row)
    result = finished_result(state, finish, spent_by_tier(tx, row), files)
    tx.delegations.update(row.id, state=finish.status, result=json.dumps(result))
    return result


def interrupt(tx: Transaction, row: Delegation) -> None:
    """End a delegation that nobody carries on now; a question it waits for is withdrawn."""
    held = tx.tree.claim(row.journal)
    state = fold(events_of(tx.tree.context_path(held.leaf)))
    if (asked := awaited(state)) is not None:
        tx.questions.close(asked, QuestionState.WITHDRAWN)
    for question in asked_by_tools(tx, row):
        tx.questions.close(question.id, QuestionState.WITHDRAWN)
    if not isinstance(state.step, Finish):
        tx.tree.append(row.journal, event_draft(Interrupted()), after=held.leaf)
        state = advance(state, Interrupted())
    assert isinstance(state.step, Finish)
    finish_delegation(tx, row, state, state.step)


def result_arrival(row: Delegation) -> Arrival:
    """Has the session that delegated told of a result from the background."""
    return Arrival(
        key=f"result:{row.id}",
        kind=InboxKind.RESULT,
        address=row.address,
        payload=asdict(DelegationRow(row.id)),
        session=row.session,
    )


def spent_by_tier(tx: Transaction, row: Delegation) -> dict[str, Usage]:
    """What a delegation used, with whatever it delegated in turn."""
    spent = tx.ledger.by_tier(row.id)
    for run in tx.tree.children(row.journal):
        for child in tx.delegations.recent(run.id, limit=MOST_CHILDREN):
            for tier, usage in spent_by_tier(tx, child).items():
                spent[tier] = spent.get(tier, Usage()) + usage
    return spent


def files_of_branch(tx: Transaction, row: Delegation) -> dict[str, str]:
    """Path → "read", "changed" or "wrote", of a delegation with whatever it delegated in turn."""
    files = files_touched(tx, row.journal)
    for run in tx.tree.children(row.journal):
        for child in tx.delegations.recent(run.id, limit=MOST_CHILDREN):
            below = files_of_branch(tx, child)
            files |= {path: more_of(files.get(path), how) for path, how in below.items()}
    return files


def awaited(state: State) -> int | None:
    """The question that a delegation waits for itself."""
    return state.step.question if isinstance(state.step, AwaitHuman) else None


def unfinished_below(tx: Transaction, row: Delegation) -> Iterator[Delegation]:
    """What the agents of a delegation delegated in turn and is not finished."""
    for run in tx.tree.children(row.journal):
        yield from tx.delegations.unfinished(run.id)


def stored_result(row: Delegation) -> Json | None:
    """The result of a delegation that has ended."""
    result: Json | None = json.loads(row.result) if row.state in FINAL else None
    return result


def settle_call(
    tx: Transaction, session: int, call_entry: int, call_id: str, *, waiting_too: bool
) -> Settled | None:
    """End the delegations of a call that was cut: its outcome; None where it delegated nothing.

    What waits for a person goes on waiting unless `waiting_too`; what runs in the background goes
    on.
    """
    rows = tx.delegations.of_call(session, call_entry, call_id)
    for row in rows:
        goes_on = row.background or (not waiting_too and asked_question(tx, row) is not None)
        if row.state not in FINAL and not goes_on:
            interrupt(tx, row)
    return outcome_of(tx, rows) if rows else None


def outcome_of(tx: Transaction, rows: Sequence[Delegation]) -> Settled:
    """What a call's delegations come to as they stand now."""
    rows = [tx.delegations.get(row.id) for row in rows]
    results = with_shared_files([result_of(tx, row) for row in rows])
    questions = [asked_question(tx, row) for row in rows]
    first = next((question for question in questions if question is not None), None)
    if first is not None and all(result["status"] == "waiting" for result in results):
        return Waiting(first.id, to_text(*results))
    return Done(to_text(*results), tuple(row.id for row in rows if row.state in FINAL))


def asked_question(tx: Transaction, row: Delegation) -> Question | None:
    """A question that a delegation, or one below it, waits for, an open one where there is one;
    None where none does."""
    found = asked_questions(tx, row)
    is_open = (question for question in found if question.state is QuestionState.OPEN)
    return next(is_open, found[0] if found else None)


def asked_questions(tx: Transaction, row: Delegation) -> list[Question]:
    """What a delegation, or those below it, wait for: open, or decided just now."""
    if row.state in FINAL:
        return []
    leaf = tx.tree.session(row.journal).leaf
    waits_for = awaited(fold(events_of(tx.tree.context_path(leaf))))
    if waits_for is not None:
        asked = tx.questions.get(waits_for)
        return [asked] if asked.state is not QuestionState.WITHDRAWN else []
    below = unfinished_below(tx, row)
    found = [question for child in below for question in asked_questions(tx, child)]
    return found + asked_by_tools(tx, row)


def asked_by_tools(tx: Transaction, row: Delegation) -> list[Question]:
    """What calls of the agents that a delegation runs wait for themselves."""
    found = []
    for run in tx.tree.children(row.journal):
        waiting = suspended_calls(tx.tree.context_path(run.leaf))
        for (entry, call), number in waiting.items():
            question = tx.questions.get(number)
            if asked_by(question, entry, call) and question.state is not QuestionState.WITHDRAWN:
                found.append(question)
    return found


def result_of(tx: Transaction, row: Delegation) -> Json:
    """What a delegation comes to as it stands now."""
    row = tx.delegations.get(row.id)
    if (result := stored_result(row)) is not None:
        return result
    asked = asked_question(tx, row)
    return waiting_result(row.goal, asked) if asked is not None else launched_result(row)
