"""Tiers, presets and roles: who may ask for which model, and who may delegate in turn."""

import json
from typing import Any

import pytest

from adapters.recording import RecordingAdapter
from storage.sql.store import SqlStore
from storage.store import Store
from tests.flow.conftest import SpyModel, gateway
from tests.flow.delegating import (
    ANSWER,
    ASKING,
    Rule,
    ask_one,
    asked,
    calls,
    delegates,
    first_message,
    offered,
    reports,
    results_in,
    says,
    tool_results,
)

MODELS = {
    "parent": {"model": "big", "input_cost": 1e-5, "output_cost": 1e-5},
    "overseer": {"model": "middle", "input_cost": 5e-6, "output_cost": 5e-6},
    "worker": {"model": "small", "input_cost": 1e-6, "output_cost": 1e-6},
    "presets": {
        "cheap": {
            "model": "tiny",
            "input_cost": 1e-7,
            "output_cost": 1e-7,
            "reasoning_effort": "low",
        },
        "dear": {"model": "huge", "input_cost": 1e-4, "output_cost": 1e-4},
    },
}
DEEP = {"delegation": {"max_spawn_depth": 2}, "models": MODELS}


@pytest.mark.parametrize(
    ("name", "model"),
    [(None, "small"), ("worker", "small"), ("cheap", "tiny"), ("tiny", "tiny"), ("parent", "big")],
)
async def test_a_child_runs_on_the_model_that_was_asked_for(
    store: Store, name: str | None, model: str
) -> None:
    task = {"goal": "x"} | ({"model": name} if name else {})
    rules = [
        delegates(task),
        {"when": {"last": "^Task"}, "reply": {"text": "done"}},
        {"reply": {"text": "result: {last}"}},
    ]
    async with gateway(rules, store=store, config={"models": MODELS}) as g:
        await ask_one(g)
        assert g.model.requests[1].spec.model == model


async def test_a_preset_brings_its_effort_and_its_price(store: Store) -> None:
    worker = says("done", tier="cheap")
    worker["reply"]["usage"] = {"input": 1_000, "output": 1_000}
    rules = [delegates({"goal": "x", "model": "cheap"}), worker, ANSWER]
    async with gateway(rules, store=store, config={"models": MODELS}) as g:
        result = await ask_one(g)
        assert g.model.of("cheap")[0].spec.reasoning_effort == "low"
        assert result["usage"]["cost"] == pytest.approx(2e-4)


async def test_a_tasks_own_effort_wins(store: Store) -> None:
    task = {"goal": "x", "model": "cheap", "reasoning_effort": "high"}
    rules = [delegates(task), says("done", tier="cheap"), ANSWER]
    async with gateway(rules, store=store, config={"models": MODELS}) as g:
        await ask_one(g)
        assert g.model.of("cheap")[0].spec.reasoning_effort == "high"


def orchestrated(inner: dict[str, Any], **more: Any) -> list[Rule]:
    """A child that delegates `inner`, then says what it got."""
    return [
        delegates({"goal": "orchestrate", "role": "orchestrator"} | more),
        delegates(inner, tier="worker", last="Task: orchestrate"),
        says("sum: {last}", last="results"),
        ANSWER,
    ]


async def test_an_orchestrator_delegates_and_its_children_are_leaves(store: Store) -> None:
    rules = [*orchestrated({"goal": "inner"})[:2], says("inner done", last="Task: inner")]
    rules += orchestrated({})[2:]
    async with gateway(rules, store=store, config=DEEP) as g:
        result = await ask_one(g)
        assert "inner done" in result["summary"]
        outer, inner, _ = g.model.of("worker")
        assert "delegate_task" in offered(outer)
        assert offered(inner) == {"think"}
        assert "warnings" not in result
        assert len(g.model.of("worker")) == 3


@pytest.mark.parametrize(
    ("delegation", "said"),
    [
        ({"max_spawn_depth": 1}, "max_spawn_depth is 1"),
        ({"max_spawn_depth": 3, "orchestrator_enabled": False}, "switched off"),
    ],
)
async def test_an_orchestrator_that_may_not_be_one_is_a_leaf_and_is_told(
    store: Store, delegation: dict[str, Any], said: str
) -> None:
    rules = [delegates({"goal": "x", "role": "orchestrator"}), says("done"), ANSWER]
    async with gateway(rules, store=store, config={"delegation": delegation}) as g:
        result = await ask_one(g)
        assert offered(g.model.of("worker")[0]) == {"think"}
        assert said in str(result["warnings"])


@pytest.mark.parametrize("model", ["overseer", "parent", "dear", "middle"])
async def test_a_child_cannot_ask_for_a_tier_above_its_own(store: Store, model: str) -> None:
    rules = orchestrated({"goal": "inner", "model": model})
    rules[2] = says("sum: {last}", last="Error")
    async with gateway(rules, store=store, config=DEEP) as g:
        result = await ask_one(g)
        assert "above your own tier" in result["summary"]
        assert {r.spec.model for r in g.model.requests} == {"big", "small"}


async def test_children_never_get_what_children_never_get(store: Store) -> None:
    blocked = ["delegation", "clarify", "memory", "code_execution", "send_message"]
    rules = [delegates({"goal": "x", "toolsets": blocked}), says("done"), ANSWER]
    async with gateway(rules, store=store) as g:
        result = await ask_one(g)
        assert offered(g.model.of("worker")[0]) == {"think"}
        assert all(name in str(result["warnings"]) for name in blocked)


async def test_a_childs_background_has_no_effect_and_it_waits(store: Store) -> None:
    rules = orchestrated({"goal": "inner", "background": True})
    rules.insert(2, says("inner done", last="Task: inner"))
    async with gateway(rules, store=store, config=DEEP) as g:
        result = await ask_one(g)
        assert "inner done" in result["summary"]
        assert "no effect for a child" in result["summary"]
        await g.settled()
        assert len(g.chat.texts()) == 1


ASKS_BELOW = [
    *orchestrated({"tasks": [{"goal": "inner", "branch_table": ASKING}, {"goal": "other"}]})[:2],
    reports("Gone", "match", last="Task: inner"),
    says("other done", last="Task: other"),
    *orchestrated({})[2:],
]


async def test_a_grandchild_asks_a_person_and_everything_goes_on_after_the_press(
    database: str,
) -> None:
    model, chat = SpyModel(ASKS_BELOW), RecordingAdapter(name="telegram")
    async with gateway(
        store=await SqlStore.open(database), model=model, chat=chat, config=DEEP
    ) as g:
        await g.chat.say("go")
        question = await asked(g, "Lost?")
        await g.settled()
        assert len(model.of("parent")) == 1
    chat = RecordingAdapter(name="telegram", shown={question.id: question})
    async with gateway(
        store=await SqlStore.open(database), model=model, chat=chat, config=DEEP
    ) as g:
        await g.chat.press(question, "It is there")
        (result,) = results_in((await g.hears("result: ")).text)
        inner = results_in(result["summary"])
        assert [(r["task"], r["resolved_by"]) for r in inner] == [
            ("inner", "human"),
            ("other", "worker"),
        ]
        await g.settled()
        goals = [first_message(request).splitlines()[0] for request in model.of("worker")]
        assert sorted(goals) == [
            "Task: inner",
            "Task: orchestrate",
            "Task: orchestrate",
            "Task: other",
        ]


async def test_two_grandchildren_that_ask_are_both_waited_for(store: Store) -> None:
    batch = {"tasks": [{"goal": f"inner {n}", "branch_table": ASKING} for n in (1, 2)]}
    rules = [
        *orchestrated(batch)[:2],
        reports("Gone", "match", "{1} is lost", last=r"Task: (inner \d)"),
        *orchestrated({})[2:],
    ]
    async with gateway(rules, store=store, config=DEEP) as g:
        await g.chat.say("go")
        await g.chat.press(await asked(g, "inner 1 is lost"), "It is there")
        await g.chat.press(await asked(g, "inner 2 is lost"), "Stop")
        (result,) = results_in((await g.hears("result: ")).text)
        assert [r["status"] for r in results_in(result["summary"])] == ["completed", "rejected"]


async def test_a_child_goes_on_only_when_all_its_calls_have_results(store: Store) -> None:
    rules = [
        delegates({"goal": "orchestrate", "role": "orchestrator"}),
        delegates(
            {"goal": "inner", "branch_table": ASKING},
            {"goal": "other"},
            tier="worker",
            last="Task: orchestrate",
        ),
        *ASKS_BELOW[2:4],
        says("all is done", last="results"),
        ANSWER,
    ]
    async with gateway(rules, store=store, config=DEEP) as g:
        await g.chat.say("go")
        question = await asked(g, "Lost?")
        await g.settled()
        assert (len(g.model.of("worker")), len(g.model.of("parent"))) == (3, 1)
        await g.chat.press(question, "It is there")
        (result,) = results_in((await g.hears("result: ")).text)
        assert (result["status"], result["summary"]) == ("completed", "all is done")
        told = sorted(results_in(t)[0]["status"] for t in tool_results(g.model.of("worker")[-1]))
        assert told == ["completed", "completed"]


async def test_stop_reaches_grandchildren_that_run_and_that_wait(store: Store) -> None:
    rules = [*ASKS_BELOW]
    rules[3] = says("never", last="Task: other", delay=60)
    async with gateway(rules, store=store, config=DEEP) as g:
        await g.chat.say("go")
        question = await asked(g, "Lost?")
        await g.model.called("worker", 3)
        await g.chat.say("/stop")
        await g.hears("Stopped.")
        await g.settled()
        rows = await store.read(lambda tx: [tx.delegations.get(n) for n in (1, 2, 3)])
        assert [row.state for row in rows] == ["interrupted"] * 3
        assert all(json.loads(row.result)["exit_reason"] == "interrupted" for row in rows)
        assert "Withdrawn" in question.text


async def test_a_child_that_is_stopped_alone_takes_its_own_children_along(store: Store) -> None:
    rules = [*ASKS_BELOW]
    rules[3] = says("never", last="Task: other", delay=60)
    async with gateway(rules, store=store, config=DEEP) as g:
        await g.chat.say("go")
        question = await asked(g, "Lost?")
        await g.model.called("worker", 3)
        g.app.upkeep.housekeeping.runner.results.subagents.active[1].stop()
        (result,) = results_in((await g.hears("result: ")).text)
        assert result["status"] == "interrupted"
        rows = await store.read(lambda tx: [tx.delegations.get(n) for n in (2, 3)])
        assert [row.state for row in rows] == ["interrupted"] * 2
        await g.settled()
        assert question.buttons == ()


async def test_a_grandchild_shares_the_workspace_of_the_chat(store: Store, tmp_path: Any) -> None:
    tools = {"tools": {"toolsets": ["file"], "workspace": f"{tmp_path}/{{session}}"}}
    rules = orchestrated({"goal": "inner"})
    rules[2:2] = [
        calls("write_file", {"path": "deep.txt", "content": "x"}, last="Task: inner"),
        says("written", last="Wrote"),
    ]
    async with gateway(rules, store=store, config=DEEP | tools) as g:
        await ask_one(g)
        assert tool_results(g.model.of("worker")[-2])[0].startswith("Wrote")
        session = await store.read(lambda tx: tx.directory.conversation("telegram:1"))
        assert (tmp_path / str(session) / "deep.txt").exists()
