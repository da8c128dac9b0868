"""How a delegation ends, in the store: its result, and the end of whatever it delegated in turn."""

import json
from collections.abc import Iterator

from agent.delegation.core.events import AwaitHuman, Finish, Interrupted, event_draft, events_of
from agent.delegation.core.machine import State, advance, fold
from agent.delegation.result import finished_result
from agent.delegation.transcript import files_touched
from storage.records.delegations import Delegation
from storage.records.entries import Json, Usage
from storage.records.questions import QuestionState
from storage.store import Transaction

FINAL = frozenset({"completed", "failed", "interrupted", "timeout", "rejected"})
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
    if not isinstance(state.step, Finish):
        tx.tree.append(row.journal, event_draft(Interrupted()), after=held.leaf)
        state = advance(state, Interrupted())
    assert isinstance(state.step, Finish)
    finish_delegation(tx, row, state, state.step)


def spent_by_tier(tx: Transaction, row: Delegation) -> dict[str, Usage]:
    """What a delegation used, with whatever it delegated in turn."""
    spent = tx.ledger.by_tier(row.id)
    for run in tx.tree.children(row.journal):
        for child in tx.delegations.recent(run.id, limit=MOST_CHILDREN):
            for tier, usage in spent_by_tier(tx, child).items():
                spent[tier] = spent.get(tier, Usage()) + usage
    return spent


def files_of_branch(tx: Transaction, row: Delegation) -> dict[str, str]:
    """Path → "read" or "wrote", of a delegation with whatever it delegated in turn."""
    files = files_touched(tx, row.journal)
    for run in tx.tree.children(row.journal):
        for child in tx.delegations.recent(run.id, limit=MOST_CHILDREN):
            below = files_of_branch(tx, child)
            files |= {path: what for path, what in below.items() if files.get(path) != "wrote"}
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
