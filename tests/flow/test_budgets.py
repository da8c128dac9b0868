"""A budget that is spent: nobody calls a model, and the person is told when to come back."""

import json
from dataclasses import replace
from typing import Any

import pytest

from agent.models.base import Reply, Request
from agent.models.spending.budgets import OUTPUT_RESERVED
from storage.records.entries import Usage
from storage.sql.store import SqlStore
from storage.store import Store
from tests.flow.chatting import SlowModel
from tests.flow.conftest import Gateway, SpyModel, gateway
from tests.support.stores import Clock

COST = 1 / OUTPUT_RESERVED
"""Dollars for a token of output, so that a dollar is set aside for each call."""


def models(**costs: float) -> dict[str, Any]:
    """The parent is free where it has no price here."""
    costs = {"parent": 0.0, **costs}
    return {
        tier: {"model": f"scripted:{tier}", "input_cost": 0.0, "output_cost": cost}
        for tier, cost in costs.items()
    }


def says(text: str, dollars: float = 0.5, **more: Any) -> dict[str, Any]:
    usage = {"input": 0, "output": int(dollars * OUTPUT_RESERVED)}
    return {"text": text, "usage": usage, **more}


def calls(name: str, arguments: Any) -> dict[str, Any]:
    return {"tool_calls": [{"name": name, "arguments": arguments}], "usage": _NOTHING}


_NOTHING = {"input": 0, "output": 0}
ECHO = [{"reply": says("you said: {last}")}]
DEAR = models(parent=COST)
DEARER = {"delegation": {"allow_dearer": True}}
"""For a free parent with workers that cost something."""


def budgets(**limits: float) -> dict[str, Any]:
    return {"models": DEAR, "budgets": limits}


async def test_a_spent_conversation_is_told_and_other_conversations_go_on(store: Store) -> None:
    async with gateway(ECHO, store=store, config=budgets(conversation_day=1.0)) as g:
        await g.chat.say("one", chat="1")
        await g.hears("you said: one", chat="1")
        await g.chat.say("two", chat="1")
        told = (await g.hears("budget", chat="1")).text
        assert "The budget of this conversation for today is used up: $0.50 of $1.00" in told
        assert "opens again at 00:00 UTC" in told
        assert "try again later" not in told
        assert len(g.model.requests) == 1
        await g.chat.say("three", chat="2", user="2")
        await g.hears("you said: three", chat="2")


async def test_a_person_takes_the_spent_budget_along(store: Store) -> None:
    async with gateway(ECHO, store=store, config=budgets(person_day=1.0)) as g:
        await g.chat.say("one", chat="-5", user="7", private=False)
        await g.hears("you said", chat="-5")
        await g.chat.say("two", chat="7", user="7")
        assert "budget of telegram:7" in (await g.hears("used up", chat="7")).text
        await g.chat.say("three", chat="-5", user="8", private=False)
        await g.hears("three", chat="-5")


async def test_two_chats_at_once_do_not_spend_the_same_money(store: Store) -> None:
    model = SlowModel([{"reply": says("answered")}])
    async with gateway(store=store, config=budgets(day=1.2), model=model) as g:
        await g.chat.say("slow", chat="1", user="1")
        await model.began.wait()
        await g.chat.say("slow", chat="2", user="2")
        await g.hears("$1.00 set aside for calls that run now", chat="2")
        model.may_go_on.set()
        await g.hears("answered", chat="1")
        await g.settled()
        assert len(g.chat.texts("1") + g.chat.texts("2")) == 2


async def test_a_restart_opens_no_budget_and_midnight_does(database: str) -> None:
    clock = Clock()
    clock.now = 1_795_262_400.0  # noon in UTC
    for said, answer in (("one", "you said"), ("two", "used up")):
        store = await SqlStore.open(database, clock)
        async with gateway(ECHO, store=store, config=budgets(day=1.0)) as g:
            await g.chat.say(said, key=said)
            await g.hears(answer)
    clock.now += 12 * 3600
    async with gateway(
        ECHO, store=await SqlStore.open(database, clock), config=budgets(day=1.0)
    ) as g:
        await g.chat.say("three", key="three")
        await g.hears("you said: three")


async def test_models_without_a_price_are_not_counted(store: Store) -> None:
    config = {"models": {"parent": {"model": "scripted:x"}}, "budgets": {"day": 0.01}}
    async with gateway(ECHO, store=store, config=config) as g:
        for said in ("one", "two"):
            await g.chat.say(said)
            await g.hears(f"you said: {said}")


# Children


def delegating(**more: Any) -> list[dict[str, Any]]:
    """A parent that is free, delegates when told to go, and shows what it gets."""
    return [
        {
            "when": {"tier": "parent", "last": "^go"},
            "reply": calls("delegate_task", {"goal": "look"} | more),
        },
        {"when": {"tier": "parent"}, "reply": says("result: {last}", 0)},
    ]


async def result(g: Gateway, count: int = 1) -> dict[str, Any]:
    await g.chat.say("go")
    text = (await g.hears("result: ", count=count)).text
    found: dict[str, Any] = json.loads(text.removeprefix("result: "))["results"][0]
    return found


async def test_a_child_without_money_fails_and_the_parent_says_so(store: Store) -> None:
    rules = [*delegating(), {"when": {"tier": "worker"}, "reply": says("done")}]
    config = DEARER | {"models": models(worker=COST), "budgets": {"conversation_day": 1.0}}
    async with gateway(rules, store=store, config=config) as g:
        assert (await result(g))["status"] == "completed"
        failed = await result(g, count=2)
        assert failed["status"] == "failed"
        assert "budget of this conversation for today is used up" in failed["summary"]
        assert len(g.model.of("worker")) == 1


async def test_a_child_spends_the_budget_of_whoever_asked_its_parent(store: Store) -> None:
    rules = [*delegating(), {"when": {"tier": "worker"}, "reply": says("done")}]
    config = DEARER | {"models": models(worker=COST), "budgets": {"person_day": 1.0}}
    async with gateway(rules, store=store, config=config) as g:
        await result(g)
        assert "budget of telegram:1" in (await result(g, count=2))["summary"]


async def test_a_judge_without_money_is_inconclusive(store: Store) -> None:
    verdict = calls("give_verdict", {"verdict": "PASS", "reasoning": "fine"})
    rules = [
        *delegating(acceptance_criteria="it is done"),
        {"when": {"tier": "worker"}, "reply": says("done", 0)},
        {"when": {"tier": "judge"}, "reply": verdict | {"usage": says("")["usage"]}},
    ]
    config = {"models": models(worker=0.0, judge=COST), "budgets": {"person_day": 1.0}}
    async with gateway(rules, store=store, config=config) as g:
        assert (await result(g))["verdict"]["verdict"] == "PASS"
        judged = (await result(g, count=2))["verdict"]
        assert judged["verdict"] == "INCONCLUSIVE"
        assert "used up" in judged["reasoning"]
        assert len(g.model.of("judge")) == 1


async def test_an_overseer_without_money_leaves_it_to_a_person(store: Store) -> None:
    table = [{"condition": "fine", "branch": "report"}, {"default": "escalate"}]
    report = {"condition": "default", "branch": "default", "evidence": "odd"}
    rules = [
        *delegating(branch_table=table),
        {"when": {"tier": "worker"}, "reply": calls("report_outcome", report)},
    ]
    config = {"models": models(worker=0.0, overseer=COST), "budgets": {"conversation_day": 0.5}}
    async with gateway(rules, store=store, config=config) as g:
        await g.chat.say("go")
        assert "too small for a single call" in (await g.hears("overseer model")).text
        assert g.model.of("overseer") == []


@pytest.mark.parametrize("told", [-1_000_000, 10**30])
async def test_an_odd_usage_neither_refills_nor_empties_a_budget(store: Store, told: int) -> None:
    class Odd(SpyModel):
        async def complete(self, request: Request) -> Reply:
            reply = await super().complete(request)
            return replace(reply, usage=Usage(told, told, 1, float(told)))

    config = {
        "models": {"parent": {"model": "m", "input_cost": 1e-6, "output_cost": 1e-6}},
        "budgets": {"day": 1.0},
    }
    model = Odd([{"reply": {"text": "re: {last}"}}])
    async with gateway(store=store, config=config, model=model) as g:
        for text in ("one", "two", "three"):
            await g.chat.say(text)
            await g.hears(f"re: {text}")
        total = await store.read(lambda tx: tx.ledger.total(since=0.0))
        assert total.calls == 3
        assert 0 < total.cost < 0.01
