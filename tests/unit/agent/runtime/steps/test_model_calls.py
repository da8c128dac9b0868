"""What had come of an answer that broke off stands in the tree, once, and is paid for."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest

from agent.models.base import (
    Model,
    ModelError,
    ModelErrorKind,
    ModelSpec,
    Purpose,
    Reply,
    Request,
)
from agent.models.metering import Account
from agent.models.scripted import Answer, Call, Rule, ScriptedModel
from agent.runtime.context import CUT_OFF
from agent.runtime.journal import Alongside, Journal
from agent.runtime.loop import Answered, Loop
from agent.runtime.steps.agent import Agent, AgentRun
from agent.runtime.steps.model_calls import ModelCalls
from agent.runtime.steps.tool_runs import ToolRuns
from storage.errors import EpochLost
from storage.records.entries import Draft, Entry, Kind, SessionDraft, SessionKind, message
from storage.sql.store import SqlStore
from storage.store import Transaction
from tests.support.stores import fresh_store

SPEC = ModelSpec("parent", "m", input_cost=1e-6, output_cost=1e-5)
AGENT = Agent("parent", SPEC, "Be kind.", {}, 5)
BROKEN = Rule(reply=Answer(begins="Once upon a", error=ModelErrorKind.UNAVAILABLE))


@pytest.fixture
async def store() -> AsyncIterator[SqlStore]:
    async with fresh_store() as store:
        yield store


class Telling:
    """A model that says this much of its answer, and then nothing for ever."""

    def __init__(self, *pieces: str) -> None:
        self.pieces = pieces
        self.said = asyncio.Event()

    async def complete(self, request: Request) -> Reply:
        assert request.heard is not None
        for piece in self.pieces:
            request.heard(piece)
        self.said.set()
        await asyncio.Event().wait()
        raise AssertionError


class Chat:
    """A session in which somebody asks, and the loops that answer there."""

    def __init__(self, store: SqlStore) -> None:
        self.store = store
        self.session = 0
        self.heard: list[str] = []
        self.cut: list[Reply] = []

    async def ask(self, text: str) -> None:
        def work(tx: Transaction) -> None:
            self.session = self.session or tx.tree.create(SessionDraft(SessionKind.CHAT)).id
            leaf = tx.tree.session(self.session).leaf
            draft = Draft(Kind.MESSAGE, message("user", text))
            tx.tree.append(self.session, draft, after=leaf)

        await self.store.run(work)

    async def loop(self, model: Model, **more: Any) -> Loop:
        journal = await Journal.claim(self.store, self.session)
        account = Account("parent", self.session, Purpose("telegram:1", "telegram:1"))
        run = AgentRun(AGENT, journal, account)
        streamed = {"heard": self.heard.append, "on_cut": self.on_cut}
        return Loop(ModelCalls(model, run, **(streamed | more)), ToolRuns(run))

    def on_cut(self, reply: Reply) -> Alongside:
        self.cut.append(reply)

        def alongside(tx: Transaction, entry: Entry) -> None:
            tx.directory.audit("cut", "", {"entry": entry.id})

        return alongside

    async def path(self) -> tuple[Entry, ...]:
        def work(tx: Transaction) -> tuple[Entry, ...]:
            return tx.tree.path(tx.tree.session(self.session).leaf)

        return await self.store.read(work)

    async def spent(self) -> float:
        total = await self.store.read(lambda tx: tx.ledger.total(since=0.0))
        return total.cost or 0.0


@pytest.fixture
async def chat(store: SqlStore) -> Chat:
    chat = Chat(store)
    await chat.ask("Tell me a story")
    return chat


async def test_an_answer_that_breaks_off_stands_in_the_tree_and_the_error_is_raised(
    chat: Chat,
) -> None:
    loop = await chat.loop(ScriptedModel([BROKEN]))
    with pytest.raises(ModelError, match="the script says unavailable"):
        await loop.run()
    _, cut = await chat.path()
    assert cut.body["role"] == "assistant"
    assert (cut.body["content"], cut.body["stop"]) == ("Once upon a", "cut")
    assert (cut.body["model"], cut.author) == ("m", "parent")
    assert "tool_calls" not in cut.body
    assert "".join(chat.heard) == "Once upon a"
    assert [(reply.content, reply.tool_calls) for reply in chat.cut] == [("Once upon a", ())]


async def test_it_is_paid_for_by_estimate(chat: Chat) -> None:
    loop = await chat.loop(ScriptedModel([BROKEN]))
    with pytest.raises(ModelError):
        await loop.run()
    _, cut = await chat.path()
    usage = cut.body["usage"]
    assert usage["input"] > 0 and usage["output"] > 0
    assert await chat.spent() == pytest.approx(usage["cost"])
    assert usage["cost"] == pytest.approx(usage["input"] * 1e-6 + usage["output"] * 1e-5)


async def test_an_answer_that_is_not_streamed_leaves_nothing(chat: Chat) -> None:
    loop = await chat.loop(ScriptedModel([BROKEN]), heard=None)
    with pytest.raises(ModelError):
        await loop.run()
    assert len(await chat.path()) == 1
    assert (chat.cut, await chat.spent()) == ([], 0.0)


async def test_a_failure_before_the_first_word_leaves_nothing(chat: Chat) -> None:
    loop = await chat.loop(ScriptedModel([Rule(reply=Answer(error=ModelErrorKind.UNAVAILABLE))]))
    with pytest.raises(ModelError):
        await loop.run()
    assert (len(await chat.path()), chat.cut) == (1, [])


async def cut_short(chat: Chat, model: Telling, times: int = 1) -> None:
    task = asyncio.create_task((await chat.loop(model)).run())
    await model.said.wait()
    for _ in range(times):
        task.cancel()
        await asyncio.sleep(0)
    with pytest.raises(asyncio.CancelledError):
        await task


@pytest.mark.parametrize("times", [1, 2, 5])
async def test_what_was_said_before_a_turn_was_cut_is_there_when_its_task_has_ended(
    chat: Chat, times: int
) -> None:
    await cut_short(chat, Telling("Once ", "upon"), times)
    _, cut = await chat.path()
    assert (cut.body["content"], cut.body["stop"]) == ("Once upon", "cut")
    assert len(chat.cut) == 1
    assert await chat.spent() > 0


@pytest.mark.parametrize("pieces", [(), ("",), ("\n", "  ")])
async def test_a_turn_that_was_cut_before_a_word_leaves_nothing(
    chat: Chat, pieces: tuple[str, ...]
) -> None:
    await cut_short(chat, Telling(*pieces))
    assert len(await chat.path()) == 1
    assert chat.heard == []


async def test_a_newer_turn_may_have_come_before(
    chat: Chat, caplog: pytest.LogCaptureFixture
) -> None:
    model = Telling("Once")
    task = asyncio.create_task((await chat.loop(model)).run())
    await model.said.wait()
    await Journal.claim(chat.store, chat.session)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert len(await chat.path()) == 1


async def test_with_an_error_a_newer_turn_is_not_overtaken(chat: Chat) -> None:
    loop = await chat.loop(ScriptedModel([BROKEN]))
    await Journal.claim(chat.store, chat.session)
    with pytest.raises(EpochLost):
        await loop.run()


async def test_a_lost_store_loses_the_text_and_nothing_else(
    store: SqlStore, chat: Chat, caplog: pytest.LogCaptureFixture
) -> None:
    model = Telling("Once")
    task = asyncio.create_task((await chat.loop(model)).run())
    await model.said.wait()
    await store.close()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert "is lost" in caplog.text


async def test_the_next_turn_is_shown_what_was_said_and_that_it_broke_off(chat: Chat) -> None:
    await cut_short(chat, Telling("Once upon"))
    await chat.ask("Shorter, please")
    asked: list[Request] = []

    class Spy(ScriptedModel):
        async def complete(self, request: Request) -> Reply:
            asked.append(request)
            return await super().complete(request)

    await (await chat.loop(Spy([Rule(reply=Answer(text="The end."))]))).run()
    assert asked[0].messages[1:] == [
        message("user", "Tell me a story"),
        message("assistant", "Once upon"),
        message("user", CUT_OFF),
        message("user", "Shorter, please"),
    ]


async def test_a_turn_that_is_run_again_goes_on_after_what_was_cut(chat: Chat) -> None:
    await cut_short(chat, Telling("Once upon"))
    loop = await chat.loop(ScriptedModel([Rule(reply=Answer(text="a time."))]))
    result = await loop.run()
    assert isinstance(result, Answered)
    assert [entry.body["content"] for entry in await chat.path()] == [
        "Tell me a story",
        "Once upon",
        "a time.",
    ]
    assert "stop" not in result.entry.body


async def test_an_empty_answer_is_asked_for_again_before_anybody_hears_of_it(chat: Chat) -> None:
    rules = [Rule(reply=Answer(text=" \n "), times=1), Rule(reply=Answer(text="\nYes. "))]
    await (await chat.loop(ScriptedModel(rules))).run()
    assert "".join(chat.heard) == "\nYes. "


async def test_calls_of_an_answer_that_broke_off_are_not_run(chat: Chat) -> None:
    answer = Answer(
        begins="Let me", tool_calls=(Call(name="think"),), error=ModelErrorKind.UNAVAILABLE
    )
    with pytest.raises(ModelError):
        await (await chat.loop(ScriptedModel([Rule(reply=answer)]))).run()
    assert "tool_calls" not in (await chat.path())[-1].body
