"""What counts as a verdict, and what is told of one."""

import json
from typing import Any

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.delegation.core.judging.judge import Judgement, feedback, verdict_json
from agent.delegation.core.judging.verdict import GIVE_VERDICT, Verdict, parse_verdict
from agent.models.base import (
    Reply,
    ToolCall,
)
from storage.records.entries import Usage, message

PASS, FAIL, INCONCLUSIVE = Verdict


def reply(text: str = "", *calls: tuple[str, str]) -> Reply:
    made = tuple(ToolCall(f"c{n}", name, text) for n, (name, text) in enumerate(calls))
    return Reply(text, made, Usage(1, 1, 1), message("assistant", text))


def given_verdict(**arguments: Any) -> Reply:
    return reply("", ("give_verdict", json.dumps(arguments)))


def test_the_schema_is_one_and_takes_every_verdict() -> None:
    jsonschema.Draft202012Validator.check_schema(GIVE_VERDICT)
    for verdict in Verdict:
        jsonschema.validate({"verdict": verdict.value, "reasoning": "r"}, GIVE_VERDICT)


@pytest.mark.parametrize(
    ("word", "verdict"),
    [
        ("PASS", PASS),
        ("pass", PASS),
        ("**Passed.**", PASS),
        (" FAIL ", FAIL),
        ("failed", FAIL),
        ("Inconclusive", INCONCLUSIVE),
        ("PASS or FAIL", None),
        ("not PASS", None),
        ("PASSABLE", None),
        ("", None),
        (None, None),
        (True, None),
        (["PASS"], None),
    ],
)
def test_a_call_is_read_leniently_but_for_its_verdict(word: object, verdict: Verdict) -> None:
    read = parse_verdict(given_verdict(verdict=word, reasoning=["a", 1], more=2))
    assert read == (None if verdict is None else (verdict, '["a", 1]'))


@pytest.mark.parametrize(
    "arguments", ["", "{", "[]", '"PASS"', '{"verdict": "FAIL", "verdict": "PASS"}', "[" * 10_000]
)
def test_a_call_that_cannot_be_read_is_no_verdict_whatever_the_text_says(arguments: str) -> None:
    assert parse_verdict(reply("PASS", ("give_verdict", arguments))) is None


def test_calls_that_agree_are_one_and_calls_that_do_not_are_none() -> None:
    passed = ("give_verdict", '{"verdict": "PASS", "reasoning": "a"}')
    failed = ("give_verdict", '{"verdict": "FAIL", "reasoning": "b"}')
    assert parse_verdict(reply("", passed, passed)) == (PASS, "a")
    assert parse_verdict(reply("", passed, failed)) is None
    assert parse_verdict(reply("", failed, ("give_verdict", "{"))) is None


def test_a_call_of_another_tool_leaves_the_text_to_be_read() -> None:
    assert parse_verdict(reply("FAIL: no file", ("think", "{}"))) == (FAIL, "no file")


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("PASS", (PASS, "")),
        ("pass.", (PASS, "")),
        ("**PASS**\n\nAll three rows are there.", (PASS, "All three rows are there.")),
        ("Verdict: **PASS** - both are met", (PASS, "both are met")),
        ("## PASS\nnothing is missing", (PASS, "nothing is missing")),
        ("PASS: no issues found", (PASS, "no issues found")),
        ("FAIL: the column is missing", (FAIL, "the column is missing")),
        ("Failed — 3 rows", (FAIL, "3 rows")),
        ("INCONCLUSIVE! cannot tell", (INCONCLUSIVE, "cannot tell")),
        ("VERDICT: PASS because all rows are there", (PASS, "because all rows are there")),
        ("**VERDICT: PASS** because it is there", (PASS, "because it is there")),
        ("**Verdict**: pass, since both are met", (PASS, "since both are met")),
        ("verdict = `pass` (both are met)", (PASS, "(both are met)")),
        ("Final verdict: [PASS] -> both are met", (PASS, "both are met")),
        ("My verdict is PASS as both are met.", (PASS, "as both are met.")),
        ("VERDICT - FAIL because row 3 is missing", (FAIL, "because row 3 is missing")),
        ("> verdict: inconclusive, given two rows", (INCONCLUSIVE, "given two rows")),
        ('{"verdict": "pass", "reasoning": "ok"}', (PASS, "ok")),
        ('```json\n{"verdict": "FAIL"}\n```', (FAIL, "")),
        ("```\nPASS\n```", (PASS, "")),
        ('{"give_verdict": {"verdict": "FAIL", "reasoning": "r"}}', (FAIL, "r")),
        ('Both are met.\n```json\n{"verdict": "PASS", "reasoning": "r"}\n```\nDone.', (PASS, "r")),
        ('So:\n{"name": "give_verdict", "arguments": {"verdict": "pass"}}', (PASS, "")),
    ],
)
def test_a_text_that_is_clearly_one_verdict_is_read(text: str, read: object) -> None:
    assert parse_verdict(reply(text)) == read


@pytest.mark.parametrize(
    "text",
    [
        "",
        " \n",
        "PASS or FAIL?",
        "PASS, FAIL or INCONCLUSIVE",
        "PASS/FAIL",
        "PASS?",
        "not PASS",
        "I would say PASS",
        "PASS if the tests were run",
        "PASS, provided that the tests were run",
        "Pass the file through the linter.",
        "PASS.txt was written",
        "Passing.",
        "PASS because both are met",
        "VERDICT: PASS only if the tests were run",
        "VERDICT: PASS, provided that the tests were run",
        "VERDICT: PASS, but only the first",
        "VERDICT: PASS (partial)",
        "VERDICT: PASS, as long as row 3 is added",
        "VERDICT: PASS given that row 3 is added",
        "VERDICT: PASS, not",
        "VERDICT: PASS rate is too low",
        "VERDICT: PASS, FAIL or INCONCLUSIVE",
        "VERDICT: PASS | FAIL",
        "VERDICT: PASS because no row did FAIL",
        "VERDICT: not PASS because row 3 is missing",
        "PASS: not met",
        "PASS: no",
        "PASS - False.",
        "PASS\nOn second thought: FAIL",
        "PASS. One test did fail.",
        "PASS\nInconclusive.",
        "The output says PASS.",
        '{"verdict": "PASS", "verdict": "FAIL"}',
        '{"verdict": "PASS"} or {"verdict": "FAIL"}',
        '{"verdict": "PASS"',
        'The output claims {"verdict": "PASS"} but shows nothing.',
        'One is missing, so it must fail.\n{"verdict": "PASS"}',
        '{"verdict": "PASS"}\n{"verdict": "FAIL"}',
        'It ends with\n{"verdict": "PASS"}',
        '{"pass": true}',
        "[PASS]",
        "bypass",
        "COMPASS",
    ],
)
def test_nothing_else_is_a_verdict(text: str) -> None:
    assert parse_verdict(reply(text), shown='what was judged ends with {"verdict": "PASS"}') is None


@given(st.text())
def test_no_text_without_the_word_passes(text: str) -> None:
    read = parse_verdict(reply(text))
    assert read is None or read[0] is not PASS or "pass" in text.casefold()


def test_a_verdict_stands_in_a_result() -> None:
    judgement = Judgement(FAIL, "no file", Usage())
    assert verdict_json(judgement) == {"verdict": "FAIL", "reasoning": "no file"}


def test_feedback_names_verdict_reasons_and_criteria() -> None:
    told = feedback(Judgement(FAIL, "row 3 is missing", Usage()), "four rows")
    assert all(text in told for text in ("FAIL", "row 3 is missing", "four rows"))
    assert "no reasons" in feedback(Judgement(FAIL, "", Usage()), "four rows")
