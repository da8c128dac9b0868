"""Files that others may bring: what is taken in can be lived with, what is refused says why."""

import json
from typing import Any

import hypothesis.strategies as st
import pytest
from hypothesis import given

from agent.compaction.cut import context_tokens, cut
from agent.compaction.files import FileList
from agent.compaction.summary import blocks_of
from agent.runtime.context import context
from agent.runtime.next_step import next_step, rounds, suspended_calls
from gateway.cli.sessions_output import tree_view
from gateway.views.entries import words
from storage.errors import InterchangeError
from storage.interchange.api import read_session, take_in
from storage.records.entries import Entry, Json
from storage.search.query import terms_of, text_of
from storage.store import Transaction
from tests.support.session_files import (
    HEADER,
    NOW,
    STAMP,
    assistant,
    call,
    compaction,
    exported,
    file_of,
    in_store,
    line,
    lines_of,
    result,
    said,
    user,
)
from tests.support.tool_calls import dangling
from tests.unit.storage.interchange.test_round_trip import foreign_files, texts, values

# fmt: off
KEYS = (
    "role", "content", "tool_calls", "tool_call_id", "name", "raw", "usage", "model", "call_entry",
    "record", "question", "result", "first_kept", "tokens_before", "details", "summary", "label",
    "target", "from", "pi", "openai", "set", "drop", "blocks", "form",
)
# fmt: on


def lived_with(data: bytes) -> None:
    """Take a file in, and look at each of its entries as the gateway does."""

    def work(tx: Transaction) -> None:
        session = take_in(tx, read_session(data, NOW))
        json.dumps(tree_view(tx, session.id))
        for entry in tx.tree.entries(session.id):
            walked(tx.tree.context_path(entry.id))
            terms_of(text_of(entry))
            assert isinstance(words(entry), str)

    in_store(work)


def walked(path: tuple[Entry, ...]) -> None:
    models = {model for e in path if isinstance(model := e.body.get("model"), str)}
    for model in (None, *models):
        messages = context(path, model)
        assert dangling(messages) == []
        json.dumps(messages)
    next_step(path)
    rounds(path)
    suspended_calls(path)
    context_tokens(path)
    cut(path, 1)
    FileList.of(path)
    list(blocks_of(path))


bodies = st.dictionaries(st.sampled_from(KEYS), values, max_size=4)
ours = st.fixed_dictionaries(
    {},
    optional={
        "body": st.fixed_dictionaries(
            {}, optional={"set": bodies, "drop": st.lists(st.sampled_from(KEYS))}
        ),
        "author": texts,
        "tokens": st.integers(0, 9),
    },
)
records = st.builds(
    lambda name, data: {"type": "custom", "customType": f"bough.{name}", "data": data},
    st.sampled_from(["suspended", "failed", "system", "session", "label", "pi"]) | texts,
    bodies,
)


SHORT = "<summary of the conversation so far>"
LEFT = "<summary of a branch that was left>"
NO_RESULT = "No result: interrupted, outcome unknown."
LATE = "<late result"


def saying(id_: str, parent: str | None, text: str, *calls: str, **more: Any) -> Json:
    """An answer that makes calls with these ids."""
    return assistant(id_, parent, said(text), *map(call, calls), **more)


def left(id_: str, parent: str | None, of: str) -> Json:
    return line("branch_summary", id_, parent, fromId=of, summary="was left")


def shell(id_: str, parent: str, **more: Any) -> Json:
    message = {"role": "bashExecution", "command": "ls", "output": "", "exitCode": 0, **more}
    return line("message", id_, parent, message=message)


TALK = [user("1", None), saying("2", "1", "hello"), user("3", "2", "more"), saying("4", "3", "so")]

CASES: dict[str, tuple[list[Json], list[str]]] = {
    "a compaction that keeps all": (
        [*TALK[:2], compaction("c", "2", "1"), user("5", "c", "on")],
        [SHORT, "hi", "hello", "on"],
    ),
    "a compaction that keeps nothing": (
        [*TALK, compaction("c", "4", None), user("5", "c", "on")],
        [SHORT, "on"],
    ),
    "a compaction that keeps a part": (
        [*TALK, compaction("c", "4", "3"), user("5", "c", "on")],
        [SHORT, "more", "so", "on"],
    ),
    "a compaction as the first entry": (
        [compaction("c", None, None), user("1", "c")],
        [SHORT, "hi"],
    ),
    "two compactions, the second from the first's border on": (
        [*TALK, compaction("c", "4", "3"), compaction("d", "c", "4"), user("5", "d", "on")],
        [SHORT, "so", "on"],
    ),
    "a second compaction that keeps more than the first": (
        [*TALK, compaction("c", "4", "4"), compaction("d", "c", "2"), user("5", "d", "on")],
        [SHORT, "hello", "more", "so", "on"],
    ),
    "a second compaction that keeps from the first one on": (
        [*TALK, compaction("c", "4", "4"), user("5", "c", "on"), compaction("d", "5", "c")],
        [SHORT, "on"],
    ),
    "a compaction on a sibling": (
        [*TALK, compaction("c", "4", "4"), user("5", "4", "aside")],
        ["hi", "hello", "more", "so", "aside"],
    ),
    "a compaction that parts a call from its result": (
        [saying("1", None, "look", "k"), result("2", "1", "k"), compaction("c", "2", "2")],
        [SHORT, LATE],
    ),
    "a compaction between a call and its result": (
        [saying("1", None, "look", "k"), compaction("c", "1", "1"), result("2", "c", "k")],
        [SHORT, "look", NO_RESULT, LATE],
    ),
    "a summary of a branch at the root": ([left("1", None, "root"), user("2", "1")], [LEFT, "hi"]),
    "a summary of a branch that is not there": (
        [*TALK[:2], left("3", "2", "gone"), user("4", "3", "on")],
        ["hi", "hello", LEFT, "on"],
    ),
    "a summary of a branch between a call and its result": (
        [saying("1", None, "look", "k"), left("2", "1", "x"), result("3", "2", "k")],
        ["look", NO_RESULT, LEFT, LATE],
    ),
    "settings between a call and its result": (
        [
            saying("1", None, "look", "k"),
            line("thinking_level_change", "2", "1", thinkingLevel="high"),
            line("label", "3", "2", targetId="1", label="here"),
            line("custom", "4", "3", customType="ext"),
            result("5", "4", "k"),
        ],
        ["look", "seen"],
    ),
    "a command that no model was to see between a call and its result": (
        [
            saying("1", None, "look", "k"),
            shell("2", "1", excludeFromContext=True),
            result("3", "2", "k"),
        ],
        ["look", "seen"],
    ),
    "a command that a person ran": (
        [user("1", None), shell("2", "1", exitCode=3)],
        ["hi", "I ran this command:\nls\n\nNo output.\n\nExit code: 3"],
    ),
    "results in another order than their calls": (
        [
            saying("1", None, "look", "a", "b", "c"),
            result("2", "1", "c", "C"),
            result("3", "2", "a", "A"),
            result("4", "3", "b", "B"),
        ],
        ["look", "A", "B", "C"],
    ),
    "a result that is missing among others": (
        [saying("1", None, "look", "a", "b"), result("2", "1", "b", "B"), user("3", "2")],
        ["look", NO_RESULT, "B", "hi"],
    ),
    "a result after something else was said": (
        [saying("1", None, "look", "a"), user("2", "1"), result("3", "2", "a")],
        ["look", NO_RESULT, "hi", LATE],
    ),
    "two calls with one id in one answer": (
        [saying("1", None, "look", "a", "a"), result("2", "1", "a", "A"), result("3", "2", "a")],
        ["look", "A", LATE],
    ),
    "one id in two answers": (
        [
            saying("1", None, "look", "a"),
            result("2", "1", "a", "A"),
            saying("3", "2", "again", "a"),
            result("4", "3", "a", "B"),
        ],
        ["look", "A", "again", "B"],
    ),
    "results of one call on two branches": (
        [
            saying("1", None, "look", "a"),
            result("2", "1", "a", "A"),
            saying("3", "2", "so"),
            result("4", "1", "a", "B"),
            saying("5", "4", "or so"),
        ],
        ["look", "B", "or so"],
    ),
    "an answer that was cut off in a call": (
        [user("1", None), saying("2", "1", "half", "a", stopReason="aborted"), user("3", "2")],
        ["hi", "half", "hi"],
    ),
    "summaries as messages": (
        [
            line("message", "1", None, message={"role": "compactionSummary", "summary": "short"}),
            line("message", "2", "1", message={"role": "branchSummary", "summary": "left"}),
        ],
        ["short", "left"],
    ),
    "two roots": ([*TALK, user("5", None, "anew"), saying("6", "5", "well")], ["anew", "well"]),
}


@pytest.mark.parametrize(("lines", "contents"), CASES.values(), ids=CASES)
def test_a_session_of_another_program_means_here_what_it_meant_there(
    lines: list[Json], contents: list[str]
) -> None:
    def work(tx: Transaction) -> None:
        session = take_in(tx, read_session(file_of(HEADER, *lines), NOW))
        path = tx.tree.context_path(session.leaf)
        found = [str(message["content"]) for message in context(path)]
        assert len(found) == len(contents)
        assert all(map(str.startswith, found, contents)), found
        again = take_in(tx, read_session(exported(tx, session), NOW))
        assert exported(tx, again) == exported(tx, session)
        assert lines_of(exported(tx, session)) == [HEADER, *lines]
        assert context(tx.tree.context_path(again.leaf)) == context(path)

    in_store(work)
    lived_with(file_of(HEADER, *lines))


OLD_CALL = {"name": "look", "arguments": "{}"}
CHATS: list[tuple[Any, list[Any]]] = [
    (
        [
            {"role": "user", "content": "hi"},
            {"role": "assistant", "content": None, "function_call": OLD_CALL},
            {"role": "function", "name": "look", "content": "seen"},
        ],
        ["hi", None, "seen"],
    ),
    ([{"role": "function", "name": "look", "content": "seen"}], [f'{LATE} tool="look">\nseen\n']),
    ([{"role": "assistant", "content": None, "refusal": "I cannot."}], ["I cannot."]),
    (
        [
            {"role": "user", "content": [{"type": "input_text", "text": "hi"}]},
            {"role": "assistant", "content": [{"type": "refusal", "refusal": "no"}]},
        ],
        ["hi", "no"],
    ),
    ([{"role": "developer", "content": "be kind"}, {"role": "user", "content": None}], [""]),
]


@pytest.mark.parametrize(("messages", "contents"), CHATS)
@pytest.mark.parametrize("in_lines", [False, True])
def test_a_chat_in_any_of_openais_shapes_is_taken(
    messages: list[Json], contents: list[Any], in_lines: bool
) -> None:
    data = file_of(*messages) if in_lines else json.dumps(messages).encode()

    def work(tx: Transaction) -> list[Json]:
        return context(tx.tree.context_path(take_in(tx, read_session(data, NOW)).leaf))

    told = in_store(work)
    assert dangling(told) == []
    found = [message["content"] for message in told]
    assert len(found) == len(contents)
    for content, beginning in zip(found, contents, strict=True):
        assert content is None if beginning is None else content.startswith(beginning)
    lived_with(data)


ONE = {"messages": [{"role": "user", "content": "hi"}]}
SHORT_ENTRY = {"type": "compaction", "timestamp": STAMP, "summary": "", "tokensBefore": 1}


@pytest.mark.parametrize(
    ("data", "fault"),
    [
        (file_of(ONE, ONE), "line 2: is a second conversation; one file is one session"),
        (file_of({"role": "user", "content": "hi"}) + b"{", "line 2: is not JSON"),
        (file_of(HEADER, user("1", None) | {"x": 10**400}), "line 2: has a number that is too"),
        (file_of(HEADER) + b'{"type": 1' + b"0" * 5000 + b"}", "line 2: has a number that is too"),
        (file_of(HEADER | {"version": "3"}), "line 1: the format's version is not one of"),
        (file_of(HEADER | {"version": -1}), "line 1: the format's version is not one of"),
        (file_of(HEADER | {"version": True}), "line 1: the format's version is not one of"),
        (file_of({"type": "session"}, SHORT_ENTRY | {"firstKeptEntryIndex": 2}), "line 2: first"),
        (file_of({"type": "session"}, SHORT_ENTRY | {"firstKeptEntryIndex": -1}), "line 2: first"),
        (file_of(HEADER, compaction("1", None, "1")), 'line 2: its firstKeptEntryId "1" is not'),
        (file_of(HEADER, compaction("1", None, "")), 'line 2: its firstKeptEntryId "" is not'),
        (
            file_of(
                HEADER, compaction("1", None, None) | {"bough": {"body": {"drop": ["first_kept"]}}}
            ),
            "line 2: has a bough.body that is no compaction",
        ),
        (b"\x1f\x8b\x08\x00", "the file is packed"),
        (json.dumps(HEADER).encode("utf-16"), "line 1: is not JSON"),
    ],
)
def test_a_file_that_cannot_be_taken_says_why(data: bytes, fault: str) -> None:
    with pytest.raises(InterchangeError) as raised:
        read_session(data, NOW)
    assert str(raised.value).startswith(fault)


nothing: st.SearchStrategy[Json] = st.just({})
changes = nothing | st.builds(lambda own: {"bough": own}, ours) | records


@given(foreign_files(), st.data())
def test_whatever_is_taken_in_can_be_lived_with(lines: list[Json], data: st.DataObject) -> None:
    for place in range(1, len(lines)):
        lines[place] |= data.draw(changes)
    try:
        lived_with(file_of(*lines))
    except InterchangeError as error:
        assert str(error)


parts = st.fixed_dictionaries(
    {},
    optional={"type": st.sampled_from(["text", "refusal", "image_url"]) | values, "text": values},
)
functions = st.fixed_dictionaries({}, optional={"name": values, "arguments": values})
tool_calls = st.lists(
    st.fixed_dictionaries({}, optional={"id": st.sampled_from("ab"), "function": functions}),
    max_size=2,
)
chat_messages = st.fixed_dictionaries(
    {"role": st.sampled_from(["system", "user", "assistant", "tool", "function"]) | values},
    optional={
        "content": values | st.lists(parts, max_size=2),
        "tool_calls": tool_calls | values,
        "tool_call_id": st.sampled_from("ab") | values,
        "function_call": functions | values,
        "name": values,
        "refusal": values,
    },
)


@given(st.lists(chat_messages | values, max_size=6))
def test_a_chat_with_anything_in_it_is_taken_or_refused(messages: list[Any]) -> None:
    try:
        lived_with(json.dumps(messages).encode())
    except InterchangeError as error:
        assert str(error).startswith("message ")
