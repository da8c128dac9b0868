"""Whatever a model writes as arguments of delegate_task: a clear error, and the turn goes on."""

import json
from typing import Any

import pytest

from storage.store import Store
from tests.flow.conftest import gateway
from tests.flow.delegating import ANSWER, ask_one, calls, delegates, reports, results_in, says

THERE = {"condition": "There", "branch": "Report"}


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({}, "goal"),
        ({"goal": None}, "goal"),
        ({"goal": "   "}, "goal"),
        ({"goal": 5}, "goal"),
        ({"goal": ["x"]}, "goal"),
        ({"goal": "x" * 20_001}, "20000"),
        ({"goal": "x", "tasks": [{"goal": "y"}]}, "not both"),
        ({"tasks": []}, "empty"),
        ({"tasks": {}}, "tasks"),
        ({"tasks": "do it"}, "tasks"),
        ({"tasks": ["do it"]}, "tasks.0"),
        ({"tasks": [{"goal": "y"}, {}]}, "tasks[1]"),
        ({"tasks": [{"goal": "y"}, {"goal": "z", "model": "nope"}]}, "tasks[1].model: 'nope'"),
        ({"tasks": [{"goal": "y", "tasks": []}]}, "tasks.0.tasks"),
        ({"goal": "x", "context": 5}, "context"),
        ({"goal": "x", "context": {"a": 1}}, "context"),
        ({"goal": "x", "toolsets": "file"}, "toolsets"),
        ({"goal": "x", "toolsets": [1]}, "toolsets"),
        ({"goal": "x", "toolsets": ["rocket"]}, "'rocket'"),
        ({"goal": "x", "role": "king"}, "role"),
        ({"goal": "x", "model": "no-such"}, "'no-such'"),
        ({"goal": "x", "max_iterations": 0}, "max_iterations"),
        ({"goal": "x", "max_iterations": -1}, "max_iterations"),
        ({"goal": "x", "max_iterations": "many"}, "max_iterations"),
        ({"goal": "x", "max_iterations": True}, "max_iterations"),
        ({"goal": "x", "retry_on_fail": -1}, "retry_on_fail"),
        ({"goal": "x", "retry_on_fail": 1_000}, "retry_on_fail"),
        ({"goal": "x", "background": "perhaps"}, "background"),
        ({"goal": "x", "judge_sees_tools": 1}, "judge_sees_tools"),
        ({"goal": "x", "acceptance_criteria": 3}, "acceptance_criteria"),
        ({"goal": "x", "branch_table": 3}, "branch_table"),
        ({"goal": "x", "acceptance_criteria": "c" * 100_000}, "20000"),
        ({"goal": "x", "handoff": 3}, "handoff: Input should be an object"),
        ({"goal": "x", "handoff": {"read_files": [3]}}, "handoff.read_files.0"),
        ({"tasks": [{"goal": "x", "handoff": {"a": 1}}]}, "tasks[0].handoff.a"),
        ({"goal": "x", "model": "cheap", "Model": "dear"}, "'model' stands twice"),
    ],
)
async def test_arguments_that_cannot_be_a_task_are_an_error_that_names_the_fault(
    store: Store, arguments: dict[str, Any], said: str
) -> None:
    async with gateway([delegates(arguments), ANSWER], store=store) as g:
        await g.chat.say("go")
        text = (await g.hears("result: Error: ")).text
        assert said in text
        assert text.count("nothing was done") == 1
        assert "instance of" not in text
        assert g.model.of("worker") == []
        assert await store.read(lambda tx: tx.delegations.recent(1)) == []


async def test_what_is_plain_is_taken_and_the_model_is_told_how_it_was_read(store: Store) -> None:
    table = "```json\n" + json.dumps({"conditions": [THERE], "max_escalation_depth": "1"}) + "\n```"
    task = {"goal": "look", "branch_table": table, "max_iterations": "3", "colour": "red"}
    report = reports("there", "match", "it is there")
    async with gateway([delegates({"tasks": task}), report, ANSWER], store=store) as g:
        result = await ask_one(g)
        assert (result["status"], result["condition"]) == ("completed", "There")
        warnings = "\n".join(result["warnings"])
        for said in (
            "tasks: one task is read as a list of it",
            "tasks[0]: unknown key 'colour' is ignored",
            "tasks[0].max_iterations: '3' is read as 3",
            "the code block around the table was taken off",
            "max_escalation_depth: '1' is read as 1",
            "conditions[0].branch: 'Report' is read as report",
        ):
            assert said in warnings


async def test_how_an_extension_was_read_stands_in_the_result_too(store: Store) -> None:
    table = {"conditions": [THERE], "default": "escalate"}
    new = {"description": "It glows", "checks": "bright", "branch": "REPORT"}
    rules = [
        delegates({"goal": "look", "branch_table": table}),
        reports("It glows", "match", last="It glows"),
        reports("default", "default"),
        calls("extend_table", {"conditions": [new], "reason": "new"}, tier="overseer"),
        ANSWER,
    ]
    async with gateway(rules, store=store) as g:
        warnings = (await ask_one(g))["warnings"]
        assert "conditions[0].branch: 'REPORT' is read as report" in warnings
        assert len(warnings) == len(set(warnings)) == 3


async def test_one_bad_call_leaves_the_good_one_beside_it_alone(store: Store) -> None:
    rules = [delegates({"goal": 5}, {"goal": "fine"}), says("done"), ANSWER]
    async with gateway(rules, store=store) as g:
        await g.chat.say("go")
        await g.hears("result: ")
        bad, good = [m["content"] for m in g.model.of("parent")[-1].messages if m["role"] == "tool"]
        assert bad.startswith("Error: ")
        assert results_in(good)[0]["status"] == "completed"


async def test_what_is_null_counts_as_left_out(store: Store) -> None:
    names = ("context", "toolsets", "role", "model", "max_iterations", "branch_table", "handoff")
    rules = [delegates({"goal": "x"} | dict.fromkeys(names)), says("done"), ANSWER]
    async with gateway(rules, store=store) as g:
        await g.chat.say("go")
        assert results_in((await g.hears("result: ")).text)[0]["status"] == "completed"
