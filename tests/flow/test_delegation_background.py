"""Tasks in the background: the turn goes on, the result arrives by itself."""

import json

from adapters.recording import RecordingAdapter
from storage.sql.store import SqlStore
from storage.store import Store
from tests.flow.conftest import SpyModel, gateway
from tests.flow.delegating import (
    ANSWER,
    ASKING,
    CountingModel,
    Rule,
    asked,
    delegates,
    reports,
    results_in,
    says,
    tool_results,
)

STARTED = {
    "when": {"tier": "parent", "last": "runs in the background"},
    "reply": {"text": "It is under way."},
}


def in_background(delay: float = 0.3) -> list[Rule]:
    job = delegates({"goal": "long job", "background": True})
    return [job, says("job döne", delay=delay), STARTED, ANSWER]


async def test_the_turn_goes_on_and_the_result_starts_one_of_its_own(store: Store) -> None:
    async with gateway(in_background(), store=store) as g:
        await g.chat.say("go")
        await g.hears("It is under way.")
        (launched,) = results_in(tool_results(g.model.of("parent")[1])[0])
        assert launched["status"] == "running"
        shown = await g.hears("late result")
        (result,) = results_in(shown.text)
        assert (result["status"], result["summary"]) == ("completed", "job döne")
        assert "job döne" in shown.text
        await g.settled()
        assert len(g.model.of("parent")) == 3
        assert len(g.model.of("worker")) == 1


async def test_talk_goes_on_meanwhile_and_does_not_interrupt_it(store: Store) -> None:
    rules = [says("hi there", tier="parent", last="^hello"), *in_background(0.8)]
    async with gateway(rules, store=store) as g:
        await g.chat.say("go")
        await g.hears("It is under way.")
        await g.model.called("worker")
        await g.chat.say("hello")
        await g.hears("hi there")
        (result,) = results_in((await g.hears("late result")).text)
        assert result["status"] == "completed"
        assert len(g.model.of("worker")) == 1


async def test_it_survives_a_restart_and_its_result_arrives_once(database: str) -> None:
    model, chat = SpyModel(in_background(0.5)), RecordingAdapter(name="telegram")
    async with gateway(store=await SqlStore.open(database), model=model, chat=chat) as g:
        await g.chat.say("go")
        await g.hears("It is under way.")
        await g.model.called("worker")
    chat = RecordingAdapter(name="telegram")
    async with gateway(store=await SqlStore.open(database), model=model, chat=chat) as g:
        (result,) = results_in((await g.hears("late result")).text)
        assert result["summary"] == "job döne"
        await g.settled()
        assert len(model.of("worker")) == 2
        assert len(g.chat.texts()) == 1


async def test_it_may_wait_for_a_person_and_for_a_restart(database: str) -> None:
    rules = [
        delegates({"goal": "long job", "background": True, "branch_table": ASKING}),
        reports("Gone", "match"),
        STARTED,
        ANSWER,
    ]
    model, chat = SpyModel(rules), RecordingAdapter(name="telegram")
    async with gateway(store=await SqlStore.open(database), model=model, chat=chat) as g:
        await g.chat.say("go")
        await g.hears("It is under way.")
        question = await asked(g, "Lost?")
        await g.settled()
    chat = RecordingAdapter(name="telegram", shown={question.id: question})
    async with gateway(store=await SqlStore.open(database), model=model, chat=chat) as g:
        await g.chat.press(question, "It is there")
        (result,) = results_in((await g.hears("late result")).text)
        assert (result["status"], result["resolved_by"]) == ("completed", "human")
        await g.settled()
        assert len(model.of("worker")) == 1
        assert len(model.of("parent")) == 3


async def test_stop_ends_it_and_it_says_interrupted(store: Store) -> None:
    async with gateway(in_background(60), store=store) as g:
        await g.chat.say("go")
        await g.hears("It is under way.")
        await g.model.called("worker")
        await g.chat.say("/stop")
        await g.hears("Stopped.")
        await g.settled()
        (row,) = await store.read(lambda tx: tx.delegations.recent(1))
        assert json.loads(row.result)["status"] == "interrupted"
        await g.chat.say("and now?")
        await g.hears("result: and now?")
        late = [m["content"] for m in g.model.of("parent")[-1].messages if m["role"] == "user"]
        assert results_in(late[1])[0]["status"] == "interrupted"


async def test_stop_withdraws_what_it_asked(store: Store) -> None:
    rules = [
        delegates({"goal": "long job", "background": True, "branch_table": ASKING}),
        reports("Gone", "match"),
        STARTED,
        ANSWER,
    ]
    async with gateway(rules, store=store) as g:
        await g.chat.say("go")
        question = await asked(g, "Lost?")
        await g.hears("It is under way.")
        await g.chat.say("/stop")
        await g.hears("Stopped.")
        await g.settled()
        assert question.buttons == ()
        assert await store.read(lambda tx: tx.questions.open()) == []


async def test_no_more_run_in_the_background_than_are_allowed(store: Store) -> None:
    jobs = [{"goal": f"job {n}", "background": True} for n in range(5)]
    rules = [delegates(*jobs), says("{1} done", last=r"Task: (job \d)", delay=0.1), STARTED, ANSWER]
    model = CountingModel(rules, 3)
    async with gateway(store=store, model=model) as g:
        await g.chat.say("go")
        for number in range(5):
            await g.hears(f"job {number} done")
        assert model.most["worker"] == 3


async def test_a_batch_may_be_partly_in_the_background(store: Store) -> None:
    batch = {"tasks": [{"goal": "now"}, {"goal": "later", "background": True}]}
    rules = [
        delegates(batch),
        says("{1} done", last=r"Task: (\w+)"),
        ANSWER,
    ]
    async with gateway(rules, store=store) as g:
        await g.chat.say("go")
        now, later = results_in((await g.hears("result: {")).text)
        assert (now["status"], later["status"]) == ("completed", "running")
        await g.hears("later done")
        await g.settled()


async def test_a_result_that_comes_during_a_turn_waits_for_its_end(store: Store) -> None:
    rules = [says("slow answer", tier="parent", last="^slow", delay=0.6), *in_background(0.2)]
    async with gateway(rules, store=store) as g:
        await g.chat.say("go")
        await g.hears("It is under way.")
        await g.chat.say("slow question")
        await g.hears("late result")
        texts = g.chat.texts()
        assert texts.index("slow answer") < next(
            i for i, text in enumerate(texts) if "late result" in text
        )
