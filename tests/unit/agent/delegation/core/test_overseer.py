from typing import Any

import jsonschema
import pytest

from agent.delegation.core.arguments import Fault
from agent.delegation.core.judging.overseer import (
    ESCALATE_TO_HUMAN,
    EXTEND_TABLE,
    MAX_OPTIONS,
    OPTION_LIMIT,
    RESOLVE,
    Extension,
    HumanRequest,
    Resolution,
    parse_extension,
    parse_human_request,
    parse_resolution,
)
from agent.delegation.tables.model import to_json
from agent.delegation.tables.parse import extend, parse_table
from tests.support.seed_tables import YAML_TABLE
from tests.support.small_tables import listed, one


@pytest.mark.parametrize("schema", [EXTEND_TABLE, RESOLVE, ESCALATE_TO_HUMAN])
def test_the_schemas_are_json_schemas(schema: dict[str, Any]) -> None:
    jsonschema.Draft202012Validator.check_schema(schema)


def test_conditions_that_a_table_takes_fit_the_schema() -> None:
    conditions = listed(to_json(parse_table(YAML_TABLE))["conditions"])
    arguments = {"conditions": conditions, "reason": "none fitted"}
    jsonschema.validate(arguments, EXTEND_TABLE)
    parsed = parse_extension(arguments)
    assert parsed == Extension(conditions, "none fitted")
    assert isinstance(parsed, Extension)
    assert len(extend(parse_table([one()]), parsed.conditions).conditions) == 4


def test_an_extension_may_come_as_text() -> None:
    assert parse_extension({"conditions": "- condition: a"}) == Extension("- condition: a", "")


@pytest.mark.parametrize("conditions", [None, [], {}, ""])
def test_an_extension_without_conditions_is_a_fault(conditions: object) -> None:
    parsed = parse_extension({"conditions": conditions, "reason": "r"})
    assert parsed == Fault("conditions are missing: give at least one")


def test_a_resolution_is_read() -> None:
    arguments = {"summary": " done ", "branch": "ok", "evidence": "seen"}
    jsonschema.validate(arguments, RESOLVE)
    assert parse_resolution(arguments) == Resolution("done", "ok", "seen")


def test_a_resolution_needs_only_a_summary_and_takes_objects_for_text() -> None:
    assert parse_resolution({"summary": "done", "branch": ""}) == Resolution("done", None, "")
    parsed = parse_resolution({"summary": 3, "branch": None, "evidence": {"a": 1}})
    assert parsed == Resolution("3", None, '{"a": 1}')


@pytest.mark.parametrize("summary", [None, " ", {}])
def test_a_resolution_without_a_summary_is_a_fault(summary: object) -> None:
    assert isinstance(parse_resolution({"summary": summary, "evidence": "e"}), Fault)


def test_a_question_to_a_person_is_read() -> None:
    arguments = {"question": "Which?", "options": ["A", "B"]}
    jsonschema.validate(arguments, ESCALATE_TO_HUMAN)
    assert parse_human_request(arguments) == HumanRequest("Which?", ("A", "B"))


@pytest.mark.parametrize(
    ("options", "read"),
    [
        (None, ()),
        ([], ()),
        ("A", ("A",)),
        ('["A", "B"]', ("A", "B")),
        ([{"label": "A", "value": 1}, {"value": 2}, "B"], ("A", "B")),
        ({"label": "A"}, ("A",)),
        ([" A ", "", None, "a", "  ", "B\n b"], ("A", "B b")),
        ([1, True], ("1", "true")),
        ([str(i) for i in range(8)] * 2, tuple(str(i) for i in range(8))),
        (["x" * OPTION_LIMIT], ("x" * OPTION_LIMIT,)),
    ],
)
def test_options_are_read_leniently(options: object, read: tuple[str, ...]) -> None:
    parsed = parse_human_request({"question": "Which?", "options": options})
    assert parsed == HumanRequest("Which?", read)


@pytest.mark.parametrize(
    "options", [[str(i) for i in range(MAX_OPTIONS + 1)], ["short", "x" * (OPTION_LIMIT + 1)]]
)
def test_options_of_which_a_person_would_not_see_all_are_a_fault(options: list[str]) -> None:
    assert isinstance(parse_human_request({"question": "Which?", "options": options}), Fault)


@pytest.mark.parametrize("question", [None, "", " \n", []])
def test_a_request_without_a_question_is_a_fault(question: object) -> None:
    assert isinstance(parse_human_request({"question": question, "options": ["A"]}), Fault)


@pytest.mark.parametrize("parse", [parse_extension, parse_resolution, parse_human_request])
@pytest.mark.parametrize("arguments", [None, [], "text", {"summary": object()}])
def test_arguments_that_are_no_plain_object_are_a_fault(parse: Any, arguments: object) -> None:
    assert isinstance(parse(arguments), Fault)
