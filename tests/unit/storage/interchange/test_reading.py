"""Files of sessions: what is taken from them, and what is refused."""

import gzip
import json
from typing import Any

import pytest

from agent.runtime.context import INTERRUPTED, context
from storage.errors import InterchangeError
from storage.interchange.api import read_session, take_in
from storage.records.entries import Json, Kind
from storage.store import Transaction
from tests.support.session_files import (
    HEADER,
    NOW,
    assistant,
    call,
    compaction,
    file_of,
    in_store,
    line,
    result,
    said,
    taken,
    user,
)


def contexts(*lines: Json, at: str | None = None) -> list[Json]:
    """What a model gets of a file, at an entry or at the leaf."""

    def work(tx: Transaction) -> list[Json]:
        session = take_in(tx, taken(*lines))
        entry = tx.tree.original(session.id, at) if at is not None else None
        assert at is None or entry is not None
        return context(tx.tree.context_path(session.leaf if entry is None else entry.id))

    return in_store(work)


def told(messages: list[Json]) -> list[Any]:
    return [message["content"] for message in messages]


def refused(data: bytes) -> str:
    with pytest.raises(InterchangeError) as caught:
        read_session(data, NOW)
    return str(caught.value)


TREE = [
    user("1", None, "start"),
    assistant("2", "1", said("r1")),
    user("3", "2", "q2"),
    assistant("4", "3", said("r2")),
    compaction("5", "4", "3"),
    user("6", "5", "q3"),
    user("8", "3", "wrong"),
    line("branch_summary", "9", "3", fromId="8", summary="tried"),
    user("10", "9", "better"),
]


def test_the_leaf_is_the_last_entry_and_each_branch_has_a_context_of_its_own() -> None:
    summary = (
        "<summary of the conversation so far>\nin short\n</summary of the conversation so far>"
    )
    assert told(contexts(*TREE, at="6")) == [summary, "q2", "r2", "q3"]
    left = "<summary of a branch that was left>\ntried\n</summary of a branch that was left>"
    assert told(contexts(*TREE)) == ["start", "r1", "q2", left, "better"]
    assert told(contexts(*TREE, at="8")) == ["start", "r1", "q2", "wrong"]


def test_a_header_alone_is_an_empty_session() -> None:
    found = taken()
    assert (found.entries, found.leaf, found.notes) == ((), None, ())
    assert contexts() == []


def test_a_second_compaction_speaks_for_what_lies_before_its_own_border() -> None:
    lines = [user("1", None, "a"), compaction("2", "1", "1"), user("3", "2", "c")]
    assert told(contexts(*lines, compaction("4", "3", "3"), user("5", "4", "e")))[1:] == ["c", "e"]


def test_a_compaction_may_keep_nothing() -> None:
    lines = [user("1", None, "a"), compaction("2", "1", None), user("3", "2", "b")]
    assert len(contexts(*lines)) == 2


def test_a_result_names_the_nearest_call_above_it_though_ids_are_used_twice() -> None:
    lines = [
        user("1", None),
        assistant("2", "1", call("c")),
        result("3", "2", "c", "first"),
        assistant("4", "3", call("c")),
        result("5", "4", "c", "second"),
        result("6", "2", "c", "elsewhere"),
    ]
    callers = [planted.draft.body.get("call_entry") for planted in taken(*lines).entries]
    assert callers == [None, None, 1, None, 3, 1]
    assert told(contexts(*lines, at="5")) == ["hi", "", "first", "", "second"]


def test_a_call_without_result_gets_one_and_a_result_without_call_is_told_late() -> None:
    lines = [user("1", None), assistant("2", "1", call("c")), user("3", "2", "well?")]
    assert told(contexts(*lines)) == ["hi", "", INTERRUPTED, "well?"]
    found = taken(user("1", None), result("2", "1", "nobody's"))
    assert found.notes == ("1 tool result without a call above: shown as a late result",)


def test_settings_and_extensions_stand_between_a_call_and_its_result_unseen() -> None:
    lines = [
        user("1", None),
        assistant("2", "1", call("c", a=1)),
        line("thinking_level_change", "3", "2", thinkingLevel="high"),
        line("custom", "4", "3", customType="mine", data={"k": 1}),
        result("5", "4", "c"),
    ]
    messages = contexts(*lines)
    assert [message["role"] for message in messages] == ["user", "assistant", "tool"]
    assert json.loads(messages[1]["tool_calls"][0]["function"]["arguments"]) == {"a": 1}
    assert messages[2] == {
        "role": "tool",
        "content": "seen",
        "tool_call_id": "c",
        "name": "look",
    }


def test_what_extensions_and_people_inject_is_a_user_message() -> None:
    ran = {"role": "bashExecution", "command": "ls /x", "output": "a.txt", "exitCode": 2}
    lines = [
        line("custom_message", "1", None, customType="x", content="note", display=False),
        line("message", "2", "1", message={"role": "custom", "content": [said("own")]}),
        line("message", "3", "2", message=ran),
        line("message", "4", "3", message=ran | {"excludeFromContext": True}),
    ]
    messages = contexts(*lines)
    assert [message["role"] for message in messages] == ["user"] * 3
    assert told(messages)[:2] == ["note", "own"]
    assert all(part in messages[2]["content"] for part in ("ls /x", "a.txt", "2"))


def test_half_calls_of_an_answer_that_was_cut_off_are_not_shown() -> None:
    lines = [user("1", None), assistant("2", "1", said("I wi"), call("c"), stopReason="aborted")]
    assert told(contexts(*lines)) == ["hi", "I wi"]
    assert taken(*lines).notes == (
        "1 answer cut off: kept whole, but shown to a model without calls",
    )


def test_pictures_are_named_to_the_model_and_to_people() -> None:
    picture = {"type": "image", "data": "AAAA", "mimeType": "image/png"}
    message = {"role": "user", "content": [said("look:"), picture]}
    lines = [line("message", "1", None, message=message)]
    assert told(contexts(*lines)) == ["look:\n[image: image/png]"]
    assert taken(*lines).notes == ("1 picture: kept; a model reads only that there was one",)


def test_model_and_usage_are_ours_too() -> None:
    usage = {"input": 7, "output": 3, "cost": {"total": 0.5}}
    given = assistant("1", None, said("x"), provider="p", model="m/1", usage=usage)
    (entry,) = taken(given).entries
    assert entry.draft.body["model"] == "p/m/1"
    assert entry.draft.body["usage"] == {"input": 7, "output": 3, "cost": 0.5}
    assert entry.draft.tokens == 3
    (change,) = taken(line("model_change", "1", None, provider="p", modelId="m")).entries
    assert change.draft.body["model"] == "p/m"


def test_the_newest_name_is_the_title() -> None:
    names = [
        line("session_info", "1", None, name="old"),
        line("session_info", "2", "1", name=" new\n one "),
        line("session_info", "3", "2", name=""),
    ]
    assert taken(*names).title == "new one"


def test_version_one_is_a_row_without_ids() -> None:
    header = {key: value for key, value in HEADER.items() if key != "version"}
    rows = [user("", None, "a"), user("", None, "b"), user("", None, "d")]
    bare = [{k: v for k, v in row.items() if k not in ("id", "parentId")} for row in rows]
    summary = {"type": "compaction", "summary": "s", "firstKeptEntryIndex": 2, "tokensBefore": 1}
    found = read_session(file_of(header, bare[0], bare[1], summary, bare[2]), NOW)
    assert [entry.parent for entry in found.entries] == [None, 0, 1, 2]
    assert [entry.original for entry in found.entries] == [""] * 4
    assert found.entries[2].draft.body["first_kept"] == 1
    nothing_kept = read_session(file_of(header, bare[0], summary | {"firstKeptEntryIndex": 0}), NOW)
    assert nothing_kept.entries[1].draft.body["first_kept"] is None
    text = refused(file_of(header, bare[0], summary))
    assert text == "line 3: firstKeptEntryIndex names no entry before it"


def test_version_two_called_injected_messages_otherwise() -> None:
    message = {"role": "hookMessage", "customType": "x", "content": "note", "display": True}
    data = file_of(HEADER | {"version": 2}, line("message", "1", None, message=message))
    (entry,) = read_session(data, NOW).entries
    assert (entry.draft.body["role"], entry.draft.body["content"]) == ("user", "note")


def test_byte_order_marks_windows_line_ends_and_empty_lines_do_not_matter() -> None:
    rows = [json.dumps(each).encode() for each in (HEADER, user("1", None))]
    data = b"\xef\xbb\xbf\r\n" + rows[0] + b"\r\n\r\n  \r\n" + rows[1]
    assert len(read_session(data, NOW).entries) == 1


def test_text_is_made_fit_for_a_database() -> None:
    (entry,) = taken(user("1", None, "a\0b\ud800c\u2028d")).entries
    assert entry.draft.body["content"] == "a\ufffdb\ufffdc\u2028d"


def test_entries_without_a_time_get_the_one_before() -> None:
    rows = [user("1", None), user("2", "1"), user("3", "2")]
    for row, stamp in zip(rows, (None, "2030-01-01T00:00:00Z", "soon"), strict=True):
        row["timestamp"] = stamp
    found = taken(*rows)
    assert [entry.draft.time for entry in found.entries] == [1735689600, 1893456000, 1893456000]
    assert found.notes == ("2 entries without a time: taken as the one before",)


def test_types_that_are_not_known_are_kept_and_said() -> None:
    found = taken(line("ephemeral", "1", None, messages=[]))
    assert found.entries[0].draft.kind is Kind.RECORD
    assert found.notes == ('1 entry of the type "ephemeral": kept, not understood',)


@pytest.mark.parametrize(
    ("lines", "fault"),
    [
        ([user("1", None), user("1", "1")], 'line 3: the id "1" was given already, on line 2'),
        ([user("1", None), user("2", "x")], 'line 3: its parent "x" is not in the file'),
        ([user("1", "1")], 'line 2: its parent "1" does not come before it'),
        ([user("1", "2"), user("2", "1")], 'line 2: its parent "2" does not come before it'),
        ([user("", None)], "line 2: is an entry without an id"),
        ([user("1", None) | {"id": 7}], "line 2: is an entry without an id"),
        (
            [user("1", None), user("2", None) | {"parentId": 7}],
            "line 3: is an entry without parent",
        ),
        ([user("1", None), HEADER], "line 3: is a second session header"),
        ([{"id": "1", "parentId": None}], "line 2: is an entry without a type"),
        ([7], "line 2: is no JSON object"),
        ([line("message", "1", None)], "line 2: is a message without message"),
        ([line("message", "1", None, message={})], "line 2: is a message without a role"),
        ([line("message", "1", None, message={"role": "boss"})], 'line 2: has the role "boss"'),
        ([line("message", "1", None, message={"role": "user"})], "line 2: has no content"),
        ([assistant("1", None, {"type": "text"})], "line 2: has a text block without text"),
        ([assistant("1", None, {"type": "toolCall"})], "line 2: has a tool call without id"),
        ([compaction("1", "x", "1")], 'line 2: its parent "x" is not in the file'),
        ([user("1", None), compaction("2", "1", "x")], 'line 3: its firstKeptEntryId "x" is not'),
        ([user("1", None), compaction("2", "1", "2")], 'line 3: its firstKeptEntryId "2" is not'),
        (
            [user("1", None), user("2", "1"), compaction("3", "1", "2")],
            'line 4: its firstKeptEntryId "2" is not above it on its path',
        ),
        ([line("compaction", "1", None, summary="s")], "line 2: is a compaction without firstKept"),
        ([line("branch_summary", "1", None)], "line 2: is a branch_summary without summary"),
        ([line("label", "1", None, targetId="x")], 'line 2: its targetId "x" is not in the file'),
        ([line("label", "1", None, label="x")], "line 2: is a label without targetId"),
        ([line("label", "1", None, targetId="1", label=7)], "line 2: is a label that is no text"),
        ([line("model_change", "1", None)], "line 2: is a model_change without modelId"),
        ([user("1", None) | {"bough": 7}], "line 2: has something under bough"),
        ([user("1", None) | {"bough": {"tokens": -1}}], "line 2: has a bough.tokens"),
        ([user("1", None) | {"bough": {"time": 1e300}}], "line 2: has a bough.time"),
        (
            [user("1", None) | {"bough": {"body": {"set": {"role": "boss"}, "drop": ["pi"]}}}],
            "line 2: has a bough.body that is no message",
        ),
        (
            [user("1", None) | {"bough": {"body": {"set": {"pi": {"blocks": [9]}}}}}],
            "line 2: has a bough.body that contradicts the line",
        ),
    ],
)
def test_a_broken_line_is_named(lines: list[Any], fault: str) -> None:
    assert refused(file_of(HEADER, *lines)).startswith(fault)


@pytest.mark.parametrize(
    ("data", "fault"),
    [
        (b"", "the file is empty"),
        (b" \r\n\n", "the file is empty"),
        (gzip.compress(file_of(HEADER), mtime=0), "the file is packed; unpack it"),
        (b"PK\x03\x04../../etc/passwd", "the file is packed; unpack it"),
        (b"hello", "line 1: is not JSON"),
        (b"\x00\xff", "line 1: is not JSON"),
        (file_of(user("1", None)), "line 1: is no session header"),
        (file_of(HEADER | {"version": 4}), "line 1: the format's version is not one of 1, 2, 3"),
        (file_of(HEADER) + b"{broken", "line 2: is not JSON"),
        (file_of(HEADER) + b'{"type": NaN}', "line 2: is not JSON: NaN is no number"),
        (file_of(HEADER) + b'{"type": 1e999}', "line 2: has a number that is too large"),
        (file_of(HEADER) + b"[" * 300 + b"]" * 300, "line 2: is nested more than 200 levels deep"),
        (file_of(HEADER) + b"[" * 10**5, "line 2: is nested more than 200 levels deep"),
        (b'[{"role": "user"', "the file is not JSON"),
        (b'{"messages": 7}', "messages is no list"),
    ],
)
def test_what_is_no_file_of_a_session_is_said(data: bytes, fault: str) -> None:
    assert refused(data).startswith(fault)


def test_a_long_line_and_a_deep_tree_are_read() -> None:
    deep = [user(str(n), str(n - 1) if n else None) for n in range(5_000)]
    found = taken(*deep, user("long", "4999", "x" * 10_000_000))
    assert len(found.entries) == 5_001
    assert len(found.entries[-1].draft.body["content"]) == 10_000_000


OPENAI = [
    {"role": "system", "content": "be kind"},
    {"role": "user", "content": [{"type": "text", "text": "hi"}, {"type": "image_url"}]},
    {
        "role": "assistant",
        "content": None,
        "tool_calls": [
            {"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}
        ],
    },
    {"role": "tool", "tool_call_id": "c", "content": "seen", "name": "f"},
    {"role": "assistant", "content": "done", "refusal": None},
]


@pytest.mark.parametrize("whole", [OPENAI, {"messages": OPENAI}])
@pytest.mark.parametrize("indent", [None, 2])
def test_a_list_of_messages_is_taken(whole: Any, indent: int | None) -> None:
    found = read_session(json.dumps(whole, indent=indent).encode(), NOW)
    assert found.notes == (
        "system messages: 1, kept as records that no model is shown",
        "messages with more than text: 1; a model reads only the text",
    )

    def work(tx: Transaction) -> list[Json]:
        return context(tx.tree.context_path(take_in(tx, found).leaf))

    messages = in_store(work)
    assert [message["role"] for message in messages] == ["user", "assistant", "tool", "assistant"]
    assert told(messages) == ["hi\n[image_url]", None, "seen", "done"]


@pytest.mark.parametrize(
    ("message", "fault"),
    [
        (7, "message 2: is no JSON object"),
        ({}, "message 2: has no role"),
        ({"role": "narrator", "content": "x"}, 'message 2: has the role "narrator"'),
        ({"role": "user", "content": 7}, "message 2: has no content"),
        ({"role": "tool", "content": "x"}, "message 2: is a tool's result without tool_call_id"),
        ({"role": "assistant", "tool_calls": 7}, "message 2: has tool_calls that are no list"),
        ({"role": "assistant", "tool_calls": [{}]}, "message 2: has a tool call without id"),
    ],
)
def test_a_broken_message_is_named(message: Any, fault: str) -> None:
    data = json.dumps([{"role": "user", "content": "hi"}, message]).encode()
    assert refused(data).startswith(fault)
