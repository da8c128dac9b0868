"""Delegation as a state machine: (state, event) → state with the next step. Pure, no I/O.

A delegation's journal holds its events. A restart folds them and goes on with the step that comes
out; every route through a branch table is a plain function of events. `agent.subagent` carries the
steps out.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import reduce
from typing import Any, Literal, assert_never

from agent.delegation_events import (
    Answered,
    Asked,
    AskHuman,
    AwaitHuman,
    Delta,
    Event,
    Exhausted,
    Expired,
    Extended,
    Finish,
    GaveUp,
    HumanRequested,
    Interrupted,
    ModelFailed,
    Narrated,
    Reported,
    Resolved,
    RunOverseer,
    RunWorker,
    Started,
    Step,
    Task,
)
from agent.overseer import Resolution
from agent.report import Fault, Matched, Unmatched, envelope, match_report, parse_report
from agent.table import (
    SINGLE_BRANCH,
    Action,
    ActionKind,
    Branch,
    BranchTable,
    Condition,
    EscalationTier,
    extend,
    report_branches,
)
from agent.template import render
from storage.questions import Choice

RETRY = Choice("retry", "Try again")
STOP = Choice("stop", "Stop", "danger")
MOST_CHOICES = 25
"""As many buttons as every platform shows."""
LONGEST_LABEL = 200


@dataclass(frozen=True, slots=True)
class State:
    task: Task
    step: Step
    table: BranchTable | None
    attempt: int = 1
    cycles: int = 0
    """Overseer cycles spent."""
    corrected: bool = False
    """This attempt has had its one correction."""
    delta: Delta | None = None
    """The newest escalation."""
    tried: tuple[str, ...] = ()
    options: tuple[str, ...] = ()
    """What the overseer proposed to the person."""


def fold(events: Iterable[Event]) -> State:
    """The state after these events; the first must be Started."""
    first, *rest = events
    assert isinstance(first, Started)
    return reduce(advance, rest, begin(first.task))


def begin(task: Task) -> State:
    return State(task=task, step=RunWorker(1), table=task.table)


def advance(state: State, event: Event) -> State:
    """The state after one more event. A finished delegation stays finished."""
    if isinstance(state.step, Finish):
        return state
    match event:
        case Reported():
            return _reported(state, event)
        case Narrated(text):
            return _narrated(state, text)
        case Exhausted(limit):
            return _exhausted(state, limit)
        case ModelFailed(error):
            return _model_failed(state, error)
        case Extended(conditions, _):
            assert state.table is not None
            return _attempt_again(replace(state, table=extend(state.table, conditions)))
        case Resolved(resolution):
            return _resolved(state, resolution)
        case HumanRequested(request):
            return _ask(replace(state, options=request.options), request.question)
        case GaveUp(text):
            return _ask(state, f"The overseer found no way on. {text}".strip())
        case Asked(question):
            return replace(state, step=AwaitHuman(question))
        case Answered(choice, name):
            return _answered(state, choice, name)
        case Expired(outcome):
            return _finish(state, outcome, "Nobody decided in time.", "expired")
        case Interrupted():
            return _finish(state, "interrupted", "Interrupted.", "interrupted")
        case Started():
            raise ValueError("a delegation starts once")
        case _:
            assert_never(event)


def _reported(state: State, event: Reported) -> State:
    assert state.table is not None
    report, tail = Fault(event.fault) if event.fault else parse_report(event.arguments), event.tail
    if isinstance(report, Fault):
        observed = _text(event.arguments) or report.text
        return _unmatched(state, f"{report.text}.", observed, "", tail)
    found = match_report(state.table, report)
    match found:
        case Matched():
            return _matched(state, found, tail)
        case Unmatched(reason, deliberate):
            observed = report.observed_state or report.evidence
            return _unmatched(
                state, reason, observed, report.evidence, tail, correct=not deliberate
            )
        case _:
            assert_never(found)


def _matched(state: State, found: Matched, tail: str) -> State:
    action, report = found.branch.action, found.report
    fields = _fields(state, report.observed_state or report.evidence, report.evidence, found)
    match action.kind:
        case ActionKind.REPORT | ActionKind.REPORT_WITH_EVIDENCE:
            whole = action.kind is ActionKind.REPORT_WITH_EVIDENCE
            step = Finish(
                status="completed",
                summary=render(action.format, fields) if action.format else report.evidence,
                exit_reason="reported",
                resolved_by="worker",
                condition=found.condition.description,
                branch=found.branch.name,
                evidence=report.evidence,
                confidence=report.confidence,
                envelope=envelope(found, tail) if whole else None,
                warnings=(*report.warnings, *found.warnings),
            )
            return replace(state, step=step)
        case ActionKind.ESCALATE | ActionKind.EXPAND:
            delta = Delta(
                reason="the worker reached a branch that the table escalates",
                observed=report.observed_state or report.evidence,
                evidence=report.evidence,
                condition=found.condition.description,
                branch=found.branch.name,
                prompt=render(action.prompt, fields),
                raw_tail=tail,
                expand=action.kind is ActionKind.EXPAND,
            )
            return _escalate(state, action, delta)
        case _:
            assert_never(action.kind)


def _narrated(state: State, text: str) -> State:
    if state.table is None:
        step = Finish("completed", text, "answered", resolved_by="worker")
        return replace(state, step=step)
    return _unmatched(state, "the worker ended in text, without a report", text, text, "")


def _unmatched(
    state: State, reason: str, observed: str, evidence: str, tail: str, *, correct: bool = True
) -> State:
    """One correction for each attempt, then the table's default with what was seen."""
    if correct and not state.corrected:
        text = f"{reason} Call report_outcome again, correctly. This is the only correction."
        return replace(state, corrected=True, step=RunWorker(state.attempt, correction=text))
    return _default(state, reason, observed, evidence, tail)


def _default(state: State, reason: str, observed: str, evidence: str, tail: str) -> State:
    assert state.table is not None
    action = state.table.default
    fields = _fields(state, observed, evidence, None)
    if action.kind in (ActionKind.REPORT, ActionKind.REPORT_WITH_EVIDENCE):
        summary = render(action.format, fields) if action.format else observed or reason
        step = Finish(
            "completed",
            summary,
            "default",
            resolved_by="worker",
            branch="default",
            evidence=evidence or observed,
        )
        return replace(state, step=step)
    delta = Delta(
        reason=reason,
        observed=observed,
        evidence=evidence,
        prompt=render(action.prompt, fields),
        raw_tail=tail,
        expand=action.kind is ActionKind.EXPAND,
    )
    return _escalate(state, action, delta)


def _escalate(state: State, action: Action, delta: Delta) -> State:
    seen = delta.branch or delta.reason
    state = replace(
        state, delta=delta, tried=(*state.tried, f"Attempt {state.attempt}: {_short(seen)}")
    )
    if action.tier is EscalationTier.HUMAN or state.cycles >= state.task.max_depth:
        return _ask(state, delta.prompt or _short(delta.reason))
    cycles = state.cycles + 1
    return replace(state, cycles=cycles, step=RunOverseer(cycles, delta))


def _exhausted(state: State, limit: int) -> State:
    reason = f"no result within {limit} model calls"
    match state.step:
        case RunOverseer():
            return _ask(state, f"The overseer came to {reason}.")
        case _ if state.table is not None:
            return _unmatched(state, f"the worker came to {reason}", reason, "", "", correct=False)
        case _:
            return _finish(state, "failed", f"Stopped: {reason}.", "max_iterations")


def _model_failed(state: State, error: str) -> State:
    if isinstance(state.step, RunOverseer):
        return _ask(state, f"The overseer model could not be called: {error}")
    return _finish(state, "failed", f"The model could not be called: {error}", "model_error")


def _attempt_again(state: State) -> State:
    attempt = state.attempt + 1
    return replace(state, attempt=attempt, corrected=False, options=(), step=RunWorker(attempt))


def _resolved(state: State, resolution: Resolution) -> State:
    step = Finish(
        "completed",
        resolution.summary,
        "resolved",
        resolved_by="overseer",
        branch=resolution.branch,
        evidence=resolution.evidence or None,
    )
    return replace(state, step=step)


def _ask(state: State, text: str) -> State:
    return replace(state, step=AskHuman(text, choices(state)))


def choices(state: State) -> tuple[Choice, ...]:
    """Buttons, in order: the table's reports, the overseer's proposals, Try again, Stop. Of a table
    with very many reports, the first."""
    reports = report_branches(state.table) if state.table is not None else ()
    proposed = tuple(Choice(f"option:{i}", text) for i, text in enumerate(state.options))
    last = (*proposed, RETRY, STOP)
    shown = reports[: MOST_CHOICES - len(last)]
    return (*(_report_choice(condition, branch) for condition, branch in shown), *last)


def _report_choice(condition: Condition, branch: Branch) -> Choice:
    named = "" if branch.name == SINGLE_BRANCH else f"{branch.name}: "
    label = _short(f"{named}{condition.description}", LONGEST_LABEL)
    return Choice(f"report:{condition.number}:{branch.name}", label, "primary")


def _answered(state: State, choice: str, name: str) -> State:
    what, _, rest = choice.partition(":")
    match what:
        case "retry":
            return _attempt_again(state)
        case "report":
            return replace(state, step=_chosen_report(state, rest, name))
        case "option":
            option = state.options[int(rest)]
            summary = f"{name} decided: {option}"
            return _finish(state, "completed", summary, "decided", resolved_by="human")
        case _:
            summary = f"{name} stopped it."
            return _finish(state, "rejected", summary, "decided", resolved_by="human")


def _chosen_report(state: State, rest: str, name: str) -> Finish:
    assert state.table is not None
    number, _, branch_name = rest.partition(":")
    condition, branch = next(
        (c, b)
        for c, b in report_branches(state.table)
        if c.number == int(number) and b.name == branch_name
    )
    delta = state.delta or Delta("", "", "")
    fields = _fields(state, delta.observed, delta.evidence, None) | {
        "branch": branch.name,
        "condition": condition.description,
    }
    chosen = f"{name} decided: {branch.name} ({condition.description})."
    report = render(branch.action.format, fields) if branch.action.format else delta.observed
    return Finish(
        "completed",
        f"{chosen} {report}".strip(),
        "decided",
        resolved_by="human",
        condition=condition.description,
        branch=branch.name,
        evidence=delta.evidence or None,
    )


def _finish(
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


def _fields(state: State, observed: str, evidence: str, found: Matched | None) -> dict[str, str]:
    return {
        "observed_state": observed,
        "evidence": evidence,
        "goal": state.task.goal,
        "branch": found.branch.name if found is not None else "default",
        "condition": found.condition.description if found is not None else "",
    }


def _text(arguments: dict[str, Any]) -> str:
    return ", ".join(f"{key}: {value}" for key, value in arguments.items())


def _short(text: str, limit: int = 300) -> str:
    return text if len(text) <= limit else text[: limit - 1] + "…"
