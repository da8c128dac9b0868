"""The way of a worker's report along its branch table: to a result, or up to who decides. Pure."""

from dataclasses import replace
from typing import Any, assert_never

from agent.delegation.core.arguments import Fault
from agent.delegation.core.events import (
    CutShort,
    Delta,
    Finish,
    Narrated,
    Reported,
    RunOverseer,
)
from agent.delegation.core.report import (
    Matched,
    Report,
    Unmatched,
    envelope,
    match_report,
    parse_report,
)
from agent.delegation.core.sent_back import correction
from agent.delegation.core.state import State, ask, complete, send_back, short
from agent.delegation.tables.model import DEFAULT, REPORTS, Action, ActionKind, EscalationTier
from agent.text.templates import render

NONE_OF_IT = "the worker found none of what is expected"
UNCLEAR = "the worker's report was not clear"
SILENT = "the worker gave no report"
"""Why somebody is asked, in words for people."""


def reported(state: State, event: Reported) -> State:
    assert state.table is not None
    report, tail = Fault(event.fault) if event.fault else parse_report(event.arguments), event.tail
    if isinstance(report, Fault):
        observed = _text(event.arguments) or report.text
        seen = Delta(report.text, observed, "", raw_tail=tail, plainly=UNCLEAR)
        return _unmatched(state, seen)
    found = match_report(state.table, report)
    match found:
        case Matched():
            return _matched(state, found, tail)
        case Unmatched(reason, deliberate):
            observed = report.observed_state or report.evidence
            plainly = NONE_OF_IT if deliberate else UNCLEAR
            seen = Delta(reason, observed, report.evidence, raw_tail=tail, plainly=plainly)
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
            return complete(state, step)
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


ENDS_EARLY = {
    "length": "the worker's answer ends early: it reached the model's limit",
    "filter": "the worker's answer ends early: the provider's content filter cut it",
}


def narrated(state: State, event: Narrated) -> State:
    text, early = event.text, ENDS_EARLY.get(event.stop)
    warnings = (early,) if early else ()
    if state.table is None:
        step = Finish("completed", text, "answered", resolved_by="worker", warnings=warnings)
        return complete(state, step)
    reason = "; ".join(("the worker ended in text, without a report", *warnings))
    seen = Delta(reason, text, text, raw_tail=event.tail, plainly=SILENT)
    said = Report(DEFAULT, DEFAULT, text, None, {}, text, warnings=warnings) if early else None
    return _unmatched(state, seen, said)


def _unmatched(
    state: State, seen: Delta, report: Report | None = None, *, correct: bool = True
) -> State:
    """One correction for each attempt, then the table's default with what was seen."""
    if correct and not state.corrected:
        return send_back(replace(state, corrected=True), correction(seen.reason))
    return default(state, seen, report)


def cut_short(state: State, event: CutShort) -> State:
    """A part of a result; with a table, what was found goes the way of the default."""
    state = replace(state, ended=event.ended)
    if state.table is not None:
        reason = f"the worker could not go on: {event.text}"
        seen = Delta(reason, event.found, event.found, raw_tail=event.tail)
        return default(state, seen, None, partial=event)
    part = Finish("partial", event.found, event.reason, "worker", warnings=(event.text,))
    return replace(state, step=part)


def default(
    state: State, seen: Delta, report: Report | None, partial: CutShort | None = None
) -> State:
    """The table's default; `report` is what the worker reported, where that could be read. What is
    only a part of a result is nobody's claim that the task is done, so nobody judges it."""
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
    if partial is None:
        return complete(state, step)
    warnings = (*step.warnings, partial.text)
    part = replace(step, status="partial", exit_reason=partial.reason, warnings=warnings)
    return replace(state, step=part)


def _escalate(state: State, action: Action, delta: Delta) -> State:
    seen = ": ".join(filter(None, [delta.for_people, delta.observed]))
    done = f"Attempt {state.attempt}: {short(seen)}"
    state = replace(state, delta=delta, tried=(*state.tried, done))
    if action.tier is EscalationTier.HUMAN or state.cycles >= state.task.max_depth:
        return ask(state, delta.asked or _asked(delta))
    cycles = state.cycles + 1
    return replace(state, cycles=cycles, step=RunOverseer(cycles, delta))


def _asked(delta: Delta) -> str:
    """What a person is asked where the table has no words for it."""
    found = delta.for_people if not delta.condition else f"the worker found “{delta.condition}”"
    return f"{found[:1].upper()}{short(found[1:])}. How should it go on?"


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
