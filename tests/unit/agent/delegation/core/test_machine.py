"""Every route through a branch table is a function of events; so are these tests."""

from typing import Any

import pytest

from agent.delegation.core.events import (
    Answered,
    Asked,
    AskHuman,
    AwaitHuman,
    CheckRequested,
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
    Task,
    event_from_json,
    event_to_json,
)
from agent.delegation.core.human_tier import is_instruction
from agent.delegation.core.judging.overseer import HumanRequest, Resolution
from agent.delegation.core.machine import advance, begin, fold
from agent.delegation.core.state import State
from agent.delegation.tables.parse import parse_table
from tests.support.seed_tables import YAML_TABLE

CHECKS = {"Feature Y toggle is visible": True, "Feature Y toggle is functional": True}


def started(table: object = YAML_TABLE, max_depth: int = 2) -> State:
    parsed = parse_table(table) if table is not None else None
    return begin(Task("Check the page", "", "worker", "overseer", 50, max_depth, parsed))


def reported(condition: object, branch: str, evidence: str = "seen", **more: Any) -> Reported:
    return Reported({"condition": condition, "branch": branch, "evidence": evidence} | more, "")


def after(state: State, *events: Event) -> State:
    for event in events:
        state = advance(state, event)
    return state


def finished(state: State) -> Finish:
    assert isinstance(state.step, Finish)
    return state.step


def test_a_worker_runs_first() -> None:
    assert started().step == RunWorker(1)


def test_a_matching_report_finishes_with_its_evidence() -> None:
    step = finished(after(started(), reported(1, "ok", "toggle works", checks=CHECKS)))
    assert (step.status, step.branch, step.resolved_by) == ("completed", "ok", "worker")
    assert step.evidence == "toggle works"
    assert step.envelope is not None
    assert step.envelope["evidence"] == "toggle works"


def test_a_report_with_a_format_is_summarised_by_it() -> None:
    step = finished(after(started(), reported("Page requires authentication", "match")))
    assert step.summary == "Auth-gated — can't verify without credentials"
    assert step.envelope is None


def test_an_escalating_branch_runs_the_overseer_with_the_delta() -> None:
    state = after(started(), reported(1, "broken", "click did nothing"))
    assert isinstance(state.step, RunOverseer)
    assert state.step.delta.prompt == "Toggle found but click failed — investigate"
    assert (state.step.delta.branch, state.step.delta.evidence) == ("broken", "click did nothing")


def test_a_branch_for_a_person_asks_at_once() -> None:
    state = after(started(), reported(2, "match", "404"))
    assert isinstance(state.step, AskHuman)
    assert state.step.text == "URL may be dead — verify or provide alternative"


def test_the_default_is_filled_with_what_was_observed() -> None:
    state = after(started(), reported("default", "default", "?", observed_state="a captcha"))
    assert isinstance(state.step, RunOverseer)
    assert state.step.delta.prompt == "Unexpected state: a captcha"


@pytest.mark.parametrize(
    "wrong",
    [
        reported(1, "no such branch"),
        reported("no such condition", "ok"),
        reported(1, "ok", checks={"Feature Y toggle is visible": False}),
        reported(1, "ok", evidence="  "),
        Narrated("It looks fine to me."),
    ],
)
def test_a_wrong_outcome_is_corrected_once_then_takes_the_default(wrong: Event) -> None:
    corrected = after(started(), wrong)
    assert isinstance(corrected.step, RunWorker)
    assert corrected.step.attempt == 1
    assert len(corrected.step.told) == 1
    assert isinstance(after(corrected, wrong).step, RunOverseer)
    right = reported(1, "ok", checks=CHECKS)
    assert finished(after(corrected, right)).branch == "ok"


CAPTCHA = [{"description": "A captcha", "branches": {"seen": {"action": "report"}}}]


def test_after_an_extension_the_same_worker_goes_on_with_what_is_new() -> None:
    begun = started()
    state = after(begun, reported("default", "default"), Extended(CAPTCHA, "missing", fresh=False))
    assert isinstance(state.step, RunWorker)
    assert state.step.attempt == 1
    (told,) = state.step.told
    assert "4. A captcha" in told
    assert "Page loads" not in told
    assert state.begun_with == begun.table
    assert finished(after(state, reported(4, "seen"))).branch == "seen"


def test_an_extension_for_a_fresh_worker_begins_a_new_attempt_with_the_whole_table() -> None:
    stored = {"conditions": CAPTCHA, "reason": "missing", "kind": "extended"}
    for extension in (Extended(CAPTCHA, "", fresh=True), event_from_json(stored)):
        state = after(started(), reported("default", "default"), extension)
        assert state.step == RunWorker(2)
        assert state.begun_with == state.table
        assert finished(after(state, reported("A captcha", "seen"))).branch == "seen"


def test_a_worker_that_went_on_may_be_corrected_again() -> None:
    wrong = Narrated("hm")
    extension = Extended(CAPTCHA, "", fresh=False)
    state = after(started(), wrong, wrong, extension, wrong)
    assert isinstance(state.step, RunWorker)
    assert [text[:5] for text in state.step.told] == ["Error", "The b", "Error"]


def test_a_check_sends_the_same_worker_back_and_counts_as_a_cycle() -> None:
    state = after(
        started(max_depth=1), reported("default", "default"), CheckRequested("the <b>log</b>")
    )
    assert isinstance(state.step, RunWorker)
    assert (state.step.attempt, len(state.step.told)) == (1, 1)
    assert "<b>log</b>" in state.step.told[0]
    assert isinstance(after(state, reported("default", "default")).step, AskHuman)


@pytest.mark.parametrize("depth", [0, 1, 2, 3])
def test_after_so_many_overseer_cycles_a_person_is_asked(depth: int) -> None:
    state = started(max_depth=depth)
    for cycle in range(depth):
        state = after(state, reported("default", "default"))
        assert isinstance(state.step, RunOverseer)
        assert state.step.cycle == cycle + 1
        condition = {"description": f"new {cycle}", "branches": {"x": {"action": "report"}}}
        state = after(state, Extended([condition], ""))
    assert isinstance(after(state, reported("default", "default")).step, AskHuman)


def test_an_overseer_that_resolves_ends_it() -> None:
    resolution = Resolved(Resolution("Renamed to Z", "not_found", "the changelog"))
    step = finished(after(started(), reported(1, "not_found"), resolution))
    assert (step.resolved_by, step.summary) == ("overseer", "Renamed to Z")


@pytest.mark.parametrize(
    "failure", [GaveUp("no idea"), ModelFailed("503"), Exhausted(10)], ids=lambda e: e.kind
)
def test_an_overseer_that_cannot_decide_leaves_it_to_a_person(failure: Event) -> None:
    assert isinstance(after(started(), reported(1, "broken"), failure).step, AskHuman)


def test_the_choices_are_of_the_condition_that_was_reached_then_proposals_then_our_own() -> None:
    request = HumanRequested(HumanRequest("What now?", ("Use the mirror", "Give up")))
    state = after(started(), reported(1, "broken"), request)
    assert isinstance(state.step, AskHuman)
    assert state.step.text == "What now?"
    assert [choice.label for choice in state.step.choices if not choice.other] == [
        "Ok",
        "Use the mirror",
        "Give up",
        "Answer in words",
        "Try again",
        "Stop",
    ]
    others = [choice.label for choice in state.step.choices if choice.other]
    assert others == ["Page requires authentication"]


def asked(question: int = 7) -> State:
    request = HumanRequested(HumanRequest("What now?", ("Use the mirror",)))
    state = after(started(), reported(1, "broken", "dead click"), request, Asked(question))
    assert state.step == AwaitHuman(question)
    return state


def test_a_person_who_answers_in_words_sends_the_worker_on_with_them() -> None:
    state = after(asked(), Answered("words", "Ana", "Look behind the banner.\n</instruction>"))
    assert isinstance(state.step, RunWorker)
    assert (state.step.attempt, len(state.step.told)) == (1, 1)
    told = state.step.told[0]
    assert is_instruction(told)
    assert 'by="Ana">\nLook behind the banner.\n</instruction>\n</instruction-' in told
    assert state.tried[-1].startswith("Ana answered: Look behind")
    assert [answer.words for answer in state.instructions] == [
        "Look behind the banner.\n</instruction>"
    ]


def test_after_words_the_worker_has_a_correction_again_and_may_escalate_again() -> None:
    wrong = reported(1, "no such branch")
    state = after(asked(), Answered("words", "Ana", "Look again"), wrong)
    assert isinstance(state.step, RunWorker)
    assert len(state.step.told) == 2
    state = after(state, reported(1, "broken"))
    assert isinstance(state.step, RunOverseer)
    assert state.cycles == 2


def test_an_answer_that_an_older_version_stored_has_no_words() -> None:
    stored = {"kind": "answered", "choice": "retry", "name": "Ana"}
    assert event_from_json(stored) == Answered("retry", "Ana")


def test_a_person_who_picks_a_branch_ends_it_with_that_branch() -> None:
    step = finished(after(asked(), Answered("report:1:ok", "Ana")))
    assert (step.status, step.branch, step.resolved_by) == ("completed", "ok", "human")
    assert "Ana" in step.summary


def test_a_person_who_picks_a_proposal_ends_it_with_those_words() -> None:
    step = finished(after(asked(), Answered("option:0", "Ana")))
    assert (step.status, step.summary) == ("completed", "Ana decided: Use the mirror")


def test_try_again_runs_a_fresh_worker() -> None:
    assert after(asked(), Answered("retry", "Ana")).step == RunWorker(2)


@pytest.mark.parametrize(
    ("event", "status"),
    [
        (Answered("stop", "Ana"), "rejected"),
        (Expired("rejected"), "rejected"),
        (Expired("failed"), "failed"),
        (Interrupted(), "interrupted"),
    ],
)
def test_stop_silence_and_interruption_end_it(event: Event, status: str) -> None:
    assert finished(after(asked(), event)).status == status


def test_a_finished_delegation_stays_finished() -> None:
    state = after(asked(), Answered("stop", "Ana"))
    assert after(state, Answered("report:1:ok", "Bob"), Interrupted()) == state


def test_without_a_table_the_final_text_is_the_summary() -> None:
    step = finished(after(started(None), Narrated("Done: 3 files.")))
    assert (step.status, step.summary) == ("completed", "Done: 3 files.")


def test_without_a_table_the_iteration_limit_is_a_failure() -> None:
    step = finished(after(started(None), Exhausted(50)))
    assert (step.status, step.exit_reason) == ("failed", "max_iterations")


def test_an_expand_branch_has_the_overseer_write_sub_branches() -> None:
    table = [{"condition": "Deep", "branches": {"more": "expand"}}, {"default": "escalate"}]
    state = after(started(table), reported(1, "more"))
    assert isinstance(state.step, RunOverseer)
    assert state.step.delta.expand


def test_events_survive_storage_and_fold_to_the_same_state() -> None:
    task = started().task
    events: list[Event] = [
        Started(task),
        reported(1, "broken", "dead click"),
        HumanRequested(HumanRequest("What now?", ("Use the mirror",))),
        Asked(7),
        Answered("retry", "Ana"),
        Narrated("hm"),
        Exhausted(3),
        Resolved(Resolution("ok", None, "")),
    ]
    stored = [event_from_json(event_to_json(event)) for event in events]
    assert stored == events
    assert fold(stored) == after(begin(task), *events[1:])
