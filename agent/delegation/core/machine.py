"""Delegation as a state machine: (state, event) → state with the next step. Pure, no I/O.

A delegation's journal holds its events. A restart folds them and goes on with the step that comes
out; every route through a branch table is a plain function of events.
`agent.delegation.runner` carries the steps out.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import reduce
from typing import Any, Literal, assert_never

from agent.delegation.core.arguments import Fault
from agent.delegation.core.events import (
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
    Judged,
    ModelFailed,
    Narrated,
    Reported,
    Resolved,
    RunJudge,
    RunOverseer,
    RunWorker,
    Stalled,
    Started,
    Step,
    Task,
    TimedOut,
)
from agent.delegation.core.human_tier import choices, chosen_report, instruction
from agent.delegation.core.judge import Judgement, Verdict, feedback, verdict_json
from agent.delegation.core.overseer import Resolution
from agent.delegation.core.report import (
    Matched,
    Report,
    Unmatched,
    envelope,
    match_report,
    parse_report,
)
from agent.delegation.tables.model import (
    DEFAULT,
    REPORTS,
    Action,
    ActionKind,
    BranchTable,
    EscalationTier,
)
from agent.delegation.tables.parse import extend
from agent.text.templates import render
from storage.records.entries import Usage


@dataclass(frozen=True, slots=True)
class State:
    task: Task
    step: Step
    table: BranchTable | None
    attempt: int = 1
    cycles: int = 0
    """Overseer cycles spent."""
    corrected: bool = False
    """The worker has had its one correction."""
    told: tuple[str, ...] = ()
    """What this attempt's worker was sent back with."""
    retries: int = 0
    """How often the judge sent a worker back."""
    delta: Delta | None = None
    """The newest escalation."""
    tried: tuple[str, ...] = ()
    options: tuple[str, ...] = ()
    """What the overseer proposed to the person."""
    instructions: tuple[Answered, ...] = ()
    """What people answered in words."""


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
        case Narrated(text, tail):
            return _narrated(state, text, tail)
        case Exhausted(limit, tail):
            return _exhausted(state, limit, tail)
        case TimedOut(seconds) | Stalled(seconds) if isinstance(state.step, RunJudge):
            text = f"the judge gave no verdict within {seconds:g} s"
            return _judged(state, Verdict.INCONCLUSIVE, text)
        case ModelFailed(error):
            return _model_failed(state, error)
        case Extended(conditions, reason):
            return _extended(state, conditions, reason)
        case Resolved(resolution):
            return _resolved(state, resolution)
        case HumanRequested(request):
            return _ask(replace(state, options=request.options), request.question)
        case GaveUp(text):
            return _ask(state, f"The overseer found no way on. {text}".strip())
        case Asked(question):
            return replace(state, step=AwaitHuman(question))
        case Answered():
            return _answered(state, event)
        case Judged(verdict, reasoning):
            return _judged(state, verdict, reasoning)
        case TimedOut(seconds):
            return _finish(state, "timeout", f"Stopped after {seconds:g} s.", "timeout")
        case Stalled(seconds):
            text = f"Stopped: no model call and no tool was started for {seconds:g} s."
            return _finish(state, "failed", text, "stalled")
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
        return _unmatched(state, Delta(report.text, observed, "", raw_tail=tail))
    found = match_report(state.table, report)
    match found:
        case Matched():
            return _matched(state, found, tail)
        case Unmatched(reason, deliberate):
            observed = report.observed_state or report.evidence
            seen = Delta(reason, observed, report.evidence, raw_tail=tail)
            return _unmatched(state, seen, report, correct=not deliberate)
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
            return _complete(state, step)
        case ActionKind.ESCALATE | ActionKind.EXPAND:
            delta = Delta(
                reason="the worker reached a branch that the table escalates",
                observed=report.observed_state or report.evidence,
                evidence=report.evidence,
                condition=found.condition.description,
                branch=found.branch.name,
                prompt=render(action.prompt, fields),
                asked=render(action.prompt, fields, marked=True),
                raw_tail=tail,
                expand=action.kind is ActionKind.EXPAND,
            )
            return _escalate(state, action, delta)
        case _:
            assert_never(action.kind)


def _narrated(state: State, text: str, tail: str) -> State:
    if state.table is None:
        return _complete(state, Finish("completed", text, "answered", resolved_by="worker"))
    reason = "the worker ended in text, without a report"
    return _unmatched(state, Delta(reason, text, text, raw_tail=tail))


def _unmatched(
    state: State, seen: Delta, report: Report | None = None, *, correct: bool = True
) -> State:
    """One correction for each attempt, then the table's default with what was seen."""
    if correct and not state.corrected:
        wrong = seen.reason.removesuffix(".")
        text = f"{wrong}. Call report_outcome again, correctly. This is the only correction."
        return _send_back(replace(state, corrected=True), text)
    return _default(state, seen, report)


def _default(state: State, seen: Delta, report: Report | None) -> State:
    """The table's default; `report` is what the worker reported, where that could be read."""
    assert state.table is not None
    action = state.table.default
    fields = _fields(state, seen.observed, seen.evidence, None)
    if action.kind not in REPORTS:
        delta = replace(
            seen,
            prompt=render(action.prompt, fields),
            asked=render(action.prompt, fields, marked=True),
            expand=action.kind is ActionKind.EXPAND,
        )
        return _escalate(state, action, delta)
    said = report or Report(DEFAULT, DEFAULT, seen.evidence, None, {}, seen.observed)
    whole = action.kind is ActionKind.REPORT_WITH_EVIDENCE
    step = Finish(
        status="completed",
        summary=render(action.format, fields) if action.format else seen.observed or seen.reason,
        exit_reason="default",
        resolved_by="worker",
        branch=DEFAULT,
        evidence=seen.evidence or seen.observed,
        confidence=said.confidence,
        envelope=envelope(said, seen.raw_tail) if whole else None,
        warnings=said.warnings,
    )
    return _complete(state, step)


def _escalate(state: State, action: Action, delta: Delta) -> State:
    seen = ": ".join(filter(None, [delta.branch or delta.reason, delta.observed]))
    done = f"Attempt {state.attempt}: {_short(seen)}"
    state = replace(state, delta=delta, tried=(*state.tried, done))
    if action.tier is EscalationTier.HUMAN or state.cycles >= state.task.max_depth:
        return _ask(state, delta.asked or _short(delta.reason))
    cycles = state.cycles + 1
    return replace(state, cycles=cycles, step=RunOverseer(cycles, delta))


def _exhausted(state: State, limit: int, tail: str) -> State:
    reason = f"no result within {limit} model calls"
    match state.step:
        case RunOverseer():
            return _ask(state, f"The overseer came to {reason}.")
        case _ if state.table is not None:
            seen = Delta(f"the worker came to {reason}", reason, "", raw_tail=tail)
            return _default(state, seen, None)
        case _:
            return _finish(state, "failed", f"Stopped: {reason}.", "max_iterations")


def _model_failed(state: State, error: str) -> State:
    if isinstance(state.step, RunOverseer):
        return _ask(state, f"The overseer model could not be called: {error}")
    return _finish(state, "failed", f"The model could not be called: {error}", "model_error")


def _attempt_again(state: State) -> State:
    attempt = state.attempt + 1
    return replace(
        state, attempt=attempt, corrected=False, told=(), options=(), step=RunWorker(attempt)
    )


def _extended(state: State, conditions: Any, reason: str) -> State:
    assert state.table is not None
    done = f"Overseer {state.cycles}: extended the table. {_short(reason)}".strip()
    table = extend(state.table, conditions)
    return _attempt_again(replace(state, table=table, tried=(*state.tried, done)))


def _resolved(state: State, resolution: Resolution) -> State:
    step = Finish(
        "completed",
        resolution.summary,
        "resolved",
        resolved_by="overseer",
        branch=resolution.branch,
        evidence=resolution.evidence or None,
    )
    return _complete(state, step)


def _complete(state: State, outcome: Finish) -> State:
    """What a model says is the outcome counts once it was judged, where there are criteria."""
    judged = bool(state.task.acceptance_criteria)
    return replace(state, step=RunJudge(outcome) if judged else outcome)


def _judged(state: State, verdict: Verdict, reasoning: str) -> State:
    assert isinstance(state.step, RunJudge)
    outcome, criteria = state.step.outcome, state.task.acceptance_criteria
    judgement = Judgement(verdict, reasoning, Usage())
    if verdict is Verdict.FAIL and state.retries < state.task.retry_on_fail:
        return _send_back(
            replace(state, retries=state.retries + 1, corrected=False),
            feedback(judgement, criteria),
        )
    said = verdict_json(judgement, judged_output(outcome))
    return replace(state, step=replace(outcome, verdict=said))


def judged_output(outcome: Finish) -> str:
    """What the judge gets to see of an outcome."""
    evidence = outcome.evidence or ""
    branch = f"Branch: {outcome.branch}" if outcome.branch else ""
    proof = f"Evidence: {evidence}" if evidence and evidence != outcome.summary else ""
    return "\n".join(part for part in (branch, outcome.summary, proof) if part)


def _send_back(state: State, text: str) -> State:
    """The worker goes on where it ended, with this."""
    told = (*state.told, text)
    return replace(state, told=told, step=RunWorker(state.attempt, told))


def _ask(state: State, text: str) -> State:
    reached = state.delta.condition if state.delta is not None else ""
    return replace(state, step=AskHuman(text, choices(state.table, state.options, reached)))


def _answered(state: State, answer: Answered) -> State:
    what, _, rest = answer.choice.partition(":")
    name = answer.name
    match what:
        case "words":
            return _instructed(state, answer)
        case "retry":
            return _attempt_again(state)
        case "report":
            assert state.table is not None
            chosen = chosen_report(state.table, state.task.goal, state.delta, rest, name)
            return replace(state, step=chosen)
        case "option":
            option = state.options[int(rest)]
            summary = f"{name} decided: {option}"
            return _finish(state, "completed", summary, "decided", resolved_by="human")
        case _:
            summary = f"{name} stopped it."
            return _finish(state, "rejected", summary, "decided", resolved_by="human")


def _instructed(state: State, answer: Answered) -> State:
    """The worker goes on as a person said."""
    done = f"{answer.name} answered: {_short(answer.words)}"
    state = replace(
        state,
        corrected=False,
        options=(),
        tried=(*state.tried, done),
        instructions=(*state.instructions, answer),
    )
    return _send_back(state, instruction(answer.name, answer.words))


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
