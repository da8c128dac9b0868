"""A tool that is no delegation waits for a person, and is run again with what they decided."""

import asyncio
from typing import Any

from adapters.recording import RecordingAdapter, Shown
from agent.tools.base import Ask, Call, Done, Effects, Outcome, Traits
from storage.records.questions import Choice
from storage.sql.store import SqlStore
from storage.store import Store
from tests.flow.conftest import PATIENCE, SpyModel, gateway
from tests.flow.delegating import ANSWER, asked, calls, delegates, says

ORDER = calls("order", {"what": "pizza"}, tier="parent", last="^go")


class Order:
    """Orders something, once a person has said that it may."""

    name = "order"
    description = "Order something."
    traits = Traits(Effects.CHANGES)

    def __init__(self, *, hangs: bool = False) -> None:
        self.parameters: dict[str, Any] = {"type": "object"}
        self.ordered: list[str] = []
        self.hangs = hangs
        self.began = asyncio.Event()

    async def run(self, call: Call) -> Outcome:
        what = call.arguments["what"]
        if call.asked is None:
            choices = (Choice("yes", "Yes"), Choice("no", "No"))
            return Ask(f"Order {what}?", choices, "a person is asked")
        if call.asked.choice != "yes":
            return Done(f"{what} was not wanted ({call.asked.choice})")
        self.ordered.append(what)
        self.began.set()
        if self.hangs:
            await asyncio.Event().wait()
        return Done(f"{what} is ordered for {call.asked.decided_name}")


async def question_of(
    database: str, model: SpyModel, *tools: Order, **config: Any
) -> tuple[Shown, RecordingAdapter]:
    """What is asked in a gateway that ends then."""
    chat = RecordingAdapter(name="telegram")
    store = await SqlStore.open(database)
    async with gateway(store=store, model=model, chat=chat, tools=tools, config=config) as g:
        await g.chat.say("go")
        question = await asked(g, "Order pizza?")
        await g.settled()
    return question, RecordingAdapter(name="telegram", shown={question.id: question})


async def test_a_call_goes_on_with_the_answer_after_a_restart(database: str) -> None:
    model, tool = SpyModel([ORDER, ANSWER]), Order()
    question, chat = await question_of(database, model, tool)
    assert len(model.of("parent")) == 1
    store = await SqlStore.open(database)
    async with gateway(store=store, model=model, chat=chat, tools=[tool]) as g:
        await g.chat.press(question, "Yes")
        await g.hears("result: pizza is ordered for")
        await g.settled()
        assert tool.ordered == ["pizza"]
        assert len(model.of("parent")) == 2


async def test_talk_goes_on_while_a_call_waits_and_the_result_is_told_later(store: Store) -> None:
    tool = Order()
    rules = [ORDER, says("hello", tier="parent", last="^talk"), ANSWER]
    async with gateway(rules, store=store, tools=[tool]) as g:
        await g.chat.say("go")
        question = await asked(g, "Order pizza?")
        await g.chat.say("talk")
        await g.hears("hello")
        waiting = g.model.of("parent")[1].messages
        assert any("waiting for a decision" in str(m["content"]) for m in waiting)
        await g.chat.press(question, "No")
        await g.hears("pizza was not wanted (no)")
        await g.settled()
        assert tool.ordered == []


async def test_what_may_not_run_twice_and_was_killed_after_the_answer_is_not_run_again(
    database: str,
) -> None:
    model, tool = SpyModel([ORDER, ANSWER]), Order(hangs=True)
    question, chat = await question_of(database, model, tool)
    store = await SqlStore.open(database)
    async with gateway(store=store, model=model, chat=chat, tools=[tool]) as g:
        await g.chat.press(question, "Yes")
        async with asyncio.timeout(PATIENCE):
            await tool.began.wait()
    chat = RecordingAdapter(name="telegram")
    store = await SqlStore.open(database)
    async with gateway(store=store, model=model, chat=chat, tools=[tool]) as g:
        await g.hears("result: interrupted, outcome unknown")
        await g.settled()
        assert tool.ordered == ["pizza"]


async def test_a_workers_call_goes_on_with_the_answer_after_a_restart(database: str) -> None:
    rules = [
        delegates({"goal": "get pizza"}),
        calls("order", {"what": "pizza"}, last="Task: get pizza"),
        says("done: {last}", last="ordered"),
        ANSWER,
    ]
    model, tool = SpyModel(rules), Order()
    question, chat = await question_of(database, model, tool)
    store = await SqlStore.open(database)
    async with gateway(store=store, model=model, chat=chat, tools=[tool]) as g:
        await g.chat.press(question, "Yes")
        await g.hears("done: pizza is ordered for")
        await g.settled()
        assert tool.ordered == ["pizza"]
        assert len(model.of("worker")) == 2


async def test_stop_withdraws_what_a_call_waits_for(store: Store) -> None:
    tool = Order()
    async with gateway([ORDER, ANSWER], store=store, tools=[tool]) as g:
        await g.chat.say("go")
        question = await asked(g, "Order pizza?")
        await g.settled()
        await g.chat.say("/stop")
        await g.hears("Stopped")
        await g.settled()
        assert not question.buttons
        assert await store.read(lambda tx: tx.questions.open()) == []
