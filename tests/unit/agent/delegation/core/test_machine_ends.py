"""Judgements, limits of time, and routes at random: how delegations come to an end."""

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.delegation.core.events import (
    Answered,
    Asked,
    AskHuman,
    AwaitHuman,
    CheckRequested,
    CutShort,
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
    event_draft,
    event_from_json,
    event_to_json,
    events_of,
)
from agent.delegation.core.judging.overseer import HumanRequest, Resolution
from agent.delegation.core.judging.verdict import Verdict
from agent.delegation.core.machine import advance, begin, fold
from agent.delegation.core.state import State
from agent.delegation.tables.parse import parse_table
from storage.records.entries import Draft, Entry
from tests.support.examples import examples

TABLE = parse_table(
    [
        {"condition": "There", "branches": {"seen": "report", "broken": "escalate"}},
        {"condition": "Gone", "branch": {"action": "escalate", "tier": "human"}},
        {"condition": "Deep", "branches": {"more": "expand"}},
        {"default": "escalate"},
    ]
)
TASK = Task("look", "", "worker", "overseer", 50, 2)
CRITERIA = replace(TASK, acceptance_criteria="It names three files.")


def report(condition: str, branch: str) -> Reported:
    return Reported({"condition": condition, "branch": branch, "evidence": "as it is"}, "tail")


def after(state: State, *events: Event) -> State:
    for event in events:
        state = advance(state, event)
    return state


def finished(state: State) -> Finish:
    assert isinstance(state.step, Finish)
    return state.step


def test_without_criteria_nothing_is_judged() -> None:
    assert finished(after(begin(TASK), Narrated("a"))).verdict is None


@pytest.mark.parametrize("verdict", list(Verdict))
def test_an_outcome_counts_once_it_was_judged_whatever_the_verdict(verdict: Verdict) -> None:
    judging = after(begin(CRITERIA), Narrated("a, b"))
    assert isinstance(judging.step, RunJudge)
    end = finished(after(judging, Judged(verdict, "because")))
    assert (end.status, end.summary) == ("completed", "a, b")
    assert end.verdict == {"verdict": verdict.value, "reasoning": "because"}


def test_a_fail_sends_the_same_worker_back_as_often_as_was_allowed() -> None:
    state = begin(replace(CRITERIA, retry_on_fail=2))
    for retry in (1, 2):
        state = after(state, Narrated("a"), Judged(Verdict.FAIL, f"reason {retry}"))
        assert isinstance(state.step, RunWorker)
        assert (state.step.attempt, len(state.step.told)) == (1, retry)
        assert f"reason {retry}" in state.step.told[-1]
        assert "It names three files." in state.step.told[-1]
    last = after(state, Narrated("a"), Judged(Verdict.FAIL, "still"))
    assert finished(last).verdict == {"verdict": "FAIL", "reasoning": "still"}


def test_after_a_judges_feedback_a_report_may_be_corrected_again() -> None:
    task = replace(CRITERIA, retry_on_fail=1, table=TABLE)
    wrong, right = Narrated("hm"), report("There", "seen")
    state = after(begin(task), wrong, right, Judged(Verdict.FAIL, "thin"), wrong)
    assert isinstance(state.step, RunWorker)
    assert len(state.step.told) == 3


def test_what_an_overseer_resolves_is_judged_and_what_a_person_decides_is_not() -> None:
    task = replace(CRITERIA, table=TABLE)
    resolved = after(
        begin(task), report("There", "broken"), Resolved(Resolution("ok", "seen", "log"))
    )
    assert isinstance(resolved.step, RunJudge)
    decided = after(begin(task), report("Gone", "match"), Asked(1), Answered("retry", "Ana"))
    assert isinstance(decided.step, RunWorker)
    chosen = after(begin(task), report("Gone", "match"), Asked(1), Answered("report:1:seen", "Ana"))
    assert finished(chosen).verdict is None


@pytest.mark.parametrize(
    ("event", "status", "reason"),
    [
        (TimedOut(30), "timeout", "timeout"),
        (Stalled(900), "failed", "stalled"),
        (Interrupted(), "interrupted", "interrupted"),
    ],
)
@pytest.mark.parametrize("at", [(), (report("There", "broken"),)])
def test_time_and_interruption_end_whoever_is_at_work(
    event: Event, status: str, reason: str, at: tuple[Event, ...]
) -> None:
    end = finished(after(begin(replace(CRITERIA, table=TABLE)), *at, event))
    assert (end.status, end.exit_reason) == (status, reason)
    assert end.resolved_by is None


@pytest.mark.parametrize("event", [TimedOut(30), Stalled(30)])
def test_a_judge_that_takes_too_long_is_inconclusive_and_the_work_stands(event: Event) -> None:
    end = finished(after(begin(CRITERIA), Narrated("a, b, c"), event))
    assert (end.status, end.summary, end.resolved_by) == ("completed", "a, b, c", "worker")
    assert end.verdict == {
        "verdict": "INCONCLUSIVE",
        "reasoning": "the judge gave no verdict within 30 s",
    }


HALF = CutShort("timeout", "stopped after 30 s", "two of three", "tail")


def test_what_a_worker_has_that_cannot_go_on_is_a_partial_result_that_nobody_judges() -> None:
    end = finished(after(begin(CRITERIA), HALF))
    assert (end.status, end.exit_reason, end.summary) == ("partial", "timeout", "two of three")
    assert end.warnings == ("stopped after 30 s",)
    assert end.verdict is None


def test_with_a_table_it_goes_the_way_of_the_default() -> None:
    state = after(begin(replace(TASK, table=TABLE)), HALF)
    assert isinstance(state.step, RunOverseer)
    assert (state.step.delta.observed, state.step.delta.raw_tail) == ("two of three", "tail")
    assert "stopped after 30 s" in state.step.delta.reason


def test_a_default_that_reports_is_partial_then() -> None:
    table = parse_table([{"condition": "There", "branch": "report"}, {"default": "report"}])
    end = finished(after(begin(replace(CRITERIA, table=table)), HALF))
    assert (end.status, end.exit_reason, end.branch) == ("partial", "timeout", "default")
    assert (end.summary, end.verdict) == ("two of three", None)


@pytest.mark.parametrize(("ended", "attempt"), [(False, 1), (True, 2)])
def test_a_conversation_that_has_ended_is_not_taken_up_again(ended: bool, attempt: int) -> None:
    extension = Extended([{"description": "new", "branch": "report"}], "", fresh=False)
    for more in (extension, CheckRequested("the log")):
        state = after(begin(replace(TASK, table=TABLE)), replace(HALF, ended=ended), more)
        assert isinstance(state.step, RunWorker)
        assert (state.step.attempt, state.ended) == (attempt, False)


def test_a_delegation_that_is_interrupted_while_it_is_judged_is_interrupted() -> None:
    assert finished(after(begin(CRITERIA), Narrated("a"), Interrupted())).status == "interrupted"


def test_a_delegation_starts_once() -> None:
    with pytest.raises(ValueError, match="once"):
        advance(begin(TASK), Started(TASK))


def entry_of(draft: Draft) -> Entry:
    return Entry(1, 1, None, 1, 0, draft.kind, draft.body, "", 0, 0.0)


def test_a_journal_gives_its_events_back() -> None:
    events: list[Event] = [
        Started(replace(CRITERIA, table=TABLE)),
        Judged(Verdict.FAIL, "thin"),
        TimedOut(30.5),
        Stalled(900.0),
        Expired("failed"),
    ]
    assert events_of([entry_of(event_draft(event)) for event in events]) == events


def possible(state: State) -> list[Event]:
    """What may happen at a step."""
    ends: list[Event] = [TimedOut(30), Stalled(9), Interrupted(), ModelFailed("away")]
    match state.step:
        case RunWorker():
            reports = [
                report("There", "seen"),
                report("There", "broken"),
                report("Gone", "match"),
                report("Deep", "more"),
                report("nowhere", "nothing"),
                Reported({}, "", "no JSON"),
            ]
            short: list[Event] = [
                CutShort("max_iterations", "no steps left", "half"),
                CutShort("model_error", "away", "half", ended=True),
            ]
            ends += [Narrated("text"), Exhausted(50), *short]
            return [*ends, *(reports if state.table else [])]
        case RunOverseer():
            condition = {"description": f"new {state.cycles}", "branches": {"x": "report"}}
            request = HumanRequest("What now?", ("Use the mirror",))
            resolution = Resolution("done", None, "")
            return [
                Extended([condition], "missing"),
                Extended([condition], "missing", fresh=False),
                CheckRequested("the log"),
                HumanRequested(request),
                Resolved(resolution),
                GaveUp("no idea"),
                Exhausted(10),
                *ends,
            ]
        case RunJudge():
            return [*(Judged(verdict, "so") for verdict in Verdict), *ends[:3]]
        case AskHuman():
            return [Asked(1)]
        case AwaitHuman():
            chosen = [Answered(key, "Ana") for key in ("retry", "stop", "report:1:seen")]
            options = [Answered("option:0", "Ana")] if state.options else []
            words = Answered("words", "Ana", "Look again")
            return [*chosen, words, *options, Expired("rejected"), Interrupted()]
        case Finish():
            return [Interrupted(), Answered("stop", "Bob")]


@examples(3)
@given(st.data())
def test_on_every_route_the_books_fold_to_the_state_and_limits_hold(data: Any) -> None:
    table = data.draw(st.sampled_from([TABLE, None]))
    task = replace(TASK, table=table, retry_on_fail=data.draw(st.integers(0, 2)))
    task = replace(task, acceptance_criteria=data.draw(st.sampled_from(["", "It is good."])))
    state, events = begin(task), list[Event]([Started(task)])
    for _ in range(data.draw(st.integers(0, 25))):
        before, event = state, data.draw(st.sampled_from(possible(state)))
        state = advance(state, event)
        events.append(event)
        if isinstance(before.step, Finish):
            assert state == before
        assert state.cycles <= task.max_depth
        assert state.retries <= task.retry_on_fail
        if isinstance(state.step, AskHuman):
            shown = [choice.key for choice in state.step.choices if not choice.other]
            assert shown[-3:] == ["words", "retry", "stop"]
    stored = [event_from_json(event_to_json(event)) for event in events]
    assert fold(stored) == state


@pytest.mark.parametrize(("stop", "why"), [("length", "model's limit"), ("filter", "filter cut")])
def test_a_result_says_that_the_workers_answer_ends_early(stop: str, why: str) -> None:
    cut = Narrated("Once upon", "", stop)
    (warning,) = finished(after(begin(TASK), cut)).warnings
    assert "ends early" in warning and why in warning
    with_table = after(begin(replace(TASK, table=TABLE)), cut)
    assert isinstance(with_table.step, RunWorker)
    assert why in with_table.step.told[-1]
    assert finished(after(begin(TASK), Narrated("a"))).warnings == ()
