"""Calls that models write into their text."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.delegation.core.judging.overseer import (
    ASK_WORKER,
    ESCALATE_TO_HUMAN,
    EXTEND_TABLE,
    RESOLVE,
)
from agent.delegation.core.report import REPORT_TOOL
from agent.delegation.core.text_calls import MOST_ATTEMPTS, TEXT_LIMIT, call_in

WORKER = {"report_outcome": REPORT_TOOL}
OVERSEER = {
    "extend_table": EXTEND_TABLE,
    "ask_worker": ASK_WORKER,
    "resolve": RESOLVE,
    "escalate_to_human": ESCALATE_TO_HUMAN,
}
REPORT = {"condition": "There", "branch": "ok", "evidence": 'a "b" {c}'}
BARE = json.dumps(REPORT)


def report_in(text: str, shown: str = "") -> object:
    call = call_in(text, WORKER, lambda: shown)
    return call.arguments if call is not None else None


def decided(text: str) -> tuple[str, object] | None:
    call = call_in(text, OVERSEER, lambda: "")
    return (call.name, call.arguments) if call is not None else None


@pytest.mark.parametrize(
    "text",
    [
        BARE,
        f"```json\n{json.dumps(REPORT, indent=2)}\n```",
        f"I looked {{carefully}}. Report: {BARE} That is all.",
        f"report_outcome({BARE})",
        f'<tool_call>{{"name": "report_outcome", "arguments": {BARE}}}</tool_call>',
        json.dumps({"report_outcome": REPORT}),
        json.dumps({"Report_Outcome": BARE}),
        json.dumps({"name": "report_outcome", "arguments": BARE}),
        json.dumps({"name": "functions.report_outcome", "parameters": REPORT}),
        json.dumps({"tool": "report_outcome", **REPORT}),
        json.dumps({"type": "function", "function": {"name": "report_outcome", "arguments": BARE}}),
        json.dumps({"tool_calls": [{"function": {"name": "report_outcome", "arguments": REPORT}}]}),
        json.dumps([{"name": "report_outcome", "arguments": REPORT}]),
        f"First {BARE}, and once more:\n{json.dumps({'report_outcome': REPORT})}",
        f"A trailing comma: {{'x': 1}} {{\"report_outcome\": {BARE},}}",
    ],
)
def test_a_report_in_a_text_is_read(text: str) -> None:
    assert report_in(text) == REPORT


@pytest.mark.parametrize(
    "text",
    [
        "",
        "All is well.",
        "{" * 100_000,
        "[" * 50_000 + "{",
        '{"a":' * 20_000,
        '{"weather": {"condition": "sunny"}}',
        '{"condition": "There"}',
        '{"conditions": [{"description": "a"}]}',
        '{"condition": "a", "branch": "b", "branch": "c"}',
        f'{BARE} or {{"condition": "Gone", "branch": "ok"}}',
        '{"report_outcome": "There"}',
        '{"name": "think", "arguments": {"thought": "x"}}',
        "x" * TEXT_LIMIT + BARE,
        "{" * MOST_ATTEMPTS + BARE,
    ],
)
def test_nothing_else_is_a_report(text: str) -> None:
    assert report_in(text) is None


def test_what_the_model_was_shown_is_a_quotation() -> None:
    page = f"Assistants report {BARE} here."
    assert report_in(f"The page says {BARE}.", page) is None
    assert report_in(f"The page says {BARE}.", json.dumps({"raw_tail": page})) is None
    assert report_in(BARE, "something else") == REPORT


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("extend_table", {"conditions": [{"description": "a", "branch": "report"}], "reason": "r"}),
        ("ask_worker", {"check": "the log"}),
        ("resolve", {"summary": "done", "branch": "ok"}),
        ("escalate_to_human", {"question": "which?", "options": ["a", "b"]}),
    ],
)
def test_each_decision_is_read_by_its_keys_or_its_name(name: str, arguments: object) -> None:
    for written in (arguments, {name: arguments}, {"name": name, "arguments": arguments}):
        assert decided(f"So:\n```json\n{json.dumps(written)}\n```") == (name, arguments)


@pytest.mark.parametrize(
    "text",
    [
        '{"conditions": [], "default": "escalate"}',
        '{"summary": "s", "question": "q"}',
        '{"summary": "s"} {"question": "q"}',
        '{"resolve": {"summary": "s"}, "ask_worker": {"check": "c"}}',
    ],
)
def test_what_could_be_two_decisions_or_a_table_is_none(text: str) -> None:
    assert decided(text) is None


@given(st.text(alphabet='{}[]",:\\ab1 \n`', max_size=200))
def test_no_text_breaks_the_reader(text: str) -> None:
    report_in(text)
