"""Several tasks at once: in one call, and in several calls of one model turn."""

import asyncio

import pytest

from storage.store import Store
from tests.flow.conftest import gateway
from tests.flow.delegating import (
    ANSWER,
    ASKING,
    CountingModel,
    Rule,
    ask,
    asked,
    delegates,
    reports,
    results_in,
    says,
    tool_results,
)


def tasks(*goals: str) -> dict[str, object]:
    return {"tasks": [{"goal": goal} for goal in goals]}


async def test_results_stand_in_task_order_whoever_is_done_first(store: Store) -> None:
    rules = [
        delegates(tasks("slow", "middle", "quick")),
        says("S", last="Task: slow", delay=0.3),
        says("M", last="Task: middle", delay=0.1),
        says("Q", last="Task: quick"),
        ANSWER,
    ]
    async with gateway(rules, store=store) as g:
        results = await ask(g)
        assert [(r["task"], r["summary"]) for r in results] == [
            ("slow", "S"),
            ("middle", "M"),
            ("quick", "Q"),
        ]


async def test_a_batch_that_is_too_large_says_so_and_what_can_be_done(store: Store) -> None:
    async with gateway([delegates(tasks(*"abcde")), ANSWER], store=store) as g:
        await g.chat.say("go")
        text = (await g.hears("result: Error: ")).text
        assert "5 tasks" in text
        assert "max_concurrent_children is 3" in text
        for way_out in ("fewer tasks", "several calls", "max_concurrent_children raised"):
            assert way_out in text
        assert g.model.of("worker") == []


async def test_a_raised_limit_takes_a_larger_batch(store: Store) -> None:
    config = {"delegation": {"max_concurrent_children": 5}}
    rules = [delegates(tasks(*"abcde")), says("done", delay=0.1), ANSWER]
    model = CountingModel(rules, 5)
    async with gateway(store=store, config=config, model=model) as g:
        assert len(await ask(g)) == 5
        assert model.most["worker"] == 5


async def test_all_calls_of_a_turn_run_and_never_more_children_than_allowed(store: Store) -> None:
    pairs = [(f"a{n}", f"b{n}") for n in range(4)]
    rules = [
        delegates(*(tasks(*pair) for pair in pairs)),
        says("done {1}", last=r"Task: (\w+)", delay=0.1),
        ANSWER,
    ]
    model = CountingModel(rules, 3)
    async with gateway(store=store, model=model) as g:
        await ask(g)
        found = [results_in(text) for text in tool_results(model.of("parent")[-1])]
        assert [[r["summary"] for r in batch] for batch in found] == [
            [f"done {a}", f"done {b}"] for a, b in pairs
        ]
        assert model.most["worker"] == 3
        assert len(model.of("worker")) == 8
        rows = await store.read(lambda tx: tx.delegations.recent(1))
        assert [row.goal for row in reversed(rows)] == [goal for pair in pairs for goal in pair]


async def test_a_limit_of_one_runs_one_after_the_other(store: Store) -> None:
    config = {"delegation": {"max_concurrent_children": 1}}
    rules = [delegates({"goal": "a"}, {"goal": "b"}), says("done", delay=0.05), ANSWER]
    model = CountingModel(rules)
    async with gateway(store=store, config=config, model=model) as g:
        await ask(g)
        assert (model.most["worker"], len(model.of("worker"))) == (1, 2)


async def test_a_task_that_fails_leaves_the_others_alone(store: Store) -> None:
    rules = [
        delegates(tasks("good", "bad")),
        {
            "when": {"tier": "worker", "last": "Task: bad"},
            "reply": {"error": "auth", "text": "the key is refused"},
        },
        says("fine", last="Task: good"),
        ANSWER,
    ]
    async with gateway(rules, store=store) as g:
        good, bad = await ask(g)
        assert (good["status"], bad["status"]) == ("completed", "failed")
        assert "the key is refused" in bad["summary"]
        assert bad["exit_reason"] == "model_error"


async def test_fields_beside_tasks_hold_for_those_that_do_not_set_them(store: Store) -> None:
    batch = {"tasks": [{"goal": "a"}, {"goal": "b", "context": "own"}], "context": "shared"}
    async with gateway([delegates(batch), says("done"), ANSWER], store=store) as g:
        await ask(g)
        texts = sorted(str(request.messages[1]["content"]) for request in g.model.of("worker"))
        assert "Task: a\n\nContext:\nshared" in texts[0]
        assert "Task: b\n\nContext:\nown" in texts[1]


ONE_WAITS: list[Rule] = [
    delegates({"tasks": [{"goal": "gone", "branch_table": ASKING}, {"goal": "plain"}]}),
    reports("Gone", "match", last="Task: gone"),
    says("plain work", last="Task: plain"),
    ANSWER,
]


async def test_a_batch_in_which_one_waits_returns_the_others_at_once(store: Store) -> None:
    async with gateway(ONE_WAITS, store=store) as g:
        waiting, done = await ask(g)
        assert (waiting["status"], done["status"]) == ("waiting", "completed")
        assert "Lost?" in waiting["question"]
        assert done["summary"] == "plain work"
        await g.chat.press(await asked(g, "Lost?"), "It is there")
        later = results_in((await g.hears("late result")).text)
        assert [(r["task"], r["status"], r["resolved_by"]) for r in later] == [
            ("gone", "completed", "human")
        ]
        await g.settled()
        assert len(g.model.of("worker")) == 2
        assert len(g.model.of("parent")) == 3


async def test_the_late_result_is_told_where_the_chat_has_got_to(store: Store) -> None:
    rules = [*ONE_WAITS[:3], says("hi", tier="parent", last="^hello"), ANSWER]
    async with gateway(rules, store=store) as g:
        await ask(g)
        await g.chat.say("hello")
        await g.hears("hi")
        await g.chat.press(await asked(g, "Lost?"), "Stop")
        await g.hears("rejected")
        first, *_ = [m for m in g.model.of("parent")[-1].messages if m["role"] == "tool"]
        assert results_in(first["content"])[0]["status"] == "waiting"
        assert g.model.of("parent")[-1].messages[-1]["role"] == "user"


ALL_WAIT: list[Rule] = [
    delegates({"tasks": [{"goal": g, "branch_table": ASKING} for g in ("left", "right")]}),
    reports("Gone", "match", "{1} is gone", last=r"Task: (\w+)"),
    ANSWER,
]


async def test_a_batch_in_which_all_wait_ends_the_turn_until_somebody_decides(store: Store) -> None:
    async with gateway(ALL_WAIT, store=store) as g:
        await g.chat.say("go")
        left, right = await asked(g, "left is gone"), await asked(g, "right is gone")
        await g.settled()
        assert len(g.model.of("parent")) == 1
        await g.chat.press(right, "It is there")
        results = results_in((await g.hears("result: ")).text)
        assert [r["status"] for r in results] == ["waiting", "completed"]
        await g.chat.press(left, "Stop")
        late = results_in((await g.hears("late result")).text)
        assert [(r["task"], r["status"]) for r in late] == [("left", "rejected")]
        await g.settled()
        assert len(g.model.of("parent")) == 3


async def test_talk_interrupts_what_runs_and_leaves_what_waits(store: Store) -> None:
    rules = [*ONE_WAITS[:2], says("never", last="Task: plain", delay=60), ANSWER]
    async with gateway(rules, store=store) as g:
        await g.chat.say("go")
        question = await asked(g, "Lost?")
        await g.model.called("worker", 2)
        await g.chat.say("what is up")
        await g.hears("result: what is up")
        (told,) = tool_results(g.model.of("parent")[-1])
        assert [r["status"] for r in results_in(told)] == ["waiting", "interrupted"]
        await g.chat.press(question, "Stop")
        assert results_in((await g.hears("late result")).text)[0]["status"] == "rejected"


@pytest.mark.parametrize("command", ["/stop", "/new"])
async def test_commands_interrupt_every_child_at_once(store: Store, command: str) -> None:
    rules = [delegates(tasks("a", "b", "c")), says("never", delay=60), ANSWER]
    model = CountingModel(rules)
    async with gateway(store=store, model=model) as g:
        await g.chat.say("go")
        await g.model.called("worker", 3)
        session = await store.read(lambda tx: tx.directory.conversation("telegram:1"))
        assert session is not None
        async with asyncio.timeout(60):
            await g.chat.say(command)
        await g.settled()
        assert model.running["worker"] == 0
        rows = await store.read(lambda tx: tx.delegations.recent(session))
        assert [row.state for row in rows] == ["interrupted"] * 3
        assert all('"exit_reason": "interrupted"' in row.result for row in rows)
        assert len(model.of("parent")) == 1
