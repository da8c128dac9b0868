"""Children's calls that a person must agree to: they go on in the child that made them, and the
question dies with it."""

import asyncio

from adapters.recording import RecordingAdapter, Shown
from storage.sql.store import SqlStore
from storage.store import Store
from tests.flow.approving import ASKED, Launch, launches, question_of, rule
from tests.flow.conftest import ON_BOTH, PATIENCE, SpyModel, gateway
from tests.flow.delegating import ANSWER, asked, delegates, says

CHILD = [
    delegates({"goal": "fly"}),
    launches("a", last="Task: fly", tier="worker"),
    says("done: {last}", last="launched|Denied|not run"),
    ANSWER,
]


@ON_BOTH
async def test_a_childs_call_goes_on_in_the_child_after_a_restart(database: str) -> None:
    model, tool = SpyModel(CHILD), Launch()
    async with gateway(store=await SqlStore.open(database), model=model, tools=[tool]) as g:
        question = await question_of(g)
        assert "whose task is `fly`" in question.text
        await g.settled()
    chat = RecordingAdapter(name="telegram", shown={question.id: question})
    store = await SqlStore.open(database)
    async with gateway(store=store, model=model, chat=chat, tools=[tool]) as g:
        await g.chat.press(question, "Once")
        await g.hears("done: launched a")
        await g.settled()
        assert tool.launched == ["a"]


async def test_each_child_goes_on_with_its_own_answer(store: Store) -> None:
    tool = Launch()
    rules = [
        delegates({"tasks": [{"goal": "one"}, {"goal": "two"}]}),
        launches("first", last="Task: one", tier="worker"),
        launches("second", last="Task: two", tier="worker"),
        says("done: {last}", last="launched|Denied"),
        ANSWER,
    ]
    async with gateway(rules, store=store, tools=[tool]) as g:
        await g.chat.say("go")
        one, two = await asked(g, "`one`"), await asked(g, "`two`")
        await g.chat.press(two, "Deny")
        await g.chat.press(one, "Once")
        await g.settled()
        assert tool.launched == ["first"]
        told = "".join(g.chat.texts())
        assert "done: launched first" in told
        assert "Denied by User 1" in told


async def test_a_childs_call_that_was_cut_off_is_not_run_again(database: str) -> None:
    model, tool = SpyModel([*CHILD[:2], says("done: {last}", last="unknown"), ANSWER]), Launch()
    tool.hangs = True
    async with gateway(store=await SqlStore.open(database), model=model, tools=[tool]) as g:
        await g.chat.press(await question_of(g), "Once")
        async with asyncio.timeout(PATIENCE):
            await tool.began.wait()
    async with gateway(store=await SqlStore.open(database), model=model, tools=[tool]) as g:
        await g.hears("done: interrupted, outcome unknown")
        await g.settled()
        assert tool.launched == ["a"]


async def test_stop_withdraws_what_a_child_asks(store: Store) -> None:
    tool = Launch()
    async with gateway(CHILD, store=store, tools=[tool]) as g:
        question = await question_of(g)
        late = Shown(question.id, question.conversation, question.text, question.buttons)
        await g.settled()
        await g.chat.say("/stop")
        await g.hears("Stopped")
        await g.settled()
        await g.chat.press(late, "Once")
        await g.settled()
        assert not question.buttons
        assert tool.launched == []


async def test_a_question_dies_with_the_worker_that_asked(store: Store) -> None:
    """Its report ends the worker while its call still waits."""
    tool = Launch()
    both = [
        {"name": "launch", "arguments": {"what": "a"}},
        {
            "name": "report_outcome",
            "arguments": {"condition": "There", "branch": "seen", "evidence": "x"},
        },
    ]
    table = [
        {"condition": "There", "branches": {"seen": {"action": "report"}}},
        {"default": {"action": "report"}},
    ]
    rules = [
        delegates({"goal": "fly", "branch_table": table}),
        {"when": {"tier": "worker"}, "reply": {"tool_calls": both}},
        ANSWER,
    ]
    async with gateway(rules, store=store, tools=[tool]) as g:
        await g.chat.say("go")
        await g.hears("result: ")
        await g.settled()
        assert await store.read(lambda tx: tx.questions.open()) == []
        (question,) = [s for s in g.chat.shown.values() if ASKED in s.text]
        assert not question.buttons
        assert "Withdrawn" in question.text
        assert tool.launched == []


async def test_a_question_dies_when_its_child_is_stopped(store: Store) -> None:
    """One of its calls hangs while another waits for a person."""
    tool = Launch(hangs=True)
    rules = [delegates({"goal": "fly"}), launches("safe", "a", last="Task: fly", tier="worker")]
    config = {"tools": {"rules": [rule("allow", "^safe$")]}}
    async with gateway([*rules, ANSWER], store=store, tools=[tool], config=config) as g:
        question = await question_of(g)
        late = Shown(question.id, question.conversation, question.text, question.buttons)
        await g.chat.say("/agents")
        await g.chat.press(await asked(g, "fly\n"), "Stop agent 1")
        await g.hears("interrupted")
        await g.settled()
        assert not question.buttons
        assert "Withdrawn" in question.text
        await g.chat.press(late, "Once")
        await g.settled()
        assert tool.launched == ["safe"]


async def test_a_child_in_the_background_asks_too(store: Store) -> None:
    tool = Launch()
    rules = [
        delegates({"goal": "fly", "background": True}),
        *CHILD[1:3],
        launches("a", last="^again"),
        ANSWER,
    ]
    async with gateway(rules, store=store, tools=[tool]) as g:
        question = await question_of(g)
        await g.settled()
        await g.chat.press(question, "For this conversation")
        await g.hears("done: launched a")
        await g.chat.say("again")
        await g.hears("result: launched a")
        await g.settled()
        assert tool.launched == ["a", "a"]
