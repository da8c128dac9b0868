"""Where a delegation stands, and the moves that several of its events share. Pure."""

from dataclasses import dataclass, replace
from typing import Literal

from agent.delegation.core.events import (
    Answered,
    AskHuman,
    Delta,
    Finish,
    RunJudge,
    RunWorker,
    Step,
    Task,
)
from agent.delegation.core.human_tier import choices
from agent.delegation.tables.model import BranchTable


@dataclass(frozen=True, slots=True)
class State:
    task: Task
    step: Step
    table: BranchTable | None
    """What reports are held against, with all that the overseer added."""
    begun_with: BranchTable | None
    """The table in this attempt's instructions, which stay as they are."""
    attempt: int = 1
    cycles: int = 0
    """Overseer cycles spent."""
    corrected: bool = False
    """The worker has had its one correction."""
    told: tuple[str, ...] = ()
    """What this attempt's worker was sent back with."""
    ended: bool = False
    """This attempt's conversation cannot be taken up again."""
    retries: int = 0
    """How often the judge sent a worker back."""
    delta: Delta | None = None
    """The newest escalation."""
    tried: tuple[str, ...] = ()
    options: tuple[str, ...] = ()
    """What the overseer proposed to the person."""
    instructions: tuple[Answered, ...] = ()
    """What people answered in words."""


def attempt_again(state: State) -> State:
    """A new worker, that knows the table as it is now."""
    attempt = state.attempt + 1
    return replace(
        state,
        begun_with=state.table,
        attempt=attempt,
        corrected=False,
        told=(),
        ended=False,
        options=(),
        step=RunWorker(attempt),
    )


def complete(state: State, outcome: Finish) -> State:
    """What a model says is the outcome counts once it was judged, where there are criteria."""
    judged = bool(state.task.acceptance_criteria)
    return replace(state, step=RunJudge(outcome) if judged else outcome)


def send_back(state: State, text: str) -> State:
    """The worker goes on where it ended, with this; a new one where it cannot."""
    if state.ended:
        state = attempt_again(state)
    told = (*state.told, text)
    return replace(state, told=told, step=RunWorker(state.attempt, told))


def ask(state: State, text: str) -> State:
    reached = state.delta.condition if state.delta is not None else ""
    return replace(state, step=AskHuman(text, choices(state.table, state.options, reached)))


def finish(
    state: State,
    status: Literal["completed", "failed", "interrupted", "timeout", "rejected"],
    summary: str,
    exit_reason: str,
    *,
    resolved_by: Literal["human"] | None = None,
) -> State:
    evidence = state.delta.evidence or None if state.delta is not None else None
    step = Finish(status, summary, exit_reason, resolved_by=resolved_by, evidence=evidence)
    return replace(state, step=step)


def short(text: str, limit: int = 300) -> str:
    return text if len(text) <= limit else text[: limit - 1] + "…"
