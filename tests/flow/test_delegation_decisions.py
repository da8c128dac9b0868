"""People's decisions that meet batches, talk, commands and restarts."""

from adapters.recording import RecordingAdapter
from storage.sql.store import SqlStore
from storage.store import Store
from tests.flow.conftest import Gateway, SpyModel, gateway
from tests.flow.delegating import (
    ANSWER,
    ASKING,
    Rule,
    asked,
    delegates,
    reports,
    results_in,
    says,
    tool_results,
)

BATCH = delegates({"tasks": [{"goal": "gone", "branch_table": ASKING}, {"goal": "plain"}]})
GONE = reports("Gone", "match", last="Task: gone")


async def states(g: Gateway, count: int) -> list[str]:
    """Of the first delegations, oldest first."""
    return await g.app.store.read(
        lambda tx: [tx.delegations.get(number).state for number in range(1, count + 1)]
    )


async def test_a_press_while_the_rest_of_the_batch_runs_is_told_once(store: Store) -> None:
    rules = [BATCH, GONE, says("plain work", last="Task: plain", delay=0.6), ANSWER]
    async with gateway(rules, store=store) as g:
        await g.chat.say("go")
        await g.chat.press(await asked(g, "Lost?"), "It is there")
        await g.hears('"resolved_by": "human"')
        await g.settled()
        told = [text for text in g.chat.texts() if '"resolved_by": "human"' in text]
        assert len(told) == 1
        assert await states(g, 2) == ["completed", "completed"]
        assert len(g.model.of("worker")) == 2


async def test_try_again_of_a_late_one_works_once_more_and_is_told_late(store: Store) -> None:
    again = {**GONE, "times": 1}
    found = reports("There", "seen", "found it", last="Task: gone")
    rules = [BATCH, again, found, says("plain work", last="Task: plain"), ANSWER]
    async with gateway(rules, store=store) as g:
        await g.chat.say("go")
        await g.hears("result: ")
        await g.chat.press(await asked(g, "Lost?"), "Try again")
        (late,) = results_in((await g.hears("late result")).text)
        assert (late["resolved_by"], late["summary"]) == ("worker", "found it")


def retrying() -> list[Rule]:
    """A person has a worker try again, and that takes for ever."""
    return [
        delegates({"goal": "gone", "branch_table": ASKING}),
        {**GONE, "times": 1},
        says("never", delay=60),
        ANSWER,
    ]


async def test_stop_ends_what_a_decision_started(store: Store) -> None:
    async with gateway(retrying(), store=store) as g:
        await g.chat.say("go")
        await g.chat.press(await asked(g, "Lost?"), "Try again")
        await g.model.called("worker", 2)
        await g.chat.say("/stop")
        await g.hears("Stopped.")
        await g.settled()
        assert await states(g, 1) == ["interrupted"]
        await g.chat.say("hello")
        await g.hears("result: hello")
        (told,) = tool_results(g.model.of("parent")[-1])
        assert results_in(told)[0]["status"] == "interrupted"


async def test_talk_waits_for_what_a_decision_started(store: Store) -> None:
    rules = retrying()
    rules[2] = reports("There", "seen")
    rules[2]["reply"]["delay"] = 0.5
    async with gateway(rules, store=store) as g:
        await g.chat.say("go")
        await g.chat.press(await asked(g, "Lost?"), "Try again")
        await g.model.called("worker", 2)
        await g.chat.say("hello")
        await g.hears("result: hello")
        assert await states(g, 1) == ["completed"]
        assert g.chat.texts()[-1] == "result: hello"


async def test_a_half_decided_batch_survives_a_restart(database: str) -> None:
    goals = ("left", "right")
    rules = [
        delegates({"tasks": [{"goal": goal, "branch_table": ASKING} for goal in goals]}),
        reports("Gone", "match", "{1} is gone", last=r"Task: (\w+)"),
        ANSWER,
    ]
    model, chat = SpyModel(rules), RecordingAdapter(name="telegram")
    async with gateway(store=await SqlStore.open(database), model=model, chat=chat) as g:
        await g.chat.say("go")
        left, right = await asked(g, "left is gone"), await asked(g, "right is gone")
        await g.chat.press(left, "It is there")
        await g.hears("result: ")
        await g.settled()
    chat = RecordingAdapter(name="telegram", shown={right.id: right})
    async with gateway(store=await SqlStore.open(database), model=model, chat=chat) as g:
        await g.chat.press(right, "Stop")
        (late,) = results_in((await g.hears("late result")).text)
        assert (late["task"], late["status"]) == ("right", "rejected")
        await g.settled()
        assert len(model.of("worker")) == 2
        assert len(model.of("parent")) == 3


async def test_talk_leaves_a_child_whose_own_child_waits_and_it_goes_on_after_the_press(
    store: Store,
) -> None:
    inner = {"tasks": [{"goal": "gone", "branch_table": ASKING}, {"goal": "plain"}]}
    rules = [
        delegates({"goal": "orchestrate", "role": "orchestrator"}),
        delegates(inner, tier="worker", last="Task: orchestrate"),
        GONE,
        {**says("never", last="Task: plain", delay=60), "times": 1},
        says("plain work", last="Task: plain"),
        says("sum: {last}", last="results"),
        ANSWER,
    ]
    config = {"delegation": {"max_spawn_depth": 2}}
    async with gateway(rules, store=store, config=config) as g:
        await g.chat.say("go")
        question = await asked(g, "Lost?")
        await g.model.called("worker", 3)
        await g.chat.say("hello")
        await g.hears("result: hello")
        assert await states(g, 3) == ["running", "waiting", "running"]
        await g.chat.press(question, "It is there")
        (late,) = results_in((await g.hears("late result")).text)
        assert [r["status"] for r in results_in(late["summary"])] == ["completed", "completed"]
        assert await states(g, 3) == ["completed"] * 3
