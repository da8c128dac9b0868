"""The arguments of delegate_task become tasks, or a ToolError that names the fault."""

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.delegation.call.arguments import Arguments
from agent.delegation.call.caller import Caller, Limits
from agent.delegation.call.planner import HandOverRequest, Planner
from agent.delegation.core.events import Task
from agent.delegation.handoff.model import Hydrated, Probe
from agent.errors import ToolError
from agent.models.base import ModelSpec, Prices
from agent.models.registry import RANKS, Models
from tests.support.small_tables import table_of

PRESETS = {
    "cheap": ModelSpec("", "tiny", output_cost=1e-7),
    "dear": ModelSpec("", "huge", output_cost=1e-4),
    "unpriced": ModelSpec("", "mystery"),
}
MODELS = Models(
    {
        "parent": ModelSpec("", "big", output_cost=1e-5),
        "overseer": ModelSpec("", "middle", output_cost=5e-6),
        "worker": ModelSpec("", "small", output_cost=1e-6),
    },
    PRESETS,
)
PARENT = Caller(RANKS["parent"], 0, frozenset({"file"}))
CHILD = Caller(RANKS["worker"], 1, frozenset({"file"}), home=1)


async def nothing(_: HandOverRequest) -> None:
    return None


async def plan(
    arguments: dict[str, Any], caller: Caller = PARENT, limits: Limits | None = None
) -> tuple[Task, ...]:
    planner = Planner(MODELS, limits or Limits(max_spawn_depth=3), caller, nothing)
    return await planner.plan(arguments, 7)


async def one(arguments: dict[str, Any], caller: Caller = PARENT, **limits: Any) -> Task:
    (task,) = await plan({"goal": "x"} | arguments, caller, Limits(**limits) if limits else None)
    return task


async def test_a_goal_alone_is_a_task_with_the_configured_defaults() -> None:
    assert await one({}, max_iterations=9, max_escalation_depth=4) == Task(
        goal="x",
        context="",
        worker="worker",
        overseer="overseer",
        max_iterations=9,
        max_depth=4,
        toolsets=("file",),
        home=7,
    )


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ({"max_iterations": "3"}, {"max_iterations": 3}),
        ({"Max Iterations": 3.0}, {"max_iterations": 3}),
        ({"retry_on_fail": "1"}, {"retry_on_fail": 1}),
        ({"judge_sees_tools": "True"}, {"judge_sees_tools": True}),
        ({"background": "yes"}, {"background": True}),
        ({"toolsets": "file"}, {"toolsets": ["file"]}),
        ({"toolsets": '["File"]'}, {"toolsets": ["file"]}),
        ({"toolsets": "File, memory"}, {"toolsets": ["file", "memory"]}),
        ({"role": "Orchestrator"}, {"role": "orchestrator"}),
        ({"colour": "red"}, {}),
    ],
)
async def test_what_is_plain_is_taken_with_a_warning(
    written: dict[str, Any], meant: dict[str, Any]
) -> None:
    read, as_meant = await one(written), await one(meant)
    assert len(read.warnings) > len(as_meant.warnings)
    assert replace(read, warnings=()) == replace(as_meant, warnings=())


async def test_empty_texts_are_left_out_and_warnings_belong_to_their_task() -> None:
    empty = dict.fromkeys(("role", "model", "reasoning_effort", "toolsets"), "")
    assert await one(empty) == await one({})
    first, second = await plan(
        {"goal": "", "tasks": [{"goal": "a"}, {"goal": "b", "max_iterations": "4"}]}
    )
    assert first.warnings == ()
    assert second.warnings == ("tasks[1].max_iterations: '4' is read as 4",)


async def test_tasks_keep_their_order() -> None:
    tasks = await plan({"tasks": [{"goal": "b"}, {"goal": "a"}, {"goal": "c"}]})
    assert [task.goal for task in tasks] == ["b", "a", "c"]


@pytest.mark.parametrize("limit", [1, 2, 3])
async def test_a_batch_of_the_limit_is_taken_and_one_more_is_not(limit: int) -> None:
    limits = Limits(max_concurrent_children=limit)
    goals = [{"goal": str(number)} for number in range(limit + 1)]
    assert len(await plan({"tasks": goals[:-1]}, limits=limits)) == limit
    with pytest.raises(ToolError, match=f"{limit + 1} tasks.*max_concurrent_children is {limit}"):
        await plan({"tasks": goals}, limits=limits)


@pytest.mark.parametrize(
    ("caller", "allowed"),
    [
        (PARENT, {"parent", "overseer", "worker", "judge", "cheap", "dear", "unpriced", "huge"}),
        (Caller(RANKS["overseer"], 1, frozenset()), {"overseer", "worker", "judge", "cheap"}),
        (CHILD, {"worker", "judge", "cheap", "tiny", "small"}),
    ],
    ids=["parent", "overseer", "worker"],
)
async def test_a_model_of_the_callers_tier_or_lower_may_be_asked_for(
    caller: Caller, allowed: set[str]
) -> None:
    for name in ("parent", "overseer", "worker", "judge", *PRESETS, "huge", "tiny", "small"):
        spec = MODELS.find(name)
        assert spec is not None
        if name in allowed:
            assert (await one({"model": name}, caller)).worker == spec.name
        elif MODELS.rank(spec) > caller.rank:
            with pytest.raises(ToolError, match="above your own tier"):
                await one({"model": name}, caller)


async def test_of_entries_with_one_model_string_a_child_means_one_it_may_ask_for() -> None:
    spec = ModelSpec("", "same", output_cost=1e-6)
    models = Models({"parent": spec}, {"cheap": ModelSpec("", "tiny", output_cost=1e-7)})
    for caller, meant in ((PARENT, "parent"), (CHILD, "worker")):
        planner = Planner(models, Limits(), caller, nothing)
        (task,) = await planner.plan({"goal": "x", "model": "same"}, 7)
        assert task.worker == meant


PAID = Caller(RANKS["parent"], 0, frozenset(), prices=Prices(None, 1e-5))


async def test_a_child_is_never_dearer_than_its_parent() -> None:
    for name in ("worker", "overseer", "parent", "cheap", "unpriced", "mystery"):
        await one({"model": name}, PAID)
    for name in ("dear", "huge"):
        with pytest.raises(
            ToolError, match=r"dearer.*Not dearer: worker, overseer, parent, cheap;"
        ):
            await one({"model": name}, PAID)
        assert (await one({"model": name}, PAID, allow_dearer=True)).worker == "dear"


async def test_what_a_parent_of_unknown_price_asks_for_is_not_dearer() -> None:
    assert (await one({"model": "dear"})).worker == "dear"


async def test_a_default_worker_that_is_dearer_is_an_error_too() -> None:
    cheap = Caller(RANKS["worker"], 1, frozenset(), prices=Prices(None, 1e-7))
    with pytest.raises(ToolError, match=r"the default, worker, is dearer.*\?/1 against \?/0.1"):
        await one({}, cheap)
    assert (await one({"model": "cheap"}, cheap)).worker == "cheap"


async def test_only_the_runtime_climbs_to_what_is_dearer() -> None:
    task = await one({"branch_table": table_of(escalation_model="dear")}, PAID)
    assert (task.overseer, task.warnings) == ("dear", ())


async def test_models_are_found_by_their_last_part_where_that_is_unique() -> None:
    models = Models(
        {
            "parent": ModelSpec("", "anthropic/claude-opus-4-6"),
            "overseer": ModelSpec("", "anthropic/claude-sonnet-4-6"),
        },
        {
            "one": ModelSpec("", "openrouter/qwen/qwen3"),
            "two": ModelSpec("", "ollama_chat/qwen3"),
        },
    )
    planner = Planner(models, Limits(), PARENT, nothing)
    table = table_of(escalation_model="claude-sonnet-4-6")
    asked = {"goal": "x", "model": "claude-sonnet-4-6", "branch_table": table}
    (task,) = await planner.plan(asked, 7)
    assert (task.worker, task.overseer, task.warnings) == ("overseer", "overseer", ())
    with pytest.raises(ToolError, match="'qwen3' may be ollama_chat/qwen3, openrouter/qwen/qwen3"):
        await planner.plan({"goal": "x", "model": "qwen3"}, 7)
    (task,) = await planner.plan(asked | {"branch_table": table_of(escalation_model="qwen3")}, 7)
    assert task.overseer == "overseer"
    assert "'qwen3' may be several models" in task.warnings[0]


async def test_a_childs_table_climbs_no_higher_than_the_overseer_tier() -> None:
    for name, meant in (("overseer", "overseer"), ("cheap", "cheap"), ("dear", "overseer")):
        task = await one({"branch_table": table_of(escalation_model=name)}, CHILD)
        assert task.overseer == meant
        assert any("above your own tier" in text for text in task.warnings) is (name == "dear")
    configured = await one({"branch_table": table_of()}, CHILD, escalation_model="dear")
    assert configured.overseer == "dear"


async def test_without_an_escalation_model_the_overseer_tier_escalates() -> None:
    table = table_of(escalation_model="dear", max_escalation_depth=0)
    task = await one({"branch_table": table})
    assert (task.overseer, task.max_depth) == ("dear", 0)
    assert (await one({}, escalation_model="cheap")).overseer == "cheap"
    unknown = await one({"branch_table": table | {"escalation_model": "nope"}})
    assert unknown.overseer == "overseer"
    assert any("'nope' is not configured" in warning for warning in unknown.warnings)


async def test_no_model_asks_for_endless_steps_or_rounds_with_the_overseer() -> None:
    endless = {"max_iterations": 10**9, "branch_table": table_of(max_escalation_depth=10**9)}
    task = await one(endless)
    assert (task.max_iterations, task.max_depth) == (500, 20)
    assert any("max_iterations: 1,000,000,000 is more than 500" in each for each in task.warnings)
    assert any("max_escalation_depth" in each for each in task.warnings)
    task = await one(endless, max_iterations=800, max_escalation_depth=30)
    assert (task.max_iterations, task.max_depth) == (800, 30)


async def test_toolsets_are_the_callers_or_fewer() -> None:
    assert (await one({"toolsets": []})).toolsets == ()
    task = await one({"toolsets": ["file", "memory"]})
    assert task.toolsets == ("file",)
    assert task.warnings == ("toolset 'memory' is never given to children",)
    assert len((await one({"toolsets": ["memory"] * 100})).warnings) == 1


async def test_who_may_write_files_may_have_a_child_only_read_them() -> None:
    assert (await one({"toolsets": ["file_read"]})).toolsets == ("file_read",)
    assert (await one({})).toolsets == ("file",)


async def test_who_may_only_read_gives_no_right_to_write() -> None:
    async def hand_over(_: HandOverRequest) -> None:
        return None

    planner = Planner(MODELS, Limits(), Caller(2, 0, frozenset({"file_read"})), hand_over)
    with pytest.raises(ToolError, match="'file' is not switched on"):
        await planner.plan({"goal": "x", "toolsets": ["file"]}, 7)


@pytest.mark.parametrize(
    ("caller", "said"),
    [
        (PARENT, "'terminal' is not switched on; switched on here are file"),
        (Caller(2, 0, frozenset()), "'terminal' is not switched on; none is"),
    ],
)
async def test_a_toolset_that_is_not_switched_on_is_an_error_before_anything_is_read(
    caller: Caller, said: str
) -> None:
    async def hand_over(_: HandOverRequest) -> None:
        raise AssertionError("nothing is handed over")

    planner = Planner(MODELS, Limits(), caller, hand_over)
    with pytest.raises(ToolError, match=said):
        await planner.plan({"goal": "x", "toolsets": ["terminal"]}, 7)


async def test_the_delegation_toolset_comes_with_the_role_of_an_orchestrator() -> None:
    asked = {"toolsets": ["delegation", "file"]}
    orchestrator = await one(asked | {"role": "orchestrator"}, max_spawn_depth=2)
    assert (orchestrator.toolsets, orchestrator.warnings) == (("file",), ())
    leaf = await one(asked)
    assert leaf.warnings == ("toolset 'delegation' is never given to children",)


@pytest.mark.parametrize(
    ("depth", "limit", "role"),
    [
        (0, 1, "leaf"),
        (0, 2, "orchestrator"),
        (1, 2, "leaf"),
        (1, 3, "orchestrator"),
        (2, 3, "leaf"),
    ],
)
async def test_orchestrators_stand_above_the_deepest_level(
    depth: int, limit: int, role: str
) -> None:
    caller = Caller(2, depth, frozenset())
    task = await one({"role": "orchestrator"}, caller, max_spawn_depth=limit)
    assert (task.role, task.depth) == (role, depth + 1)
    assert bool(task.warnings) is (role == "leaf")


async def test_the_background_is_for_the_parents_tasks_only() -> None:
    assert (await one({"background": True})).background
    childs = await one({"background": True}, CHILD)
    assert not childs.background
    assert "no effect for a child" in childs.warnings[0]


async def test_what_is_handed_over_comes_with_its_cuts_as_warnings() -> None:
    handed = Hydrated(probes=(Probe("a", "b"),), cuts=("a.py was not handed over: gone",))
    asked: list[HandOverRequest] = []

    async def hand_over(request: HandOverRequest) -> Hydrated:
        asked.append(request)
        return handed

    planner = Planner(MODELS, Limits(), CHILD, hand_over)
    (task,) = await planner.plan({"goal": "x", "handoff": {"dead_ends": ["y"]}}, 7)
    assert (task.handed, task.warnings) == (handed, handed.cuts)
    assert asked == [
        HandOverRequest({"dead_ends": ["y"]}, "x", "worker", 7, 1, "", ("file",), True)
    ]


FIELDS = st.sampled_from([*Arguments.model_fields, "colour"])
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5) | st.just("worker"),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(FIELDS | st.just("condition"), inner, max_size=3)
    ),
    max_leaves=8,
)


@given(st.dictionaries(FIELDS, VALUES, max_size=5))
async def test_any_arguments_are_tasks_or_a_tool_error(arguments: dict[str, Any]) -> None:
    try:
        tasks = await plan(arguments)
    except ToolError as error:
        assert "nothing was done" in str(error)
    else:
        assert 1 <= len(tasks) <= 3
        assert all(task.goal.strip() for task in tasks)
