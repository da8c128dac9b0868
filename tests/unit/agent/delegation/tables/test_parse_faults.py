import json
from typing import Any

import pytest

from agent.delegation.tables.parse import (
    MAX_BRANCHES,
    MAX_BYTES,
    MAX_CONDITIONS,
    TableError,
    parse_table,
)
from tests.support.small_tables import one, table_of

NUMBER_KEY: dict[Any, Any] = {**table_of(), 404: 1}
HUGE_KEY: dict[Any, Any] = {"branch_table": [one()], 10**5000: 3}


def fault(source: object, **options: bool) -> str:
    with pytest.raises(TableError) as caught:
        parse_table(source, **options)
    return str(caught.value)


def test_an_unknown_action_is_a_fault_with_its_place_and_what_there_is() -> None:
    assert fault(table_of(one(), one(description="b", branches={"ok": "explode"}))) == (
        "conditions[1].branches.ok.action: 'explode' is not an action; "
        "use report, report_with_evidence, escalate or expand"
    )


def test_a_missing_default_is_a_fault_where_one_is_required() -> None:
    assert "default is missing" in fault([one()], require_default=True)
    assert parse_table(table_of(), require_default=True).warnings == ()


@pytest.mark.parametrize(
    ("source", "said"),
    [
        (None, "not nothing"),
        (3, "not a number"),
        (True, "not true or false"),
        (2.5, "not a number"),
        (float("nan"), "not a number"),
        (b"conditions: []", "bytes"),
        (object(), "object"),
        ("", "not nothing"),
        ("just words", "not text"),
        ("{}", "conditions: missing"),
        ([], "conditions: empty"),
        ({"conditions": []}, "conditions: empty"),
        ([{"default": "report"}], "conditions: empty"),
        ({"conditions": {"a": 1}}, "must be a list of conditions, not an object"),
        ({"branch_table": None}, "not nothing"),
        ({"branch_table": 3}, "not a number"),
        ({"branch_table": [one()], "depth": 3}, "unknown key 'depth' beside 'branch_table'"),
        (HUGE_KEY, "unknown key a number beside"),
        (table_of("words"), "conditions[0]: a condition is an object, not text"),
        (table_of(one(colour="red")), "conditions[0]: unknown key 'colour'"),
        (table_of(one(), colour="red"), "unknown key 'colour'"),
        (table_of(one(description=None)), "conditions[0]: needs a description"),
        (table_of(one(condition="b")), "conditions[0]: needs a description"),
        (table_of(one(description="  ")), "conditions[0].description: empty"),
        (table_of(one(description=404)), "conditions[0].description: must be text"),
        (table_of(one(description="Default")), "conditions[0].description: 'default' is what"),
        (table_of(one(branches={"default": "report"})), "branches: 'default' is what"),
        (table_of(one(branches={"": "report"})), "conditions[0].branches: empty"),
        (table_of(one(), one(description=" A ")), "conditions[1]: 'A' stands twice"),
        (table_of(one(branches={"ok": "report", "OK": "expand"})), "'OK' stands twice"),
        (table_of(one(branches=None)), "conditions[0]: needs branches, or branch"),
        (table_of(one(branch="report")), "conditions[0]: needs branches, or branch"),
        (table_of(one(branches={})), "conditions[0].branches: empty"),
        (table_of(one(branches="ok")), "conditions[0].branches: must be a list of {name, action}"),
        (table_of(one(branches=["ok"])), "conditions[0].branches: branch 1 of the list must be"),
        (table_of(one(branches=[{"action": "report"}])), "branch 1 of the list must be"),
        (table_of(one(branches=[{"name": " ", "action": "report"}])), "branch 1 of the list"),
        (table_of(one(branches=[{"name": 1, "action": "report"}])), "branch 1 of the list"),
        (table_of(one(branches=[{"name": "a"}])), "conditions[0].branches.a.action: missing"),
        (table_of(one(branches=[])), "conditions[0].branches: must be"),
        (
            table_of(one(branches=[{"name": "a", "action": "report"}] * 2)),
            "conditions[0].branches: 'a' stands twice",
        ),
        (
            table_of(one(branches=[{"name": n, "action": "report"} for n in ("a", "A ")])),
            "conditions[0].branches: 'A' stands twice",
        ),
        (
            table_of(one(branches=[{"name": "default", "action": "report"}])),
            "conditions[0].branches: 'default' is what a worker reports",
        ),
        (table_of(one(checks="c")), "conditions[0].checks: must be a list of texts, not text"),
        (table_of(one(checks=["c", 404])), "conditions[0].checks[1]: must be text, not a number"),
        (table_of(one(checks=[" "])), "conditions[0].checks[0]: empty"),
        (table_of(max_escalation_depth=-1), "max_escalation_depth: -1 is not"),
        (table_of(max_escalation_depth=True), "max_escalation_depth: True is not"),
        (table_of(max_escalation_depth=1.5), "max_escalation_depth: 1.5 is not"),
        (table_of(max_escalation_depth="2"), "max_escalation_depth: '2' is not"),
        (table_of(max_escalation_depth=float("nan")), "max_escalation_depth: nan is not"),
        (table_of(max_escalation_depth=10**5000), "a number that is too large"),
        (table_of(escalation_model=3), "escalation_model: must be text"),
        (table_of(escalation_model=" "), "escalation_model: empty"),
        (table_of(default=3), "default: an action is an object"),
        (table_of({"default": None}), "conditions[0]: needs a description"),
        (table_of(one(default="report")), "conditions[0]: the default is no part of a condition"),
        (table_of({}), "and only one; conditions[0]: needs branches"),
        ([one(), {"default": "report"}, {"default": "report"}], "a second default"),
        ({"conditions": [one(), {"default": "report"}], "default": "report"}, "a second default"),
        (NUMBER_KEY, "a key is a number, not text"),
        ('[{"condition": "a", "branches": {"ok": "report", "ok": "expand"}}]', "stands twice"),
        ("- condition: a\n  branches: {ok: report, ok: expand}", "the key 'ok' stands twice"),
        ("branch_table: []\nbranch_table: []", "the key 'branch_table' stands twice"),
        ('[{"condition": "a", "branch": "report", "checks": [NaN]}]', "checks[0]: must be text"),
        ("max_escalation_depth: .nan\nconditions: []", "'.nan' is not a whole number"),
        ("max_escalation_depth: " + "9" * 5000 + "\nconditions: []", "is not a whole number"),
        ('{"conditions": [' + "9" * 5000 + "]}", "conditions[0]: a condition is an object"),
        ("{a: [}", "neither JSON (line 1, column 2"),
        ("a: b: c", "line 1, column 5"),
        ("a: 1\n---\nb: 2", "more than one YAML document"),
        ("a: \x07", "not allowed"),
        ("? [a]\n: b", "line 1: a key is a list or an object"),
        ("a: !!python/object/apply:os.system ['true']", "tags ("),
        ("a: &x 1\nb: *x", "anchors and aliases"),
        ("a: &x [*x]", "cyclic"),
        ("&x a: 1", "anchors and aliases"),
        ("- condition: a\n  branches:\n    <<: {ok: report}", "merge keys"),
    ],
)
def test_what_is_wrong_is_said_with_its_place(source: object, said: str) -> None:
    assert said in fault(source)


@pytest.mark.parametrize(
    ("written", "said"),
    [
        (None, "x: an action is an object like"),
        (["report"], "x: an action is an object like"),
        ({}, "x.action: missing; use report"),
        ({"action": "Report"}, "x.action: 'Report' is not an action"),
        ({"action": ["report"]}, "is not an action"),
        ({"action": "escalate", "tier": "boss"}, "x.tier: 'boss' is not a tier; use overseer or"),
        ({"action": "escalate", "tier": 3}, "x.tier: 3 is not a tier"),
        ({"action": "escalate", "format": "f"}, "x.format: does not belong to escalate"),
        ({"action": "report", "tier": "human"}, "x.tier: does not belong to report"),
        ({"action": "report", "prompt": "p"}, "x.prompt: does not belong to report"),
        ({"action": "expand", "tier": "human"}, "x.tier: does not belong to expand"),
        ({"action": "report", "colour": 1}, "x: unknown key 'colour'"),
        ({"action": "report", "format": 3}, "x.format: must be text, not a number"),
        ({"action": "report", "format": {"goal": None}}, "not an object; put it in quotes"),
        ({"action": "report", "format": "{secret}"}, "x.format: '{secret}' is not a field"),
        ({"action": "escalate", "prompt": "{prompt}"}, "x.prompt: '{prompt}' is not a field"),
        ({"action": "expand", "prompt": "{goal"}, "x.prompt: a single '{'"),
    ],
)
def test_what_is_wrong_with_an_action_is_said_with_its_place(written: object, said: str) -> None:
    assert said in fault(table_of(one(branches={"x": written})))


def test_one_message_names_many_faults_and_counts_the_rest() -> None:
    names = [f"bad{i}" for i in range(20)]
    said = fault(table_of(one(branches=dict.fromkeys(names, "explode"))))
    assert [name for name in names if f".{name}.action" in said] == names[:8]
    assert said.endswith("; and 12 more")


def test_a_fault_never_repeats_a_long_text_whole() -> None:
    long = "x" * 20_000
    assert len(fault(table_of(one(branches={long: long, "b": long})))) < 1_000


def test_too_much_text_is_refused_with_the_limit_and_the_size() -> None:
    said = fault("x" * 1_000_000)
    assert "1,000,000 bytes" in said
    assert f"{MAX_BYTES:,}" in said
    assert f"{MAX_BYTES:,}" in fault(table_of(one(description="é" * 40_000)))
    assert fault([0] * 1_000_000) == "more than 65,536 values; that is too much"


def test_the_size_is_checked_before_the_text_is_read() -> None:
    assert "bytes" in fault("[" * 1_000_000)


@pytest.mark.parametrize("opening", ["[", "{", '{"a":', "- ", "? ", "a: {b: ", '["', "'["])
def test_deep_text_is_refused_without_recursion(opening: str) -> None:
    assert fault(opening * (60_000 // len(opening)))


def test_a_string_that_is_never_closed_is_refused_in_one_pass() -> None:
    for end in ("", "\\"):
        assert "neither JSON" in fault('["' + '\\"' * 30_000 + end)


def test_deep_and_cyclic_objects_are_refused_without_recursion() -> None:
    deep: list[Any] = []
    for _ in range(100_000):
        deep = [deep]
    assert "levels" in fault(deep)
    cyclic = table_of()
    cyclic["conditions"][0]["branches"]["again"] = cyclic
    assert fault(cyclic) == "conditions[0].branches.again: cyclic: it contains itself"


def test_an_object_that_stands_in_two_places_is_not_cyclic() -> None:
    shared = {"action": "report"}
    table = parse_table(table_of(one(branches={"x": shared, "y": shared}), default=shared))
    assert len(table.conditions[0].branches) == 2


def test_an_object_that_unfolds_without_end_is_refused() -> None:
    bomb: list[Any] = ["x"]
    for _ in range(40):
        bomb = [bomb, bomb]
    assert "values" in fault(bomb)


def test_at_most_so_many_conditions_and_branches() -> None:
    many = [one(description=f"c{i}") for i in range(MAX_CONDITIONS + 1)]
    assert fault(many) == "conditions: 101 are too many; at most 100"
    assert len(parse_table(many[1:]).conditions) == MAX_CONDITIONS
    names = {f"b{i}": "report" for i in range(MAX_BRANCHES + 1)}
    assert fault([one(branches=names)]) == "conditions[0].branches: 51 are too many; at most 50"


def test_a_table_whose_normal_form_is_too_large_to_read_again_is_refused() -> None:
    rows = [
        one(description=f"{i:03}" + "x" * 530, branches={f"b{j}": "expand" for j in range(5)})
        for i in range(100)
    ]
    assert len(json.dumps(rows, separators=(",", ":"))) < MAX_BYTES
    assert "too many" in fault(rows)
