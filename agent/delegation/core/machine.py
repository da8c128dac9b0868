"""Delegation as a state machine: (state, event) → state with the next step. Pure, no I/O.

A delegation's journal holds its events. A restart folds them and goes on with the step that comes
out; every route through a branch table is a plain function of events.
`agent.delegation.runner` carries the steps out.
"""

from collections.abc import Iterable
from dataclasses import replace
from functools import reduce
from typing import assert_never

from agent.delegation.core.events import (
    Answered,
    Asked,
    AwaitHuman,
    CheckRequested,
    CutShort,
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
    Task,
    TimedOut,
)
from agent.delegation.core.human_tier import chosen_report, instruction
from agent.delegation.core.judging.judge import Judgement, feedback, verdict_json
from agent.delegation.core.judging.overseer import Resolution
from agent.delegation.core.judging.verdict import Verdict
from agent.delegation.core.routes import cut_short, default, narrated, reported
from agent.delegation.core.sent_back import check, extension
from agent.delegation.core.state import (
    State,
    ask,
    attempt_again,
    complete,
    finish,
    send_back,
    short,
)
from agent.delegation.tables.parse import extend
from storage.records.entries import Usage


def fold(events: Iterable[Event]) -> State:
    """The state after these events; the first must be Started."""
    first, *rest = events
    assert isinstance(first, Started)
    return reduce(advance, rest, begin(first.task))


def begin(task: Task) -> State:
    return State(task=task, step=RunWorker(1), table=task.table, begun_with=task.table)


def advance(state: State, event: Event) -> State:
    """The state after one more event. A finished delegation stays finished."""
    if isinstance(state.step, Finish):
        return state
    match event:
        case Reported():
            return reported(state, event)
        case Narrated():
            return narrated(state, event)
        case Exhausted(limit, tail):
            return _exhausted(state, limit, tail)
        case TimedOut(seconds) | Stalled(seconds) if isinstance(state.step, RunJudge):
            text = f"the judge gave no verdict within {seconds:g} s"
            return _judged(state, Verdict.INCONCLUSIVE, text)
        case ModelFailed(error):
            return _model_failed(state, error)
        case CutShort():
            return cut_short(state, event)
        case Extended():
            return _extended(state, event)
        case CheckRequested(wanted):
            return _check(state, wanted)
        case Resolved(resolution):
            return _resolved(state, resolution)
        case HumanRequested(request):
            return ask(replace(state, options=request.options), request.question)
        case GaveUp(text):
            return ask(state, f"The overseer found no way on. {text}".strip())
        case Asked(question):
            return replace(state, step=AwaitHuman(question))
        case Answered():
            return _answered(state, event)
        case Judged(verdict, reasoning):
            return _judged(state, verdict, reasoning)
        case TimedOut(seconds):
            return finish(state, "timeout", f"Stopped after {seconds:g} s.", "timeout")
        case Stalled(seconds):
            text = f"Stopped: no model call and no tool was started for {seconds:g} s."
            return finish(state, "failed", text, "stalled")
        case Expired(outcome):
            return finish(state, outcome, "Nobody decided in time.", "expired")
        case Interrupted():
            return finish(state, "interrupted", "Interrupted.", "interrupted")
        case Started():
            raise ValueError("a delegation starts once")
        case _:
            assert_never(event)


def _exhausted(state: State, limit: int, tail: str) -> State:
    reason = f"no result within {limit} model calls"
    match state.step:
        case RunOverseer():
            return ask(state, f"The overseer came to {reason}.")
        case _ if state.table is not None:
            seen = Delta(f"the worker came to {reason}", reason, "", raw_tail=tail)
            return default(state, seen, None)
        case _:
            return finish(state, "failed", f"Stopped: {reason}.", "max_iterations")


def _model_failed(state: State, error: str) -> State:
    if isinstance(state.step, RunOverseer):
        return ask(state, f"The overseer model could not be called: {error}")
    return finish(state, "failed", f"The model could not be called: {error}", "model_error")


def _extended(state: State, event: Extended) -> State:
    """The same worker goes on with what is new, unless a fresh one is asked for."""
    assert state.table is not None
    before, table = state.table, extend(state.table, event.conditions)
    done = f"Overseer {state.cycles}: added outcomes. {short(event.reason)}".strip()
    fresh = event.fresh or state.ended
    state = replace(state, table=table, corrected=False, tried=(*state.tried, done))
    return attempt_again(state) if fresh else send_back(state, extension(before, table))


def _check(state: State, wanted: str) -> State:
    done = f"Overseer {state.cycles}: had the worker check: {short(wanted)}"
    state = replace(state, corrected=False, tried=(*state.tried, done))
    return send_back(state, check(wanted))


def _resolved(state: State, resolution: Resolution) -> State:
    step = Finish(
        "completed",
        resolution.summary,
        "resolved",
        resolved_by="overseer",
        branch=resolution.branch,
        evidence=resolution.evidence or None,
    )
    return complete(state, step)


def _judged(state: State, verdict: Verdict, reasoning: str) -> State:
    assert isinstance(state.step, RunJudge)
    outcome, criteria = state.step.outcome, state.task.acceptance_criteria
    judgement = Judgement(verdict, reasoning, Usage())
    if verdict is Verdict.FAIL and state.retries < state.task.retry_on_fail:
        return send_back(
            replace(state, retries=state.retries + 1, corrected=False),
            feedback(judgement, criteria),
        )
    return replace(state, step=replace(outcome, verdict=verdict_json(judgement)))


def judged_output(outcome: Finish) -> str:
    """What the judge gets to see of an outcome."""
    evidence = outcome.evidence or ""
    branch = f"Branch: {outcome.branch}" if outcome.branch else ""
    proof = f"Evidence: {evidence}" if evidence and evidence != outcome.summary else ""
    return "\n".join(part for part in (branch, outcome.summary, proof) if part)


def _answered(state: State, answer: Answered) -> State:
    what, _, rest = answer.choice.partition(":")
    name = answer.name
    match what:
        case "words":
            return _instructed(state, answer)
        case "retry":
            done = f"{name} had it tried again"
            return attempt_again(replace(state, tried=(*state.tried, done)))
        case "report":
            assert state.table is not None
            chosen = chosen_report(state.table, state.task.goal, state.delta, rest, name)
            return replace(state, step=chosen)
        case "option":
            option = state.options[int(rest)]
            summary = f"{name} decided: {option}"
            return finish(state, "completed", summary, "decided", resolved_by="human")
        case _:
            summary = f"{name} stopped it."
            return finish(state, "rejected", summary, "decided", resolved_by="human")


def _instructed(state: State, answer: Answered) -> State:
    """The worker goes on as a person said."""
    done = f"{answer.name} answered: {short(answer.words)}"
    state = replace(
        state,
        corrected=False,
        options=(),
        tried=(*state.tried, done),
        instructions=(*state.instructions, answer),
    )
    return send_back(state, instruction(answer.name, answer.words))
