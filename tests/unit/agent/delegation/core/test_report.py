import json
from typing import Any

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.delegation.core.arguments import Fault
from agent.delegation.core.report import (
    EVIDENCE_LIMIT,
    RAW_TAIL_LIMIT,
    REPORT_TOOL,
    Matched,
    Report,
    Unmatched,
    envelope,
    match_report,
    parse_report,
)
from agent.delegation.tables.parse import parse_table
from tests.support.seed_tables import JSON_TASK, YAML_TABLE

TABLE = parse_table(YAML_TABLE)
VISIBLE, FUNCTIONAL = TABLE.conditions[0].checks
LOADS = "Page loads successfully"


def report(**arguments: Any) -> Report:
    parsed = parse_report({"evidence": "seen", **arguments})
    assert isinstance(parsed, Report)
    return parsed


def matched(**arguments: Any) -> Matched:
    found = match_report(TABLE, report(**arguments))
    assert isinstance(found, Matched), found
    return found


def reason(**arguments: Any) -> str:
    found = match_report(TABLE, report(**arguments))
    assert isinstance(found, Unmatched)
    assert not found.deliberate
    assert found.reason.endswith(".")
    return found.reason


def names(found: Matched) -> tuple[int, str]:
    return found.condition.number, found.branch.name


# Reading.


def test_a_report_as_the_schema_asks_is_read_as_it_is() -> None:
    arguments = {
        "condition": LOADS,
        "branch": "ok",
        "evidence": "toggle #x",
        "confidence": 0.9,
        "checks": [{"check": VISIBLE, "passed": True}, {"check": FUNCTIONAL, "passed": False}],
        "observed_state": "loaded",
    }
    jsonschema.validate(arguments, REPORT_TOOL)
    assert parse_report(arguments) == Report(
        LOADS, "ok", "toggle #x", 0.9, {VISIBLE: True, FUNCTIONAL: False}, "loaded"
    )


def test_the_schema_is_one_and_asks_for_condition_branch_and_evidence() -> None:
    jsonschema.Draft202012Validator.check_schema(REPORT_TOOL)
    assert REPORT_TOOL["required"] == ["condition", "branch", "evidence"]
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({"condition": "a", "branch": "ok"}, REPORT_TOOL)


def test_numbers_and_objects_are_taken_where_text_belongs() -> None:
    read = report(condition=2, branch=404, evidence={"found": ["é"]}, observed_state=["a"])
    assert (read.condition, read.branch) == ("2", "404")
    assert read.evidence == '{"found": ["é"]}'
    assert read.observed_state == '["a"]'
    assert report(condition=2.0).condition == "2"


@pytest.mark.parametrize("empty", [None, "", "  \n", {}, []])
def test_what_is_empty_is_no_evidence(empty: object) -> None:
    assert report(evidence=empty).evidence == ""


@pytest.mark.parametrize(
    ("given_as", "confidence"),
    [(0, 0.0), (1, 1.0), (0.5, 0.5), ("0.9", 0.9), (" 90 % ", 0.9), ("90%", 0.9), (None, None)],
)
def test_confidence_is_understood(given_as: object, confidence: float | None) -> None:
    read = report(confidence=given_as)
    assert read.confidence == confidence
    assert read.warnings == ()


@pytest.mark.parametrize(
    "given_as", [90, -0.1, "high", True, float("nan"), float("inf"), "200%", [0.5], "1e999"]
)
def test_confidence_that_is_none_is_left_out_with_a_warning(given_as: object) -> None:
    read = report(confidence=given_as)
    assert read.confidence is None
    assert len(read.warnings) == 1
    assert "confidence" in read.warnings[0]


@pytest.mark.parametrize("said", [True, 1, "true", "Passed", "yes", " OK "])
def test_words_for_passed_are_understood(said: object) -> None:
    assert report(checks={VISIBLE: said}).checks == {VISIBLE: True}


@pytest.mark.parametrize("said", [False, 0, "False", "failed", "NO"])
def test_words_for_failed_are_understood(said: object) -> None:
    assert report(checks={VISIBLE: said}).checks == {VISIBLE: False}


def test_a_check_that_neither_passed_nor_failed_is_left_out_with_a_warning() -> None:
    read = report(checks={VISIBLE: "perhaps", FUNCTIONAL: True})
    assert read.checks == {FUNCTIONAL: True}
    assert read.warnings == (f"neither passed nor failed: '{VISIBLE}'",)


def test_checks_may_be_a_list_of_what_passed() -> None:
    read = report(checks=[VISIBLE, 2])
    assert read.checks == {VISIBLE: True, "2": True}
    assert read.passed_only


def test_checks_may_be_an_object_from_each_to_whether_it_passed() -> None:
    read = report(checks={VISIBLE: True, FUNCTIONAL: False})
    assert read.checks == {VISIBLE: True, FUNCTIONAL: False}
    assert not read.passed_only


@pytest.mark.parametrize(
    "said",
    [
        [{"check": 1, "passed": "yes"}, {"check": VISIBLE, "passed": False}],
        [{"1": "passed", VISIBLE: "failed"}],
        [{"check": VISIBLE, "passed": False}, {"check": VISIBLE, "passed": True}, "1"],
    ],
)
def test_checks_are_read_one_by_one_and_failed_outweighs(said: object) -> None:
    read = report(checks=said)
    assert read.checks == {"1": True, VISIBLE: False}
    assert not read.passed_only


def test_one_check_needs_no_list() -> None:
    assert report(checks={"check": VISIBLE, "passed": False}).checks == {VISIBLE: False}


def test_checks_written_as_json_text_are_read() -> None:
    assert report(checks=json.dumps({VISIBLE: False})).checks == {VISIBLE: False}
    assert report(checks=json.dumps([VISIBLE])).passed_only


@pytest.mark.parametrize("said", ["all of them", True, 3, "[unfinished"])
def test_checks_of_another_kind_are_left_out_with_a_warning(said: object) -> None:
    read = report(checks=said)
    assert read.checks == {}
    assert not read.passed_only
    assert "neither an object nor a list" in read.warnings[0]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"condition": ["a"], "branch": "ok"}, "condition must be text, not a list"),
        ({"condition": "a", "branch": {"name": "ok"}}, "branch must be text, not an object"),
        ({"evidence": b"bytes"}, "the arguments cannot be read: evidence: a bytes"),
        ({"evidence": 10**5000}, "a number that is too large"),
        ([], "the arguments must be an object, not a list"),
        (None, "the arguments must be an object, not nothing"),
    ],
)
def test_arguments_that_cannot_be_a_report_are_a_fault(arguments: Any, said: str) -> None:
    parsed = parse_report(arguments)
    assert isinstance(parsed, Fault)
    assert said in parsed.text


# Matching.


@pytest.mark.parametrize("source", [YAML_TABLE, JSON_TASK])
def test_every_branch_of_the_proposals_tables_is_matched(source: str) -> None:
    table = parse_table(source)
    seen = []
    for condition in table.conditions:
        for branch in condition.branches:
            for name in (condition.description, str(condition.number)):
                found = match_report(table, report(condition=name, branch=branch.name))
                assert isinstance(found, Matched)
                assert (found.condition, found.branch) == (condition, branch)
            seen.append(branch.name)
    assert seen == ["ok", "not_found", "broken"] + ["match"] * (len(table.conditions) - 1)


@pytest.mark.parametrize(
    "name", ["page  loads SUCCESSFULLY", "1", 1, "1.", "#1", f"1. {LOADS}", f"Condition 1: {LOADS}"]
)
def test_a_condition_is_found_by_text_or_number(name: object) -> None:
    assert names(matched(condition=name, branch="Not_Found")) == (1, "not_found")


@pytest.mark.parametrize("absent", [None, "", " "])
def test_a_missing_condition_is_fine_where_one_condition_has_the_branch(absent: object) -> None:
    assert names(matched(condition=absent, branch="broken")) == (1, "broken")


@pytest.mark.parametrize("absent", [None, "", " ", "match", "MATCH"])
def test_a_condition_with_one_nameless_branch_needs_no_branch(absent: object) -> None:
    assert names(matched(condition="Page requires authentication", branch=absent)) == (3, "match")


@pytest.mark.parametrize(
    "arguments",
    [
        {"condition": "default", "branch": "default"},
        {"condition": "Default", "branch": ""},
        {"condition": LOADS, "branch": " DEFAULT "},
        {"branch": "default", "evidence": ""},
    ],
)
def test_the_default_is_chosen_deliberately(arguments: dict[str, Any]) -> None:
    found = match_report(TABLE, report(**arguments))
    assert found == Unmatched("the worker chose the default", deliberate=True)


def test_an_unknown_condition_is_corrected_with_all_there_are() -> None:
    said = reason(condition="Page is slow", branch="ok")
    assert said.startswith("'Page is slow' is not a condition; ")
    assert "1. 'Page loads successfully' (ok, not_found, broken)" in said
    assert "3. 'Page requires authentication' (match)" in said
    assert '"default"' in said


def test_a_number_beyond_the_table_is_an_unknown_condition() -> None:
    assert "'4' is not a condition" in reason(condition=4, branch="ok")


def test_an_unknown_branch_is_corrected_with_those_of_its_condition() -> None:
    said = reason(condition=LOADS, branch="renamed")
    assert said.startswith("'renamed' is not a branch; condition 1 ('Page loads successfully')")
    assert "ok, not_found, broken" in said


def test_an_unknown_branch_without_a_condition_is_corrected_with_all_there_are() -> None:
    assert "3. 'Page requires authentication'" in reason(branch="renamed")


def test_a_missing_branch_is_corrected_where_there_are_several() -> None:
    assert reason(condition=LOADS).startswith("no branch was given; condition 1")


def test_a_branch_of_several_conditions_needs_its_condition() -> None:
    assert "'match' is a branch of conditions 2, 3: say which" in reason(branch="match")


def test_a_report_of_nothing_is_corrected() -> None:
    assert reason().startswith("neither condition nor branch was given; ")


def test_a_report_without_evidence_is_unmatched() -> None:
    assert reason(condition=LOADS, branch="broken", evidence=" ").startswith("no evidence")


def test_one_correction_names_everything_that_is_wrong() -> None:
    assert "no evidence" in reason(condition="Page is slow", branch="ok", evidence="")
    said = reason(condition=LOADS, branch="ok", evidence="", checks={VISIBLE: False})
    assert "failed" in said
    assert "no evidence" in said


def test_reasons_stay_short_for_long_tables_and_reports() -> None:
    rows = [{"condition": f"{i} " + "x" * 500, "branch": "report"} for i in range(100)]
    found = match_report(parse_table(rows), report(condition="y" * 10_000, branch="z" * 10_000))
    assert isinstance(found, Unmatched)
    assert len(found.reason) < 3_000


# Checks.


@pytest.mark.parametrize(
    "checks",
    [
        {VISIBLE: True, FUNCTIONAL: True},
        {VISIBLE.upper(): "passed", "2": "yes"},
        {"check 1": True, f"2. {FUNCTIONAL}": True, "something else": False},
        [{"check": VISIBLE, "passed": True}, {"check": "2", "passed": True}],
        [VISIBLE, FUNCTIONAL],
        [1, "2", "something else"],
    ],
)
def test_ok_with_every_check_passed_is_matched_without_warning(checks: object) -> None:
    found = matched(condition=LOADS, branch="ok", checks=checks)
    assert names(found) == (1, "ok")
    assert found.warnings == ()


@pytest.mark.parametrize(
    ("checks", "failed"),
    [
        ({VISIBLE: True, FUNCTIONAL: False}, f"the check '{FUNCTIONAL}' failed"),
        ({"2": "failed"}, f"the check '{FUNCTIONAL}' failed"),
        ({VISIBLE: False, "2": "no"}, f"the checks '{VISIBLE}', '{FUNCTIONAL}' failed"),
        ({VISIBLE: True, "1": False, "2": True}, f"the check '{VISIBLE}' failed"),
        ([{"check": 1, "passed": False}], f"the check '{VISIBLE}' failed"),
        ([VISIBLE], f"the check '{FUNCTIONAL}' failed"),
        ([2], f"the check '{VISIBLE}' failed"),
        ([], f"the checks '{VISIBLE}', '{FUNCTIONAL}' failed"),
    ],
)
def test_ok_with_a_failed_check_is_unmatched(checks: object, failed: str) -> None:
    said = reason(condition=LOADS, branch="OK", checks=checks)
    assert said.startswith(f"ok was reported but {failed}; condition 1")
    assert "not_found, broken" in said


def test_ok_with_a_check_not_mentioned_is_matched_with_a_warning() -> None:
    found = matched(condition=LOADS, branch="ok", checks={VISIBLE: True})
    assert found.warnings == (f"the check '{FUNCTIONAL}' was not reported",)


@pytest.mark.parametrize("checks", [None, {}, {"unknown": False}])
def test_ok_without_checks_is_matched_with_a_warning(checks: object) -> None:
    found = matched(condition=LOADS, branch="ok", checks=checks)
    assert found.warnings == ("no checks were reported",)


def test_checks_bind_no_other_branch() -> None:
    found = matched(condition=LOADS, branch="broken", checks={FUNCTIONAL: False})
    assert names(found) == (1, "broken")
    assert found.warnings == ()


# The envelope.


def test_the_envelope_of_a_match_names_things_as_the_table_does() -> None:
    found = matched(condition=1, branch="BROKEN", confidence=0.5, checks={"1": True, "x": True})
    assert envelope(found, "tail") == {
        "condition": LOADS,
        "branch": "broken",
        "evidence": "seen",
        "confidence": 0.5,
        "checks": {VISIBLE: True},
        "raw_tail": "tail",
    }


def test_the_envelope_of_a_report_names_things_as_it_does() -> None:
    made = envelope(report(condition="Slow", branch="b", checks={"x": False}), "")
    assert (made["condition"], made["branch"], made["checks"]) == ("Slow", "b", {"x": False})


def test_an_envelope_is_bounded_and_says_what_it_cut() -> None:
    checks = {f"{i}" + "c" * 1_000: True for i in range(500)}
    made = envelope(
        report(condition="c" * 9_000, branch="b" * 9_000, evidence="e" * 9_000, checks=checks),
        "start" + "r" * 5_000 + "end",
    )
    assert made["evidence"] == "e" * EVIDENCE_LIMIT + "… [cut, 9000 characters in all]"
    assert made["raw_tail"].startswith("[cut, 5008 characters in all] …r")
    assert made["raw_tail"].endswith("rend")
    assert len(made["raw_tail"]) < RAW_TAIL_LIMIT + 50
    assert len(json.dumps(made)) < 50_000


# Properties.

values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters(), max_size=9),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=9), inner),
    max_leaves=6,
)
keys = list(REPORT_TOOL["properties"])
told = st.sampled_from([LOADS, "1", 3, "ok", "match", "default", "seen", {VISIBLE: True}, [1]])


@given(st.dictionaries(st.sampled_from(keys) | st.text(max_size=5), told | values, max_size=6))
def test_whatever_is_reported_is_matched_corrected_or_a_fault(arguments: dict[str, Any]) -> None:
    parsed = parse_report(arguments)
    if isinstance(parsed, Fault):
        assert parsed.text
        return
    found = match_report(TABLE, parsed)
    json.dumps(envelope(parsed, "tail"), allow_nan=False).encode()
    if isinstance(found, Matched):
        assert found.branch in found.condition.branches
        assert parsed.evidence
        json.dumps(envelope(found, "tail"), allow_nan=False).encode()
    else:
        assert found.reason
