"""What becomes of the delegations of a call when a turn is cut, stopped or resumed, in the store.

What ran was cancelled before; here only the books are put right.
"""

from collections.abc import Sequence

from agent.delegation.core.events import events_of
from agent.delegation.core.machine import fold
from agent.delegation.ending import FINAL, awaited, interrupt, stored_result, unfinished_below
from agent.delegation.result import launched_result, to_text, waiting_result
from agent.tools.base import Done, Outcome, Waiting
from storage.records.delegations import Delegation
from storage.records.entries import Json
from storage.records.questions import Question, QuestionState
from storage.store import Transaction


def settle_call(
    tx: Transaction, session: int, call_entry: int, call_id: str, *, waiting_too: bool
) -> Outcome | None:
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


def outcome_of(tx: Transaction, rows: Sequence[Delegation]) -> Outcome:
    """What a call's delegations come to as they stand now."""
    rows = [tx.delegations.get(row.id) for row in rows]
    results = [result_of(tx, row) for row in rows]
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
    return [question for child in below for question in asked_questions(tx, child)]


def result_of(tx: Transaction, row: Delegation) -> Json:
    """What a delegation comes to as it stands now."""
    row = tx.delegations.get(row.id)
    if (result := stored_result(row)) is not None:
        return result
    asked = asked_question(tx, row)
    return waiting_result(row.goal, asked) if asked is not None else launched_result(row)
