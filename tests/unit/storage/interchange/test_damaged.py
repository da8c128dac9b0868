"""Files with faults that nobody thought of: each is taken in whole, or the fault is named."""

import json
import re
from copy import deepcopy
from typing import Any

import hypothesis.strategies as st
import pytest
from hypothesis import HealthCheck, given, settings

from storage.errors import InterchangeError
from storage.interchange.api import gather, read_session, take_in
from storage.interchange.pi.write import write_session
from storage.interchange.redaction import redactor
from storage.records.entries import Json
from storage.store import Transaction
from tests.support.examples import examples
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
    result,
    said,
    user,
)
from tests.unit.storage.interchange.test_cases import lived_with

PI: list[Json] = [
    HEADER,
    user("1", None, "start"),
    assistant("2", "1", said("r1"), {"type": "thinking", "thinking": "hm"}, call("a"), call("b")),
    result("3", "2", "a"),
    line("custom", "w", "3", customType="bough.suspended", data={
        "tool_call_id": "b", "call_entry": "2", "question": 1, "result": "wait",
    }),
    result("4", "w", "b"),
    line("label", "5", "4", label="here", targetId="2"),
    line("model_change", "6", "5", provider="p", modelId="m"),
    line("message", "7", "6", message={
        "role": "user", "content": [said("see"), {"type": "image", "mimeType": "image/png"}],
    }),
    line("message", "8", "7", message={
        "role": "bashExecution", "command": "ls", "output": "x", "exitCode": 1,
    }),
    compaction("9", "8", "7"),
    line("branch_summary", "10", "7", fromId="9", summary="tried", details={"read_files": ["a"]}),
    line("custom_message", "11", "10", customType="x", content="told", display=True),
    line("message", "12", "11", message={
        "role": "user", "content": "Ada: hi", "timestamp": 1735689600000,
    }, bough={
        "author": "telegram:1", "tokens": 3, "time": 1.5,
        "body": {"set": {"speaker": {"id": "telegram:1", "name": "Ada", "typed": 5}}},
    }),
    line("session_info", "13", "12", name="called so"),
    line("novelty", "14", "13", unknown=[1]),
    line("session_info", "i", "14", name="title"),
    line("custom", "s", "i", customType="bough.session",
         data={"leaf": "14", "title": "title", "info": "i"}),
]  # fmt: skip
OPENAI: list[Json] = [
    {"role": "system", "content": "be good"},
    {"role": "user", "content": [{"type": "text", "text": "hi"}, {"type": "image_url"}]},
    {"role": "assistant", "content": None, "tool_calls": [
        {"id": "a", "type": "function", "function": {"name": "look", "arguments": "{}"}},
    ]},
    {"role": "tool", "tool_call_id": "a", "content": "seen", "name": "look"},
    {"role": "assistant", "content": "", "function_call": {"name": "old", "arguments": "{"}},
    {"role": "function", "name": "old", "content": "x"},
    {"role": "assistant", "content": None, "refusal": "no"},
]  # fmt: skip


def _version(number: int) -> list[Json]:
    header = {**HEADER, "version": number}
    if number > 1:
        return [header, *PI[1:]]
    rows = [{k: v for k, v in each.items() if k not in ("id", "parentId")} for each in PI[1:4]]
    more = {"type": "compaction", "summary": "s", "firstKeptEntryIndex": 2, "timestamp": STAMP}
    return [header, *rows, more]


def deep(levels: int) -> Any:
    value: Any = "x"
    for _ in range(levels):
        value = [value]
    return value


ODD: list[Any] = [
    None, True, False, 0, -1, 1, 3, 2**63, -(2**63), 10**400, 0.5, -0.0, 1e308, "", "x", "2", "14",
    "\0", "\ud800", "\u2028", "i" * 300, [], {}, [None], [[]], {"x": {}}, {"type": "text"},
    {"id": []}, [{"type": []}], {"set": 1}, {"drop": [[]]}, {"set": {"role": []}}, deep(150),
    deep(250), "text", "user", "tool", "assistant", "message", "custom", "session", "bough.session",
    {"form": {"set": {"type": 1}}}, {"blocks": [9]}, {"blocks": [-1, True, {}]},
]  # fmt: skip
KEYS = [
    "type", "id", "parentId", "role", "content", "bough", "pi", "body", "set", "drop", "label",
    "form", "blocks", "speaker", "record", "call_entry", "tool_calls", "usage", "line",
]  # fmt: skip


FEW: list[Any] = [[], {}, [[]], "x", 7]
BODIES: list[Any] = [
    *({"body": {part: value}} for part in ("set", "drop") for value in ODD),
    *({"body": {"set": {key: value}}} for key in KEYS for value in FEW),
]
odd = st.sampled_from(ODD) | st.sampled_from(BODIES)


def _spots(value: Any) -> list[tuple[Any, Any]]:
    """Every container with every key or place in it."""
    found: list[tuple[Any, Any]] = []
    left = [value]
    while left:
        match left.pop():
            case dict() as each:
                found += [(each, key) for key in each]
                left += each.values()
            case list() as several:
                found += [(several, place) for place in range(len(several))]
                left += several
    return found


def damaged(lines: list[Any], data: st.DataObject) -> list[Any]:
    lines = deepcopy(lines)
    for _ in range(data.draw(st.integers(1, 4))):
        spots = _spots(lines)
        if not spots:
            break
        inside, at = data.draw(st.sampled_from(spots))
        match data.draw(st.sampled_from(["delete", "replace", "add", "copy", "swap"])):
            case "delete":
                del inside[at]
            case "replace":
                inside[at] = deepcopy(data.draw(odd))
            case "add" if isinstance(inside, dict):
                inside[data.draw(st.sampled_from(KEYS))] = deepcopy(data.draw(odd))
            case "copy" if isinstance(inside, list):
                inside.insert(at, deepcopy(inside[at]))
            case _:
                other, there = data.draw(st.sampled_from(spots))
                if _has(other, there) and _has(inside, at):
                    inside[at] = deepcopy(other[there])
    return lines


def _has(inside: Any, at: Any) -> bool:
    return at in inside if isinstance(inside, dict) else at < len(inside)


def as_bytes(lines: list[Any], data: st.DataObject) -> bytes:
    raw = file_of(*lines)
    if data.draw(st.integers(0, 4)):
        return raw
    at = data.draw(st.integers(0, len(raw)))
    end = data.draw(st.sampled_from([at, at + 1, len(raw)]))
    return raw[:at] + data.draw(st.sampled_from([b"", b"\xff", b"\xed\xa0\x80", b"\n"])) + raw[end:]


def is_taken_or_refused(raw: bytes) -> None:
    """In the first case it can be lived with, and written and read again."""
    try:
        read_session(raw, NOW)
    except InterchangeError as error:
        named = r"(line|message) \d+: |the file |messages is no list"
        assert re.match(named, str(error)), str(error)
        assert len(str(error)) < 400
        return
    lived_with(raw)

    def again(tx: Transaction) -> bytes:
        session = take_in(tx, read_session(raw, NOW))
        assert "".join(write_session(gather(tx, session.id), redactor(["start"])))
        return exported(tx, session)

    lived_with(in_store(again))


many = settings(examples(3), suppress_health_check=list(HealthCheck))


@many
@given(st.sampled_from([1, 2, 3, 3]), st.data())
def test_a_damaged_file_of_pi_is_taken_or_its_line_is_named(
    version: int, data: st.DataObject
) -> None:
    is_taken_or_refused(as_bytes(damaged(_version(version), data), data))


@many
@given(st.booleans(), st.data())
def test_a_damaged_list_of_messages_is_taken_or_its_message_is_named(
    lines: bool, data: st.DataObject
) -> None:
    given = damaged(OPENAI, data)
    is_taken_or_refused(as_bytes(given, data) if lines else as_bytes([given], data))


@pytest.mark.parametrize("number", [1, 2, 3])
def test_whole_files_are_taken(number: int) -> None:
    is_taken_or_refused(file_of(*_version(number)))
    assert read_session(file_of(*_version(number)), NOW).entries


def test_a_last_line_without_a_type_is_named() -> None:
    lines = deepcopy(PI)
    del lines[-1]["type"]
    with pytest.raises(InterchangeError, match=f"^line {len(lines)}: is an entry without a type"):
        read_session(file_of(*lines), NOW)


@pytest.mark.parametrize(
    ("place", "change", "fault"),
    [
        (1, {"bough": {"body": {"drop": [[]]}}}, "is a label|contradicts|cannot be read|is no"),
        (8, {"message": {"role": "branchSummary", "summary": "s", "content": [[]]}}, "content"),
        (9, {"message": {"role": "bashExecution", "command": "ls", "content": [1]}}, "content"),
    ],
)
def test_what_cannot_be_a_key_or_a_block_is_named(place: int, change: Json, fault: str) -> None:
    lines = deepcopy(PI)
    lines[place] |= change
    with pytest.raises(InterchangeError, match=f"^line {place + 1}: .*({fault})"):
        read_session(file_of(*lines), NOW)


def test_what_is_valid_stays_valid() -> None:
    for lines in (PI, OPENAI):
        assert json.loads(json.dumps(lines)) == lines
        assert read_session(file_of(*lines), NOW).entries
