"""What is plain is taken however it is written, each time with a warning."""

from typing import Any

import pytest

from agent.delegation.tables.model import ActionKind, EscalationTier, to_json
from agent.delegation.tables.parse import extend, parse_table
from agent.text.mending import SHOWN_WARNINGS
from tests.support.small_tables import one, table_of

PLAIN = table_of(one(checks=["c"]))
YAML = "conditions:\n- description: a\n  checks: [c]\n  branches: {ok: report}\ndefault: escalate"
JSON = '[{"description": "a", "checks": ["c"], "branches": {"ok": "report"}}]'


@pytest.mark.parametrize(
    ("source", "warning"),
    [
        (table_of(one(checks="c")), "conditions[0].checks: one text is read as a list of it"),
        (table_of(one(checks=["c"], colour=1)), "conditions[0]: unknown key 'colour' is ignored"),
        (table_of(one(checks=["c"]), Colour=1), "unknown key 'Colour' is ignored"),
        (table_of(one(Checks=["c"])), "conditions[0]: the key 'Checks' is read as checks"),
        (
            table_of(one(checks=["c"], branches={"ok": "REPORT"})),
            "conditions[0].branches.ok: 'REPORT' is read as report",
        ),
        (
            table_of(one(checks=["c"], branches={"ok": {"action": "report", "prompt": "{what"}})),
            "conditions[0].branches.ok.prompt: has no effect on 'report'; ignored",
        ),
        (
            {"branch_table": PLAIN, "deadline": "soon"},
            "unknown key 'deadline' beside 'branch_table' is ignored",
        ),
        (
            {"conditions": one(checks=["c"]), "default": "escalate"},
            "conditions: one condition is read as a list of it",
        ),
        (
            table_of(one(checks=["c"], branches={"name": "ok", "action": "report"})),
            "conditions[0].branches: one branch is read as a list of it",
        ),
        (f"```yaml\n{YAML}\n```", "the code block around the table was taken off"),
        (f"\n```\n{YAML}\n```\n", "the code block around the table was taken off"),
    ],
)
def test_what_is_plain_is_taken_with_one_warning(source: object, warning: str) -> None:
    table = parse_table(source)
    assert table.warnings == (warning,)
    assert to_json(table) == to_json(parse_table(PLAIN))


def test_branches_may_be_called_name_and_action() -> None:
    table = parse_table(table_of(one(branches={"name": "report", "action": "report"})))
    assert [branch.name for branch in table.conditions[0].branches] == ["name", "action"]
    assert table.warnings == ()


def test_what_needs_no_mending_needs_no_warning() -> None:
    for source in (PLAIN, YAML):
        assert parse_table(source).warnings == ()


def test_json_in_a_code_block_is_a_table() -> None:
    table = parse_table(f"```json\n{JSON}\n```")
    assert table.conditions == parse_table(JSON).conditions


@pytest.mark.parametrize("written", ["2", " 2 ", 2.0])
def test_a_number_may_be_text(written: object) -> None:
    table = parse_table(table_of(max_escalation_depth=written))
    assert table.max_escalation_depth == 2
    assert "max_escalation_depth: " in table.warnings[0]


@pytest.mark.parametrize(
    ("written", "kind", "tier"),
    [
        ({"action": "ESCALATE", "tier": "Human"}, ActionKind.ESCALATE, EscalationTier.HUMAN),
        ({"action": "Escalate", "format": "f"}, ActionKind.ESCALATE, EscalationTier.OVERSEER),
        ({"action": "report-with evidence"}, ActionKind.REPORT_WITH_EVIDENCE, None),
        ({"Action": "Expand", "tier": "overseer"}, ActionKind.EXPAND, None),
        ({"action": "report", "tier": "", "prompt": "", "format": ""}, ActionKind.REPORT, None),
    ],
)
def test_actions_are_read_however_they_are_spelled(
    written: dict[str, Any], kind: ActionKind, tier: EscalationTier | None
) -> None:
    for branches in ({"x": written}, [{"name": "x", **written}]):
        table = parse_table(table_of(one(branches=branches), default=written))
        for action in (table.conditions[0].branches[0].action, table.default):
            assert (action.kind, action.tier) == (kind, tier)


def test_an_extension_is_read_like_a_table_and_adds_its_warnings() -> None:
    before = parse_table(table_of(one(), colour=1))
    new = one(description="b", checks="c", branches={"x": "Report"})
    after = extend(before, {"Conditions": [new]})
    assert after.conditions[1].checks == ("c",)
    assert after.warnings[:1] == before.warnings
    assert len(after.warnings) == 4


def test_many_warnings_are_counted() -> None:
    many = [one(description=f"c{i}", colour=i) for i in range(20)]
    *shown, last = parse_table(table_of(*many)).warnings
    assert len(shown) == SHOWN_WARNINGS
    assert last == "and 12 more such warnings"
