"""Branch tables that cannot be used: the parent gets a clear tool error, and the turn goes on."""

import json
from pathlib import Path
from typing import Any

from storage.records.entries import Json
from tests.flow.telegram_gateway import ANSWER, call, delegate, telegram_gateway
from tests.stand_ins.model import Received
from tests.support.seed_tables import YAML_TABLE
from tests.support.small_tables import one, table_of

DEEP: Any = "x"
for _ in range(200):
    DEEP = [DEEP]

FAULTS: list[tuple[Any, str]] = [
    (table_of(one(branches={"ok": "explode"})), "'explode' is not an action"),
    (table_of(one(branches={"ok": {"action": "escalate", "tier": "god"}})), "'god' is not a tier"),
    (table_of(one(branches={"ok": {"action": "report", "tier": "human"}})), "tier"),
    (table_of(one(branches={})), "empty; give at least one"),
    (
        table_of(one(branches={"ok": {"action": "report", "format": "{branch_table}"}})),
        "not a field",
    ),
    (table_of(one(branches={"ok": {"action": "report", "format": "{format}"}})), "not a field"),
    (table_of(one(), one()), "stands twice"),
    (table_of(one(description=" ")), "empty"),
    (table_of(max_escalation_depth=-1), "is not a whole number from 0 up"),
    (table_of(max_escalation_depth=True), "is not a whole number from 0 up"),
    ([], "empty; give at least one"),
    ({}, "conditions: missing"),
    ("", "a table is an object or a list of conditions, not nothing"),
    (0, "a table is an object or a list of conditions, not a number"),
    (DEEP, "levels inside each other"),
    ("a: [unclosed", "line 2, column 1"),
    ("{'conditions': ", "neither JSON"),
    ("- &a\n  condition: x\n  branch: *a\n", "anchors and aliases"),
    ("a: &a [*a]", "anchors and aliases"),
    ("!!python/object/apply:os.system [id]", "tags"),
    ("--- 1\n--- 2\n", "more than one YAML document"),
    ("x" * 1_000_000, "1,000,000 bytes are too many"),
    (table_of(one(description="x" * 1_000_000)), "bytes are too many"),
    (table_of(*(one(description=str(n)) for n in range(101))), "101 are too many; at most 100"),
]


def is_summary(request: Received) -> bool:
    return str(request.messages[0]["content"]).startswith("You condense")


async def test_a_table_that_cannot_be_used_is_a_tool_error(tmp_path: Path) -> None:
    rules = [
        call("parent", "delegate_task", {"goal": "x", "branch_table": table}, last=f"^go {number}$")
        for number, (table, _) in enumerate(FAULTS)
    ]
    async with telegram_gateway(tmp_path, [*rules, ANSWER]) as g:
        for number, (_, said) in enumerate(FAULTS):
            g.say(f"go {number}")
            shown = await g.hears("result: Error: branch_table: ", count=number + 1)
            assert said in shown["text"]
            assert shown["text"].endswith("nothing was done")
            assert len(shown["text"]) < 2000
        assert g.asked("worker") == []
        # Tables of a megabyte make the conversation so long that it is compacted: not counted here.
        turns = [r for r in g.asked("parent") if not is_summary(r)]
        assert len(turns) == 2 * len(FAULTS)


async def test_a_model_that_mends_its_table_gets_its_worker(tmp_path: Path) -> None:
    wrong: Json = table_of(one(branches={"ok": "explode"}))
    rules = [
        delegate(wrong),
        call(
            "parent",
            "delegate_task",
            {"goal": "Check the page", "branch_table": YAML_TABLE},
            last="'explode' is not an action",
        ),
        call(
            "worker",
            "report_outcome",
            {"condition": 3, "branch": "match", "evidence": "a login form"},
        ),
        ANSWER,
    ]
    async with telegram_gateway(tmp_path, rules) as g:
        g.say("go")
        shown = await g.hears("Auth-gated")
        assert len(g.asked("worker")) == 1
        told = [m for m in g.asked("parent")[-1].messages if m["role"] == "tool"]
        assert len(told) == 2
        assert "Auth-gated" in shown["text"]


async def test_many_faults_are_named_together_and_the_rest_counted(tmp_path: Path) -> None:
    conditions = [one(description=str(n), branches={"ok": "explode"}) for n in range(20)]
    async with telegram_gateway(tmp_path, [delegate(table_of(*conditions)), ANSWER]) as g:
        g.say("go")
        shown = await g.hears("result: Error: ")
        assert shown["text"].count("'explode'") == 8
        assert "and 12 more" in shown["text"]


async def test_require_default_refuses_a_table_without_one(tmp_path: Path) -> None:
    table = {"conditions": [one()]}
    rules = [delegate(table), ANSWER]
    async with telegram_gateway(tmp_path, rules, delegation={"require_default": True}) as g:
        g.say("go")
        await g.hears("default is missing")


async def test_a_broken_argument_text_does_not_end_the_turn(tmp_path: Path) -> None:
    text = json.dumps({"goal": "x", "branch_table": YAML_TABLE})[:-20]
    rules = [call("parent", "delegate_task", text, last="^go"), ANSWER]
    async with telegram_gateway(tmp_path, rules) as g:
        g.say("go")
        await g.hears("result: Error: the arguments are not valid JSON")
        replayed = g.asked("parent")[-1].messages[-2]["tool_calls"][0]["function"]["arguments"]
        assert json.loads(replayed) == {"not_json": text}
