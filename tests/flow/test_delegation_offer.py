"""Models know what is there: what delegate_task is offered as, what a worker is told it has, and
that nothing is spent on what cannot be."""

import json
from pathlib import Path
from typing import Any

import pytest

from agent.models.base import Request
from storage.store import Store
from tests.flow.conftest import gateway
from tests.flow.delegating import (
    ANSWER,
    Rule,
    ask,
    ask_one,
    calls,
    delegates,
    offered,
    reports,
    says,
    tool_results,
)
from tests.support.small_tables import one, table_of

MODELS: dict[str, Any] = {
    "parent": {"model": "vendor/big", "input_cost": 1e-5, "output_cost": 1e-5},
    "worker": {"model": "vendor/small", "input_cost": 1e-6, "output_cost": 1e-6},
    "presets": {
        "cheap": {"model": "other/tiny", "input_cost": 1e-7, "output_cost": 1e-7},
        "dear": {"model": "other/huge", "input_cost": 1e-4, "output_cost": 1e-4},
    },
}
LISTED = [{"name": "ok", "action": "report", "format": "It says: {evidence}"}]


def files(folder: Path) -> dict[str, Any]:
    return {"tools": {"toolsets": ["file"], "workspace": f"{folder}/{{session}}"}}


def delegate_task(request: Request) -> dict[str, Any]:
    made = [t["function"] for t in request.tools if t["function"]["name"] == "delegate_task"]
    found: dict[str, Any] = made[0]
    return found


def task_fields(request: Request) -> dict[str, Any]:
    found: dict[str, Any] = delegate_task(request)["parameters"]["properties"]["tasks"]
    return dict(found["items"]["properties"])


def system(request: Request) -> str:
    return str(request.messages[0]["content"])


async def test_what_is_offered_is_short_and_stays_the_same(store: Store) -> None:
    rules = [delegates({"goal": "x"}), says("done"), ANSWER]
    async with gateway(rules, store=store) as g:
        await ask(g)
        await g.chat.say("again")
        await g.hears("result: again")
        tools = [json.dumps(list(request.tools)) for request in g.model.of("parent")]
        assert len(tools) == 3
        assert len(set(tools)) == 1
        request = g.model.requests[0]
        assert len(json.dumps(delegate_task(request))) <= 3_500
        assert not {"role", "toolsets", "model"} & task_fields(request).keys()


async def test_what_there_is_to_choose_is_offered(store: Store, tmp_path: Path) -> None:
    config = {"models": MODELS, "delegation": {"max_spawn_depth": 2}} | files(tmp_path)
    async with gateway([ANSWER], store=store, config=config) as g:
        await g.chat.say("hello")
        await g.hears("result: hello")
        fields = task_fields(g.model.requests[0])
        assert fields["model"]["enum"] == ["worker", "overseer", "cheap"]
        assert "cheap = other/tiny 0.1/0.1" in fields["model"]["description"]
        assert fields["toolsets"]["items"]["enum"] == ["file", "file_read"]
        assert "role" in fields


async def test_a_table_as_it_is_asked_for_is_carried_out(store: Store) -> None:
    table = {"conditions": [one(branches=LISTED)], "default": {"action": "escalate"}}
    rules = [
        delegates({"tasks": [{"goal": "x", "branch_table": table}]}),
        reports("a", "ok", "42"),
        ANSWER,
    ]
    async with gateway(rules, store=store) as g:
        result = await ask_one(g)
        assert (result["status"], result["summary"]) == ("completed", "It says: 42")


async def test_an_overseer_writes_conditions_as_it_is_asked_for_them(store: Store) -> None:
    branches = [{"name": "ok", "action": "report", "format": "new: {evidence}"}]
    extension = {"conditions": [{"description": "b", "branches": branches}], "reason": "r"}
    rules: list[Rule] = [
        delegates({"goal": "x", "branch_table": table_of()}),
        calls("extend_table", extension, tier="overseer"),
        {**reports("default", "default"), "times": 1},
        reports("b", "ok", "43"),
        ANSWER,
    ]
    async with gateway(rules, store=store) as g:
        result = await ask_one(g)
        assert (result["status"], result["summary"]) == ("completed", "new: 43")


@pytest.mark.parametrize("along_table", [True, False])
async def test_a_worker_is_told_what_it_has(
    store: Store, tmp_path: Path, along_table: bool
) -> None:
    task = {"goal": "x", "max_iterations": 7} | (
        {"branch_table": table_of()} if along_table else {}
    )
    worker = reports("a", "ok") if along_table else says("done")
    async with gateway([delegates(task), worker, ANSWER], store=store, config=files(tmp_path)) as g:
        await ask_one(g)
        (request,) = g.model.of("worker")
        session = await store.read(lambda tx: tx.directory.conversation("telegram:1"))
        assert f"Your workspace is {tmp_path}/{session};" in system(request)
        assert "at most 7 steps" in system(request)
        for name in offered(request) - {"report_outcome"}:
            assert name in system(request)


@pytest.mark.parametrize(
    ("config", "task"),
    [({}, {}), ({"tools": {"toolsets": ["file"]}}, {"toolsets": []})],
    ids=["none-on", "none-given"],
)
async def test_a_worker_without_tools_is_told_so(
    store: Store, config: dict[str, Any], task: dict[str, Any]
) -> None:
    table = table_of(default={"action": "report", "format": "not known"})
    along = {"goal": "along", "branch_table": table} | task
    rules = [
        delegates({"tasks": [along, {"goal": "open"} | task]}),
        reports("default", "default", last="Task: along"),
        says("done", last="Task: open"),
        ANSWER,
    ]
    async with gateway(rules, store=store, config=config) as g:
        await ask(g)
        told = {"report_outcome" in offered(r): system(r) for r in g.model.of("worker")}
        assert all("You have no tools" in text for text in told.values())
        assert 'Report condition "default"' in told[True]
        assert "unless the task itself or its context shows the outcome" in told[True]
        assert "say what you could not check" in told[False]
        assert not any("workspace" in text for text in told.values())


@pytest.mark.parametrize(
    ("config", "said"),
    [
        ({}, "'web' is not switched on; none is"),
        ({"tools": {"toolsets": ["file"]}}, "'web' is not switched on; switched on here are file"),
    ],
)
async def test_a_toolset_that_is_not_switched_on_costs_nothing(
    store: Store, config: dict[str, Any], said: str
) -> None:
    tasks = {"tasks": [{"goal": "x"}, {"goal": "y", "toolsets": ["web"]}]}
    async with gateway([delegates(tasks), ANSWER], store=store, config=config) as g:
        await g.chat.say("go")
        text = (await g.hears("result: Error: tasks[1].toolsets: ")).text
        assert said in text
        assert g.model.of("worker") == []
        assert await store.read(lambda tx: tx.delegations.recent(1)) == []


async def test_a_dearer_child_is_an_error_that_names_cheaper_ones(store: Store) -> None:
    rules = [delegates({"goal": "x", "model": "huge"}), ANSWER]
    async with gateway(rules, store=store, config={"models": MODELS}) as g:
        await g.chat.say("go")
        text = (await g.hears("result: Error: ")).text
        assert "'huge' is dearer than your own model (100/100 against 10/10 dollars" in text
        assert "Not dearer: worker, overseer, cheap" in text
        assert {request.spec.model for request in g.model.requests} == {"vendor/big"}


@pytest.mark.parametrize(
    ("asked", "model"),
    [("tiny", "other/tiny"), ("small", "vendor/small"), ("huge", "other/huge")],
)
async def test_a_model_is_found_by_its_last_part(store: Store, asked: str, model: str) -> None:
    rules = [
        delegates({"goal": "x", "model": asked}),
        {"when": {"last": "^Task"}, "reply": {"text": "done"}},
        ANSWER,
    ]
    config = {"models": MODELS, "delegation": {"allow_dearer": True}}
    async with gateway(rules, store=store, config=config) as g:
        assert (await ask_one(g))["status"] == "completed"
        assert g.model.requests[1].spec.model == model


async def test_the_runtime_climbs_to_an_overseer_that_is_dearer(store: Store) -> None:
    rules = [
        delegates({"goal": "x", "branch_table": table_of(escalation_model="huge")}),
        reports("default", "default"),
        calls("resolve", {"summary": "decided"}, tier="dear"),
        ANSWER,
    ]
    async with gateway(rules, store=store, config={"models": MODELS}) as g:
        result = await ask_one(g)
        assert (result["summary"], result["resolved_by"]) == ("decided", "overseer")
        assert "warnings" not in result or not result["warnings"]


async def test_prices_of_litellms_list_count_where_none_is_configured(store: Store) -> None:
    models = {
        "parent": {"model": "anthropic/claude-haiku-4-5"},
        "worker": {"model": "openai/gpt-5-nano"},
        "presets": {"strong": {"model": "anthropic/claude-sonnet-4-6"}},
    }
    rules = [
        delegates({"goal": "x", "model": "claude-sonnet-4-6"}),
        says("done", last="^Task"),
        ANSWER,
    ]
    async with gateway(rules, store=store, config={"models": models}) as g:
        await g.chat.say("go")
        text = (await g.hears("result: Error: ")).text
        assert "(3/15 against 1/5 dollars" in text
        fields = task_fields(g.model.requests[0])
        assert fields["model"]["enum"] == ["worker", "overseer"]
        assert "worker = openai/gpt-5-nano 0.05/0.4" in fields["model"]["description"]


async def test_a_grandchild_is_never_dearer_than_the_child(store: Store) -> None:
    rules = [
        delegates({"goal": "orchestrate", "role": "orchestrator", "model": "cheap"}),
        {
            "when": {"tier": "cheap", "last": "Task: orchestrate"},
            "reply": {"tool_calls": [{"name": "delegate_task", "arguments": {"goal": "inner"}}]},
        },
        says("sum: {last}", tier="cheap", last="Error"),
        ANSWER,
    ]
    config = {"models": MODELS, "delegation": {"max_spawn_depth": 2}}
    async with gateway(rules, store=store, config=config) as g:
        result = await ask_one(g)
        assert "the default, worker, is dearer" in result["summary"]
        assert "Not dearer: cheap" in result["summary"]
        assert task_fields(g.model.of("cheap")[0])["model"]["enum"] == ["cheap"]
        assert len(tool_results(g.model.of("cheap")[-1])) == 1
