"""When a context is due to be compacted, and where it is cut."""

from collections.abc import Callable, Sequence
from itertools import count
from typing import Any

import hypothesis.strategies as st
import pytest
from hypothesis import given

from agent.compaction.cut import (
    DEFAULT_WINDOW,
    Cut,
    context_tokens,
    cut,
    due,
    recent_tokens,
)
from agent.runtime.context import context
from agent.runtime.next_step import suspended_calls
from storage.records.entries import Entry, Json, Kind, record
from storage.tree.paths import from_first_kept
from tests.support.small_paths import SmallPath

FORTY = "x" * 40
"""Ten tokens."""


def talk(turns: int, text: str = FORTY) -> SmallPath:
    """Turns of a person's message and an answer."""
    path = SmallPath()
    for _ in range(turns):
        path.user(text)
        path.assistant(text)
    return path


def made(path: Sequence[Entry], keep: int) -> Cut:
    found = cut(path, keep)
    assert found is not None
    return found


def compact(path: SmallPath, keep: int, summary: str = "so far") -> Cut:
    """Cut, and append the compaction."""
    found = made(path.path, keep)
    path.compaction(found.first_kept, summary)
    return found


# How large a context is.


def test_without_a_report_all_of_a_context_is_estimated() -> None:
    path = SmallPath()
    assert context_tokens(path.path) == 0
    path.user("x" * 10)
    assert context_tokens(path.path) == 3
    path.label()
    path.add(Kind.RECORD, record("step", data="x" * 4_000))
    assert context_tokens(path.path) == 3
    path.branch_summary(FORTY)
    assert context_tokens(path.path) == 13


def test_calls_and_what_is_told_while_they_wait_count() -> None:
    path = SmallPath()
    caller = path.calls("a", "b", content="x" * 400)
    assert context_tokens(path.path) > 200
    before = context_tokens(path.path)
    path.suspended(caller, "a", FORTY)
    assert context_tokens(path.path) == before + 10
    path.result(caller, "b", FORTY)
    assert context_tokens(path.path) == before + 20


def test_what_the_newest_answer_reported_counts_for_all_before_it() -> None:
    path = talk(3)
    path.assistant("old", usage={"input": 5_000, "output": 5_000, "cost": 0.1})
    path.assistant(FORTY, usage={"input": 700, "output": 60, "cost": None})
    assert context_tokens(path.path) == 760
    path.user(FORTY)
    path.assistant(FORTY, usage={"input": 0, "output": 0, "cost": None})
    assert context_tokens(path.path) == 780


@pytest.mark.parametrize(
    "usage", [None, {}, [], "many", {"input": "9", "output": None}, {"input": -9}]
)
def test_a_report_without_numbers_is_none(usage: Any) -> None:
    path = SmallPath()
    path.assistant(FORTY, usage=usage)
    assert context_tokens(path.path) == 10


def test_what_was_reported_before_a_compaction_does_not_count() -> None:
    path = talk(1)
    kept = path.user(FORTY)
    path.assistant(FORTY, usage={"input": 90_000, "output": 9})
    path.compaction(kept.id, FORTY)
    assert context_tokens(path.path) == 30
    path.user(FORTY)
    assert context_tokens(path.path) == 40
    path.assistant(FORTY, usage={"input": 500, "output": 1})
    assert context_tokens(path.path) == 501


def test_only_the_newest_summary_counts() -> None:
    path = talk(1)
    path.compaction(path.entries[1].id, "x" * 4_000)
    path.compaction(path.entries[1].id, FORTY)
    assert context_tokens(path.path) == 20


# Where a path is cut.


def test_a_cut_keeps_the_latest_turns_that_fit() -> None:
    path = talk(5)
    found = made(path.path, 45)
    assert found.first_kept == path.entries[6].id
    assert found.summarised == path.path[:6]
    assert found.previous is None
    assert found.tokens_before == 100


@pytest.mark.parametrize("keep", [100, 1_000])
def test_what_fits_is_not_cut(keep: int) -> None:
    assert cut(talk(5).path, keep) is None
    assert cut((), keep) is None


def test_a_single_message_is_not_cut() -> None:
    path = SmallPath()
    path.label()
    path.user("x" * 4_000)
    assert cut(path.path, 10) is None
    path.assistant()
    assert made(path.path, 10).first_kept == path.entries[-1].id


def test_a_turn_that_is_too_large_is_cut_before_an_answer_of_its_model() -> None:
    path = talk(2)
    path.user(FORTY)
    for number in range(6):
        path.called(f"c{number}", "look", FORTY)
    found = made(path.path, 100)
    first = next(e for e in path.path if e.id == found.first_kept)
    assert first.body["role"] == "assistant" and first.body["tool_calls"]
    assert path.entries.index(first) > 4


def test_the_beginning_of_a_turn_is_preferred() -> None:
    path = talk(4)
    assert made(path.path, 35).first_kept == path.entries[6].id


def test_a_turn_that_has_just_begun_does_not_push_out_what_still_fits() -> None:
    path = SmallPath()
    path.user(FORTY)
    for number in range(4):
        path.called(f"c{number}", "look", "x" * 400)
    path.user("ok")
    found = made(path.path, 300)
    assert found.first_kept in [e.id for e in path.entries[3:8]]


def test_where_nothing_fits_as_little_as_possible_is_kept() -> None:
    path = talk(3)
    caller = path.calls("a", "b")
    path.result(caller, "a", "x" * 4_000)
    path.result(caller, "b", "x" * 4_000)
    assert made(path.path, 10).first_kept == caller.id


def test_labels_and_records_stay_with_what_they_follow() -> None:
    path = talk(2)
    path.entries = path.entries[:2]
    path.label()
    path.add(Kind.RECORD, record("step"))
    path.add(Kind.MODEL_CHANGE, {"model": "m"})
    kept = path.user(FORTY)
    path.assistant(FORTY)
    found = made(path.path, 20)
    assert found.first_kept == kept.id
    assert found.summarised == path.path[:5]


def late_result(path: SmallPath, caller: Entry) -> None:
    path.suspended(caller, "a")
    path.user(FORTY)
    path.assistant(FORTY)
    path.result(caller, "a", "at last")


def results_of_two(path: SmallPath, caller: Entry) -> None:
    path.result(caller, "a", FORTY)
    path.label()
    path.result(caller, "b", FORTY)


def record_after_talk(path: SmallPath, caller: Entry) -> None:
    path.user(FORTY)
    path.suspended(caller, "a")
    path.result(caller, "a", FORTY)


@pytest.mark.parametrize("belonging", [late_result, results_of_two, record_after_talk])
def test_what_belongs_to_a_call_stays_with_it(
    belonging: Callable[[SmallPath, Entry], None],
) -> None:
    path = talk(2)
    caller = path.calls("a", "b")
    belonging(path, caller)
    last = path.entries[-1]
    path.user(FORTY)
    path.assistant(FORTY)
    inside = range(path.entries.index(caller) + 1, path.entries.index(last) + 1)
    for keep in range(0, 200, 5):
        found = cut(path.path, keep)
        assert found is None or len(found.summarised) not in inside


def test_from_a_call_that_waits_for_a_person_on_everything_is_kept() -> None:
    path = talk(2)
    caller = path.calls("a", "b")
    path.result(caller, "b")
    path.suspended(caller, "a")
    for _ in range(10):
        path.user(FORTY)
        path.assistant(FORTY)
    assert made(path.path, 20).first_kept == caller.id
    path.result(caller, "a")
    path.user(FORTY)
    path.assistant(FORTY)
    assert made(path.path, 20).first_kept == path.entries[-2].id


def test_a_result_that_does_not_say_whose_it_is_belongs_to_the_newest_call_with_its_id() -> None:
    path = talk(1)
    path.calls("a")
    between = path.user(FORTY)
    path.calls("a")
    path.add(Kind.MESSAGE, {"role": "tool", "content": FORTY, "tool_call_id": "a"})
    assert made(path.path, 50).first_kept == between.id


def test_a_branch_summary_begins_what_is_kept() -> None:
    path = talk(3)
    summary = path.branch_summary(FORTY)
    path.user(FORTY)
    path.assistant(FORTY)
    assert made(path.path, 30).first_kept == summary.id


# The second compaction.


def test_a_second_compaction_summarises_what_the_first_kept() -> None:
    path = talk(4)
    first = compact(path, 40)
    former = path.entries[-1]
    kept_by_first = path.path[4:8]
    for _ in range(2):
        path.user(FORTY)
        path.assistant(FORTY)
    second = made(path.path, 40)
    assert first.summarised == path.path[:4]
    assert second.summarised == kept_by_first
    assert second.previous == former
    assert second.first_kept == path.entries[9].id


def test_a_second_compaction_may_keep_part_of_what_the_first_kept() -> None:
    path = talk(4)
    compact(path, 40)
    path.user(FORTY)
    path.assistant(FORTY)
    second = compact(path, 45)
    assert second.summarised == path.path[4:6]
    assert second.first_kept == path.entries[6].id
    messages = context(path.path)
    assert len(messages) == 5


def test_nothing_new_is_nothing_to_compact() -> None:
    path = talk(5)
    compact(path, 45)
    assert cut(path.path, 45) is None


def test_a_former_summary_alone_is_nothing_to_compact() -> None:
    path = talk(2)
    path.compaction(None, "x" * 4_000)
    path.user("x" * 400)
    assert cut(path.path, 10) is None


# When it is due.


def test_a_compaction_is_due_above_the_threshold() -> None:
    path = talk(40)
    assert not due(path.path, 1_000, 0.8, 100)
    path.user()
    assert due(path.path, 1_000, 0.8, 100)
    assert not due(path.path, None, 0.8, 100)


def test_a_window_that_is_not_configured_is_a_usual_one() -> None:
    path = talk(2)
    path.assistant(usage={"input": DEFAULT_WINDOW, "output": 1})
    assert due(path.path, None, 1.0, 10)
    assert not due(path.path, None, 1.1, 10)


def test_a_small_window_can_be_compacted() -> None:
    path = talk(50)
    assert recent_tokens(1_000, 0.8, 20_000) == 400
    assert recent_tokens(1_000, 0.8, 800) == 400
    assert recent_tokens(1_000, 0.8, 799) == 799
    assert recent_tokens(None, 0.8, 20_000) == 20_000
    assert due(path.path, 1_000, 0.8, 20_000)
    compact(path, recent_tokens(1_000, 0.8, 20_000))
    assert context_tokens(path.path) < 800
    assert not due(path.path, 1_000, 0.8, 20_000)


def test_what_cannot_be_cut_is_not_due() -> None:
    path = SmallPath()
    path.user("x" * 40_000)
    assert not due(path.path, 1_000, 0.8, 100)


# Random paths. Calls share ids, wait, and get their results late or never.


@st.composite
def _paths(draw: st.DrawFn, imported: bool = False) -> SmallPath:
    """With `imported`, compactions stand anywhere and name anything; else each was cut here."""
    path, numbers = SmallPath(), count()
    open_calls: list[tuple[Entry, str]] = []

    def text() -> str:
        return f"text {next(numbers)}." + "x" * draw(st.sampled_from([0, 40, 400]))

    for kind in draw(st.lists(st.sampled_from("uuaaccrrrslbk"), max_size=30)):
        match kind:
            case "u":
                path.user(text())
            case "a":
                path.assistant(text())
            case "c":
                ids = draw(st.lists(st.sampled_from("ab"), min_size=1, unique=True))
                caller = path.calls(*ids, text=text())
                open_calls += [(caller, id_) for id_ in ids]
            case "r" if open_calls:
                which = open_calls.pop(draw(st.integers(0, len(open_calls) - 1)))
                path.result(*which, text())
            case "s" if open_calls:
                path.suspended(*draw(st.sampled_from(open_calls)), text())
            case "l":
                path.label()
            case "b":
                path.branch_summary(text())
            case "k" if imported:
                path.compaction(draw(st.none() | st.integers(100, 130)), text())
            case "k" if (found := cut(path.path, draw(_keeps))) is not None:
                path.compaction(found.first_kept, text())
            case _:
                pass
    return path


_keeps = st.sampled_from([0, 10, 50, 150, 300])
_any_paths = st.booleans().flatmap(_paths)


def _ids(entries: Sequence[Entry]) -> list[int]:
    return [entry.id for entry in entries if entry.kind is Kind.MESSAGE]


def _dangling(messages: Sequence[Json]) -> list[str]:
    """Calls without a result directly behind them."""
    awaited: list[str] = []
    for m in messages:
        if m["role"] == "tool":
            awaited.remove(m["tool_call_id"])
        elif awaited:
            break
        else:
            awaited = [call["id"] for call in m.get("tool_calls", ())]
    return awaited


@given(_any_paths, _keeps)
def test_what_is_kept_is_told_as_it_was_below_a_summary(path: SmallPath, keep: int) -> None:
    before = context(path.path)
    found = cut(path.path, keep)
    if found is None:
        return
    path.compaction(found.first_kept, "the new summary")
    after = context(path.path)
    assert "the new summary" in after[0]["content"] and after[0]["role"] == "user"
    assert after[1:] == before[len(before) - len(after) + 1 :]
    assert len(after) > 1 and after[1]["role"] != "tool"
    assert _dangling(after) == []


@given(_any_paths, _keeps)
def test_each_message_is_summarised_or_kept(path: SmallPath, keep: int) -> None:
    found = cut(path.path, keep)
    if found is None:
        return
    visible = from_first_kept(path.path)
    path.compaction(found.first_kept)
    kept = from_first_kept(path.path)
    assert _ids(found.summarised) + _ids(kept) == _ids(visible)
    assert _ids(found.summarised) and kept[0].id == found.first_kept
    assert all(entry.kind is not Kind.COMPACTION for entry in found.summarised)


@given(st.lists(st.tuples(_paths(), _keeps), min_size=1, max_size=4))
def test_over_many_compactions_each_message_is_summarised_once(
    rounds: list[tuple[SmallPath, int]],
) -> None:
    path = SmallPath()
    summarised: list[int] = []
    for more, keep in rounds:
        for entry in more.path:
            if entry.kind is not Kind.COMPACTION:
                path.add(entry.kind, entry.body)
        if (found := cut(path.path, keep)) is not None:
            summarised += _ids(found.summarised)
            path.compaction(found.first_kept)
    assert summarised + _ids(from_first_kept(path.path)) == _ids(path.path)


@given(_paths(), _keeps)
def test_no_call_is_parted_from_what_tells_of_it(path: SmallPath, keep: int) -> None:
    visible = from_first_kept(path.path)
    found = cut(path.path, keep)
    if found is None:
        return
    cut_off = {entry.id for entry in found.summarised}
    for entry in visible:
        caller = entry.body.get("call_entry")
        if caller in {e.id for e in visible}:
            assert (entry.id in cut_off) == (caller in cut_off)
    assert not cut_off & {caller for caller, _ in suspended_calls(visible)}


@given(_any_paths, _keeps)
def test_a_cut_needs_no_more_than_what_a_context_is_made_of(path: SmallPath, keep: int) -> None:
    assert cut(path.path, keep) == cut(from_first_kept(path.path), keep)
    assert context_tokens(path.path) == context_tokens(from_first_kept(path.path))


@given(_any_paths, _keeps)
def test_nothing_is_compacted_twice(path: SmallPath, keep: int) -> None:
    if (found := cut(path.path, keep)) is not None:
        path.compaction(found.first_kept)
        assert cut(path.path, keep) is None
