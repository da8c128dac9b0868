"""Replies that ask for far more than is done: every call is answered, few are run."""

import asyncio
from typing import Any

import pytest

from storage.records.entries import Kind
from storage.sql.store import SqlStore
from storage.store import Store
from tests.flow.conftest import gateway
from tests.flow.delegating import (
    ANSWER,
    CountingModel,
    Rule,
    delegates,
    says,
    tool_results,
)
from tests.support.tool_calls import dangling


def makes(
    name: str, count: int, arguments: Any = "{}", *, tier: str = "parent", **when: Any
) -> Rule:
    calls = [{"name": name, "arguments": arguments} for _ in range(count)]
    return {"when": {"tier": tier, **when}, "reply": {"tool_calls": calls}}


async def entries(store: Store, session: int = 1) -> int:
    return len(await store.read(lambda tx: tx.tree.entries(session)))


@pytest.mark.parametrize("name", ["no_such_tool", "think"])
async def test_of_ten_thousand_calls_sixteen_are_run_and_all_are_answered(
    store: Store, name: str
) -> None:
    rules = [makes(name, 10_000, last="^go"), says("done", tier="parent")]
    async with gateway(rules, store=store) as g:
        await g.chat.say("go")
        await g.hears("done")
        told = g.model.of("parent")[-1].messages
        assert dangling(told) == []
        results = tool_results(g.model.of("parent")[-1])
        assert len(results) == 10_000
        assert "delegation.max_calls_per_reply is 16" in results[16]
        assert "not run" not in "".join(results[:16])
        assert await entries(store) < 25


async def test_of_four_hundred_delegations_sixteen_are_begun(store: Store) -> None:
    rules = [delegates(*({"goal": f"t{n}"} for n in range(400))), says("w", delay=0.1), ANSWER]
    model = CountingModel(rules, 3)
    async with gateway(store=store, model=model) as g:
        await g.chat.say("go")
        await g.hears("result: Error: ")
        assert len(model.of("worker")) == 16
        assert model.most["worker"] == 3
        assert len(await store.read(lambda tx: tx.delegations.recent(1, 1000))) == 16


async def test_a_turn_starts_thirty_two_delegations_however_many_replies_it_makes(
    store: Store,
) -> None:
    again: Rule = {
        "when": {"tier": "parent", "turn": 3},
        "reply": {"text": "result: {last}"},
    }
    more = delegates(*({"goal": f"t{n}"} for n in range(12)), last="")
    async with gateway([again, says("w"), more], store=store) as g:
        await g.chat.say("go")
        text = (await g.hears("result: Error: ")).text
        assert "max_per_turn is 32" in text.replace("\\", "")
        assert len(g.model.of("worker")) == 32
        await g.chat.say("go on")
        await g.hears("result: Error: ", count=2)
        assert len(g.model.of("worker")) == 64


async def test_tasks_of_a_batch_count_one_by_one(store: Store) -> None:
    config = {"delegation": {"max_per_turn": 4}}
    batch = {"tasks": [{"goal": "a"}, {"goal": "b"}, {"goal": "c"}]}
    async with gateway(
        [delegates(batch, batch), says("w"), ANSWER], store=store, config=config
    ) as g:
        await g.chat.say("go")
        await g.hears("result: Error: 3 more")
        assert len(g.model.of("worker")) == 3


async def test_a_worker_that_calls_too_much_can_still_report(store: Store) -> None:
    table = [
        {"condition": "Seen", "branches": {"ok": {"action": "report"}}},
        {"default": {"action": "escalate", "tier": "overseer"}},
    ]
    report = {"condition": 1, "branch": "ok", "evidence": "seen it", "confidence": 1}
    thinks = [{"name": "think", "arguments": {"thought": "hm"}}] * 300
    reply = {"tool_calls": [*thinks, {"name": "report_outcome", "arguments": report}]}
    rules: list[Rule] = [
        delegates({"goal": "look", "branch_table": table}),
        {"when": {"tier": "worker"}, "reply": reply},
        ANSWER,
    ]
    async with gateway(rules, store=store) as g:
        await g.chat.say("go")
        assert '"branch": "ok"' in (await g.hears("result: ")).text
        assert len(g.model.of("worker")) == 1


async def test_an_overseer_that_calls_too_much_still_decides(store: Store) -> None:
    table = [
        {"condition": "Seen", "branch": {"action": "escalate", "tier": "overseer"}},
        {"default": {"action": "escalate", "tier": "overseer"}},
    ]
    resolve = {"summary": "fine", "branch": "ok", "evidence": "all"}
    odd = [{"name": "nothing", "arguments": "{}"}] * 300
    rules: list[Rule] = [
        delegates({"goal": "look", "branch_table": table}),
        {"when": {"tier": "worker"}, "reply": {"text": "I saw something"}},
        {
            "when": {"tier": "overseer"},
            "reply": {"tool_calls": [*odd, {"name": "resolve", "arguments": resolve}]},
        },
        ANSWER,
    ]
    async with gateway(rules, store=store) as g:
        await g.chat.say("go")
        text = (await g.hears("result: ")).text
        assert '"resolved_by": "overseer"' in text.replace("\\", "")
        assert len(g.model.of("overseer")) == 1


async def test_stop_reaches_the_children_that_queue(store: Store) -> None:
    rules = [delegates(*({"goal": f"t{n}"} for n in range(40))), says("never", delay=60), ANSWER]
    model = CountingModel(rules)
    async with gateway(store=store, model=model) as g:
        await g.chat.say("go")
        await g.model.called("worker", 3)
        async with asyncio.timeout(60):
            await g.chat.say("/stop")
        await g.settled()
        assert len(model.of("worker")) == 3
        rows = await store.read(lambda tx: tx.delegations.recent(1, 1000))
        assert {row.state for row in rows} == {"interrupted"}


async def test_talk_in_the_middle_of_ten_thousand_calls_leaves_no_call_open(store: Store) -> None:
    goals = [{"name": "delegate_task", "arguments": {"goal": "t"}}]
    odd = [{"name": "no_such_tool", "arguments": "{}"}] * 10_000
    rules: list[Rule] = [
        {"when": {"tier": "parent", "last": "^go"}, "reply": {"tool_calls": [*goals, *odd]}},
        says("never", delay=60),
        says("hello", tier="parent", last="^hi"),
    ]
    async with gateway(rules, store=store) as g:
        await g.chat.say("go")
        await g.model.called("worker")
        await g.chat.say("hi")
        await g.hears("hello")
        told = g.model.of("parent")[-1].messages
        assert dangling(told) == []
        assert await entries(store) < 30


async def test_the_count_of_a_turn_outlives_the_process(database: str) -> None:
    """Six have begun when the gateway ends; the next one lets the turn begin two more."""
    config = {"delegation": {"max_per_turn": 8, "max_concurrent_children": 8}}
    first = [delegates(*({"goal": f"t{n}"} for n in range(6))), says("never", delay=60), ANSWER]
    async with gateway(first, store=await SqlStore.open(database), config=config) as g:
        await g.chat.say("go")
        await g.model.called("worker", 6)
    second = [
        says("w"),
        {"when": {"tier": "parent", "turn": 2}, "reply": {"text": "result: {last}"}},
        delegates(*({"goal": f"u{n}"} for n in range(6)), last=""),
    ]
    store = await SqlStore.open(database)
    async with gateway(second, store=store, config=config) as g:
        await g.hears("result: Error: ")
        rows = await store.read(lambda tx: tx.delegations.recent(1, 1000))
        assert len(rows) == 8


async def test_calls_that_all_have_one_id_are_told_apart_quickly(store: Store) -> None:
    rules = [makes("no_such_tool", 3, last="^go"), says("done", tier="parent")]
    async with gateway(rules, store=store) as g:
        await g.chat.say("go")
        await g.hears("done")
        kinds = [e.kind for e in await store.read(lambda tx: tx.tree.entries(1))]
        assert Kind.RECORD not in kinds


async def test_a_reply_with_too_many_calls_survives_export_and_import(store: Store) -> None:
    rules = [makes("no_such_tool", 40, last="^go"), says("done", tier="parent")]
    async with gateway(rules, store=store) as g:
        await g.chat.say("go")
        await g.hears("done")
        await g.chat.say("/export")
        await g.settled()
        (file,) = [one.upload for one in g.chat.shown.values() if one.upload is not None]
        await g.chat.say("/import", files={"old.jsonl": file.data})
        await g.hears("Taken in")
        await g.chat.say("and now")
        await g.hears("done", count=2)
        told = g.model.of("parent")[-1].messages
        assert dangling(told) == []
        assert "delegation.max_calls_per_reply is 16" in tool_results(g.model.of("parent")[-1])[16]
