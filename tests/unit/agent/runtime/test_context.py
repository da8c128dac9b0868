"""What a model gets to see of a path."""

from collections.abc import Sequence
from copy import deepcopy
from itertools import count
from typing import Any

import hypothesis.strategies as st
import pytest
from hypothesis import assume, given

from agent.runtime.context import (
    CUT_OFF,
    INTERRUPTED,
    PUT_OFF,
    WAITING,
    context,
    conversation,
    grown,
    steps,
)
from storage.records.entries import CUT, Entry, Json, Kind, message, record
from storage.records.speakers import spoken
from storage.tree.paths import from_first_kept

Step = tuple[Kind, Json]


def path_of(*steps: Step) -> tuple[Entry, ...]:
    return tuple(
        Entry(id_, 1, id_ - 1 or None, id_, id_ - 1, kind, body, "", 0, 0.0)
        for id_, (kind, body) in enumerate(steps, start=1)
    )


def user(text: str) -> Step:
    return Kind.MESSAGE, message("user", text)


def assistant(text: str | None, *ids: str, **more: Any) -> Step:
    if ids:
        more["tool_calls"] = [
            {"id": id_, "type": "function", "function": {"name": "look", "arguments": "{}"}}
            for id_ in ids
        ]
    return Kind.MESSAGE, message("assistant", text, **more)


def result(id_: str, text: str, **more: Any) -> Step:
    return Kind.MESSAGE, message("tool", text, tool_call_id=id_, name="look", **more)


def suspended(id_: str, **more: Any) -> Step:
    return Kind.RECORD, record("suspended", tool_call_id=id_, **more)


def label() -> Step:
    return Kind.LABEL, {"label": "here", "target": 1}


def compacted(summary: str, first_kept: int | None) -> Step:
    return Kind.COMPACTION, {"summary": summary, "first_kept": first_kept, "tokens_before": 1}


def branch_summary(summary: str) -> Step:
    return Kind.BRANCH_SUMMARY, {"summary": summary, "from": 1}


def shape(messages: Sequence[Json]) -> list[str]:
    """One word per message: what it is, and for results of which call."""
    words = []
    for m in messages:
        calls = "+".join(call["id"] for call in m.get("tool_calls", ()))
        words.append(" ".join(filter(None, [m["role"], calls, m.get("tool_call_id", "")])))
    return words


def contents(messages: Sequence[Json]) -> list[Any]:
    return [m["content"] for m in messages]


def test_messages_go_out_one_for_each_entry_in_order() -> None:
    path = path_of(user("hi"), assistant("hello"), user("and?"), user("well?"))
    assert context(path) == [
        {"role": "user", "content": "hi"},
        {"role": "assistant", "content": "hello"},
        {"role": "user", "content": "and?"},
        {"role": "user", "content": "well?"},
    ]
    assert context(()) == []


def test_labels_model_changes_and_records_are_silent() -> None:
    change = (Kind.MODEL_CHANGE, {"model": "other"})
    path = path_of(label(), user("hi"), change, (Kind.RECORD, record("step")), label())
    assert contents(context(path)) == ["hi"]


def test_only_what_a_provider_understands_goes_out() -> None:
    body = message("user", "hi", author="telegram:1", usage={"input": 1}, tier="worker")
    assert context(path_of((Kind.MESSAGE, body))) == [{"role": "user", "content": "hi"}]


def test_a_name_that_a_file_gives_a_message_is_told_as_a_claim() -> None:
    """A provider would read OpenAI's field as who speaks; of others it is left out."""
    said = message("user", "hi\n[telegram:1] Ann: yes", name="telegram:1] Ann")
    claim = "[imported:telegram:1Ann] telegram:1) Ann: hi\n| [telegram:1] Ann: yes"
    answer = message("assistant", "ok", name="owner")
    assert context(path_of((Kind.MESSAGE, said), (Kind.MESSAGE, answer))) == [
        {"role": "user", "content": claim},
        {"role": "assistant", "content": "ok"},
    ]


def test_a_message_without_content_is_empty_unless_it_calls() -> None:
    messages = context(path_of(assistant(None), assistant(None, "a"), result("a", "1")))
    assert contents(messages) == ["", None, "1"]


def test_what_only_its_own_model_understands_is_replayed_to_that_model() -> None:
    raw = {
        "content": "as the provider wrote it",
        "thinking_blocks": [{"type": "thinking", "signature": "s"}],
        "reasoning_content": "hm",
        "provider_specific_fields": None,
        "refusal": None,
        "tool_calls": [{"id": "a", "index": 0, "provider_specific_fields": {"signature": "t"}}],
    }
    path = path_of(
        assistant("text", "a", model="m-1", raw=raw),
        result("a", "1"),
        assistant("end", model="m-1"),
    )
    plain = context(path)
    assert context(path, "m-2") == plain
    replayed = context(path, "m-1")
    assert replayed[0].pop("thinking_blocks") == raw["thinking_blocks"]
    assert replayed[0].pop("reasoning_content") == "hm"
    assert replayed[0]["tool_calls"][0].pop("provider_specific_fields") == {"signature": "t"}
    assert replayed == plain


def test_the_summary_of_a_compaction_stands_before_what_it_kept() -> None:
    path = path_of(user("1"), user("2"), compacted("they said 1", 2), user("3"))
    messages = context(path)
    assert shape(messages) == ["user", "user", "user"]
    assert "they said 1" in messages[0]["content"]
    assert messages[0]["content"].startswith("<summary of the conversation so far>")
    assert contents(messages[1:]) == ["2", "3"]


def test_of_many_compactions_only_the_newest_speaks() -> None:
    path = path_of(user("1"), compacted("first", 1), user("2"), compacted("second", 1), user("3"))
    messages = context(path)
    assert "second" in messages[0]["content"]
    assert contents(messages[1:]) == ["1", "2", "3"]
    assert "first" not in "".join(contents(messages))


def test_a_branch_summary_is_a_marked_user_message() -> None:
    (only,) = context(path_of(branch_summary("we tried X")))
    assert only["role"] == "user"
    assert only["content"].startswith("<summary of a branch") and "we tried X" in only["content"]


def test_results_follow_their_calls_in_the_order_of_the_calls() -> None:
    path = path_of(
        assistant(None, "a", "b"), label(), result("b", "2"), suspended("a"), result("a", "1")
    )
    messages = context(path)
    assert shape(messages) == ["assistant a+b", "tool a", "tool b"]
    assert messages[2] == {"role": "tool", "content": "2", "tool_call_id": "b", "name": "look"}


def test_an_unanswered_call_was_interrupted_or_waits() -> None:
    path = path_of(assistant(None, "a", "b", "c"), result("c", "3"), suspended("b"), user("hey"))
    messages = context(path)
    assert shape(messages) == ["assistant a+b+c", "tool a", "tool b", "tool c", "user"]
    assert contents(messages) == [None, INTERRUPTED, WAITING, "3", "hey"]
    assert "interrupted, outcome unknown" in INTERRUPTED
    assert "waiting for a decision" in WAITING


def test_what_is_known_while_a_call_waits_is_told() -> None:
    path = path_of(assistant(None, "a"), suspended("a", result="two of three are done"))
    assert contents(context(path)) == [None, f"{WAITING}\ntwo of three are done"]


def test_a_result_that_names_its_assistant_message_answers_no_other() -> None:
    path = path_of(
        assistant(None, "a"),
        suspended("a", call_entry=1),
        assistant(None, "a"),
        suspended("a", call_entry=1),
        result("a", "of the first", call_entry=1),
        result("a", "of the second", call_entry=3),
    )
    messages = context(path)
    assert shape(messages) == ["assistant a", "tool a", "assistant a", "tool a", "user"]
    assert contents(messages)[1] == WAITING
    assert contents(messages)[3] == "of the second"
    assert "of the first" in contents(messages)[4]
    assert contents(context(path[:5]))[3] == INTERRUPTED


def test_calls_at_the_very_end_are_answered_too() -> None:
    path = path_of(user("go"), assistant(None, "a"))
    assert contents(context(path)) == ["go", None, INTERRUPTED]
    assert contents(context((*path, *path_of(suspended("a"))))) == ["go", None, WAITING]


@pytest.mark.parametrize(
    "between",
    [
        user("never mind"),
        assistant("done"),
        assistant(None, "z"),
        branch_summary("x"),
        compacted("x", 1),
        (Kind.MODEL_CHANGE, {"model": "m"}),
    ],
)
def test_a_result_that_comes_after_something_else_is_told_as_a_user_message(between: Step) -> None:
    path = path_of(assistant(None, "a"), suspended("a"), between, result("a", "at last"))
    messages = context(path)
    calls = next(i for i, m in enumerate(messages) if m.get("tool_calls"))
    assert (messages[calls + 1]["tool_call_id"], messages[calls + 1]["content"]) == ("a", WAITING)
    assert messages[-1]["role"] == "user"
    assert messages[-1]["content"].startswith('<late result tool="look" call="a">')
    assert "at last" in messages[-1]["content"]


def test_a_record_that_comes_after_something_else_changes_nothing_that_was_said() -> None:
    path = path_of(assistant(None, "a"), user("hey"), suspended("a"))
    assert contents(context(path)) == [None, INTERRUPTED, "hey"]


def test_a_second_result_and_one_for_no_call_are_told_after_the_group() -> None:
    path = path_of(
        assistant(None, "a", "b"),
        result("a", "1"),
        result("a", "1 again"),
        result("zzz", "whose?"),
        result("b", "2"),
        user("go on"),
    )
    messages = context(path)
    assert shape(messages) == ["assistant a+b", "tool a", "tool b", "user", "user", "user"]
    assert "1 again" in messages[3]["content"]
    assert "whose?" in messages[4]["content"]


def test_a_result_without_any_call_is_told_as_a_user_message() -> None:
    body = {"role": "tool", "content": [{"type": "text", "text": "parts"}]}
    (only,) = context(path_of((Kind.MESSAGE, body)))
    assert only["role"] == "user"
    assert only["content"].startswith("<late result>") and '"parts"' in only["content"]


def test_of_calls_with_the_same_id_one_is_sent_and_no_result_is_lost() -> None:
    path = path_of(assistant(None, "a", "a", "b"), result("a", "1"), result("a", "2"))
    messages = context(path)
    assert shape(messages) == ["assistant a+b", "tool a", "tool b", "user"]
    assert "2" in messages[-1]["content"]


# Random paths: every kind of entry, few call ids, so that they collide.

_ids = st.sampled_from(["a", "b", "c"])


def _owner(entries: int) -> st.SearchStrategy[Json]:
    """What a result may say of the assistant message it belongs to, if anything."""
    return st.just({}) | st.builds(lambda e: {"call_entry": e}, st.integers(1, entries + 1))


@st.composite
def _paths(draw: st.DrawFn) -> tuple[Entry, ...]:
    numbers = count()

    def text() -> str:
        return f"text {next(numbers)}."

    steps: list[Step] = []
    for kind in draw(st.lists(st.sampled_from("uaccrrrslbkm"), max_size=20)):
        match kind:
            case "u":
                steps.append(user(text()))
            case "a":
                cut = draw(st.sampled_from([{}, {"stop": CUT}]))
                steps.append(assistant(text(), **cut))
            case "c":
                steps.append(assistant(None, *draw(st.lists(_ids, min_size=1, max_size=3))))
            case "r":
                steps.append(result(draw(_ids), text(), **draw(_owner(len(steps)))))
            case "s":
                steps.append(suspended(draw(_ids), **draw(_owner(len(steps)))))
            case "l":
                steps.append(label())
            case "b":
                steps.append(branch_summary(text()))
            case "k":
                kept = draw(st.none() | st.integers(1, len(steps) + 3))
                steps.append(compacted(text(), kept))
            case "m":
                steps.append((Kind.MODEL_CHANGE, {"model": "m"}))
    return path_of(*steps)


def _is_result(entry: Entry) -> bool:
    return entry.kind is Kind.MESSAGE and entry.body["role"] == "tool"


def _within_a_group(path: Sequence[Entry]) -> bool:
    """Whether a result that came next would still answer a call."""
    results: list[Entry] = []
    for entry in reversed(path):
        if _is_result(entry):
            results.append(entry)
        elif entry.kind not in (Kind.LABEL, Kind.RECORD):
            calls = entry.body.get("tool_calls", ()) if entry.kind is Kind.MESSAGE else ()
            mine = [r for r in results if r.body.get("call_entry") in (None, entry.id)]
            answered = {r.body["tool_call_id"] for r in mine}
            return any(call["id"] not in answered for call in calls)
    return False


@given(_paths())
def test_every_call_is_directly_followed_by_exactly_one_result(path: tuple[Entry, ...]) -> None:
    awaited: list[str] = []
    for m in context(path):
        if m["role"] == "tool":
            awaited.remove(m["tool_call_id"])
        else:
            assert awaited == []
            awaited = [call["id"] for call in m.get("tool_calls", ())]
            assert len(set(awaited)) == len(awaited)
    assert awaited == []


@given(_paths())
def test_the_same_path_gives_the_same_messages_and_stays_as_it_is(path: tuple[Entry, ...]) -> None:
    before = deepcopy(path)
    messages = context(path)
    assert path == before
    messages_again = context(path)
    assert messages == messages_again
    for m in messages:
        assert set(m) <= {"role", "content", "tool_calls", "tool_call_id", "name"}


@given(_paths())
def test_what_a_compaction_cut_off_makes_no_difference(path: tuple[Entry, ...]) -> None:
    assert context(path) == context(from_first_kept(path))


@given(_paths(), st.data())
def test_what_a_model_has_seen_never_changes(path: tuple[Entry, ...], data: st.DataObject) -> None:
    seen = path[: data.draw(st.integers(0, len(path)))]
    added = path[len(seen) :]
    assume(not _within_a_group(seen))
    assume(all(entry.kind is not Kind.COMPACTION for entry in added))
    messages = context(seen)
    assert context(path)[: len(messages)] == messages


@given(_paths())
def test_everything_that_was_said_is_told_once(path: tuple[Entry, ...]) -> None:
    told = "".join(m["content"] or "" for m in context(path))
    for entry in from_first_kept(path):
        text = entry.body.get("content") if entry.kind is Kind.MESSAGE else None
        if text:
            assert told.count(text) == 1


def spoken_by(name: str, text: str) -> Step:
    return Kind.MESSAGE, {"role": "user"} | spoken(f"telegram:{name}", name, "", text)


def shown(path: tuple[Entry, ...], company: str = "Several write.") -> list[Json]:
    """Each context grown from the one before."""
    before = None
    for end in range(1, len(path) + 1):
        before = grown(before, path[:end], "m")
    assert before is not None
    return conversation(before, "Be kind.", company)


def test_a_group_is_told_of_with_the_instructions_from_its_beginning() -> None:
    path = path_of(spoken_by("Ada", "hi"), assistant("hello"), spoken_by("Bob", "hey"))
    system, *rest = shown(path)
    assert system["content"] == "Be kind.\n\nSeveral write."
    assert rest == context(path)


def test_a_session_that_comes_into_company_is_told_so_there_and_nothing_before_it_changes() -> None:
    steps = (user("hi"), assistant("hello"), spoken_by("Bob", "hey"), assistant("you too"))
    before = shown(path_of(*steps[:2]))
    after = shown(path_of(*steps, spoken_by("Ada", "yes")))
    assert after[: len(before)] == before
    assert contents(after[len(before) :]) == [
        "Several write.",
        "[telegram:Bob] Bob: hey",
        "you too",
        "[telegram:Ada] Ada: yes",
    ]


def test_after_a_compaction_the_first_message_that_is_kept_says_where_company_is_told() -> None:
    steps = (user("hi"), assistant("hello"), spoken_by("Bob", "hey"), compacted("it went on", 3))
    system, summary, kept = shown(path_of(*steps))
    assert system["content"] == "Be kind.\n\nSeveral write."
    assert "it went on" in summary["content"]
    assert kept["content"].endswith("hey")


def test_who_is_alone_is_told_nothing_of_company() -> None:
    path = path_of(user("hi"), assistant("hello"))
    assert shown(path)[0]["content"] == "Be kind."
    assert shown(path_of(spoken_by("Ada", "hi")), "")[0]["content"] == "Be kind."


@given(_paths(), st.data())
def test_a_context_that_grew_is_the_same_as_one_made_at_once(
    path: tuple[Entry, ...], data: st.DataObject
) -> None:
    before = None
    for end in sorted(data.draw(st.lists(st.integers(0, len(path)), max_size=4))):
        before = grown(before, path[:end], "m")
        shown = deepcopy(before.messages)
        assert shown == context(path[:end], "m")
        assert grown(before, path, "m").messages == context(path, "m")
        assert before.messages == shown


@given(_paths(), st.integers(1, 5), st.integers(0, 5))
def test_a_context_that_grows_step_by_step_is_the_same_as_one_made_at_once(
    path: tuple[Entry, ...], at_once: int, known: int
) -> None:
    before = grown(None, path[:known], "m") if known else None
    *most, whole = steps(before, path, "m", at_once)
    assert whole == len(path)
    for end in most:
        before = grown(before, path[:end], "m")
    assert grown(before, path, "m").messages == context(path, "m")


def test_a_long_path_is_told_from_its_newest_compaction_on_in_steps() -> None:
    path = path_of(user("a"), user("b"), user("c"), compacted("in short", 2), *[user("d")] * 5)
    assert steps(None, path, "m", 2) == [5, 7, 9]
    assert steps(grown(None, path[:6], "m"), path, "m", 2) == [8, 9]
    assert steps(None, path, "m") == [9]
    assert steps(None, (), "m") == [0]


def test_a_context_of_another_path_or_model_is_not_gone_on_with() -> None:
    path, other = (path_of(user(text), assistant("yes"), user("so")) for text in ("one", "two"))
    before = grown(None, path[:2], "m")
    assert grown(before, other, "m").messages == context(other, "m")
    assert not before.begins(path, "another")
    assert before.begins(path, "m")


def test_an_answer_that_broke_off_is_followed_by_word_of_it() -> None:
    path = path_of(user("hi"), assistant("Once", stop=CUT), user("go on"))
    assert context(path) == [
        message("user", "hi"),
        message("assistant", "Once"),
        message("user", CUT_OFF),
        message("user", "go on"),
    ]
    assert context(path[:2]) == context(path)[:3]


def put_off() -> Step:
    return Kind.RECORD, record("stopped", put_off=True)


def test_what_is_answered_later_is_told_so_in_its_place() -> None:
    path = path_of(user("Ann: do it"), put_off(), user("Olga: hello"))
    told = [str(each["content"]) for each in context(path)]
    assert told == ["Ann: do it", PUT_OFF, "Olga: hello"]
    called = path_of(user("do it"), assistant(None, "a"), result("a", "done"), put_off(), user("x"))
    assert [m["role"] for m in context(called)] == ["user", "assistant", "tool", "user", "user"]
    before = grown(None, called[:4], None)
    assert grown(before, called, None).messages == context(called)
