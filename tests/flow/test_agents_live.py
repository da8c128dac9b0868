"""/agents is kept up to date in place while children run."""

import asyncio
from itertools import pairwise
from typing import Any

import pytest

from adapters.base import Edit, Outgoing, Post, Refused, Throttled, Unavailable
from adapters.recording import RecordingAdapter, Shown
from gateway.status import agents_panel, child_control, progress
from storage.sql.store import SqlStore
from storage.store import Store
from tests.flow.conftest import PATIENCE, Gateway, gateway
from tests.flow.delegating import ANSWER, HeldModel, calls, delegates, says

THINK = calls("think", {"thought": "hm"}, turn=0)
SLOW = [delegates({"goal": "one"}), says("never", delay=60), ANSWER]


@pytest.fixture(autouse=True)
def often(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(agents_panel, "EVERY", 0.05)


async def until(g: Gateway, shown: Shown, text: str, *labels: str) -> None:
    """Returns once a message shows this text and exactly these buttons."""

    def so(_: list[Shown]) -> bool:
        return text in shown.text and tuple(b.label for b in shown.buttons) == labels

    async with asyncio.timeout(PATIENCE):
        await g.chat.wait_for(so)


async def over(g: Gateway) -> None:
    """Returns once nothing is kept up to date any more."""
    async with asyncio.timeout(PATIENCE):
        while g.app.router.context.panel.shows("telegram:1"):
            await asyncio.sleep(0.01)


async def begun(g: Gateway, count: int = 1) -> Shown:
    """The message of /agents, while so many children run."""
    await g.chat.say("go")
    await g.model.called("worker", count)
    await g.chat.say("/agents")
    return await g.hears("now: model")


def edits_of(g: Gateway, shown: Shown) -> list[Edit]:
    return [one for one in g.chat.outgoing if isinstance(one, Edit) and one.message_id == shown.id]


async def test_its_message_follows_the_children_to_their_end(store: Store) -> None:
    rules = [
        delegates({"goal": "one"}, {"goal": "two"}),
        says("one is done", last="Task: one"),
        says("two is done"),
        ANSWER,
    ]
    model = HeldModel(rules, "one", "two")
    async with gateway(store=store, model=model) as g:
        shown = await begun(g, 2)
        model.gates["one"].set()
        await until(g, shown, "completed", "Pause agent 2", "Stop agent 2")
        model.gates["two"].set()
        await until(g, shown, "completed")
        assert "running" not in shown.text
        assert shown.text.count("completed") == 2
        await over(g)
        edits = edits_of(g, shown)
        assert all(edit.fleeting for edit in edits)
        looks = [(edit.body["text"], edit.buttons) for edit in edits]
        assert all(now != then for now, then in pairwise(looks))
        agents = [o for o in g.chat.outgoing if isinstance(o, Post) and "#1" in o.body["text"]]
        assert len([post for post in agents if post.buttons]) == 1
        assert await store.read(lambda tx: tx.buttons.temporary()) == []


async def test_it_is_followed_even_where_its_posting_takes_longer_than_a_look(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(agents_panel, "EVERY", 0.0)
    async with gateway(SLOW, store=store) as g:
        shown = await begun(g)
        await g.chat.press(shown, "Pause agent 1")
        await until(g, shown, "paused", "Resume agent 1", "Stop agent 1")


async def test_its_buttons_act_again_and_again(store: Store) -> None:
    async with gateway(SLOW, store=store) as g:
        shown = await begun(g)
        pause = shown.buttons[0]
        await g.chat.press(shown, "Pause agent 1")
        await until(g, shown, "paused", "Resume agent 1", "Stop agent 1")
        await g.chat.press(shown, "Resume agent 1")
        await until(g, shown, "running", "Pause agent 1", "Stop agent 1")
        assert shown.buttons[0] == pause
        await g.chat.press(shown, "Pause agent 1")
        await until(g, shown, "paused", "Resume agent 1", "Stop agent 1")
        await g.chat.press(shown, "Stop agent 1")
        await until(g, shown, "interrupted")
        controls = await store.read(lambda tx: tx.directory.audits("control"))
        assert [details["choice"] for _, _, details, _ in controls] == [
            "pause:1",
            "resume:1",
            "pause:1",
            "stop:1",
        ]


async def test_a_button_of_a_message_that_is_over_does_nothing_and_says_so(store: Store) -> None:
    async with gateway(SLOW, store=store) as g:
        shown = await begun(g)
        old = Shown(shown.id, shown.conversation, shown.text, shown.buttons)
        await g.chat.say("/stop")
        await until(g, shown, "interrupted")
        await over(g)
        await g.chat.press(old, "Stop agent 1")
        async with asyncio.timeout(PATIENCE):
            while not any("do nothing" in getattr(o, "text", "") for o in g.chat.outgoing):
                await asyncio.sleep(0.01)


async def test_a_newer_one_takes_over(store: Store) -> None:
    async with gateway(SLOW, store=store) as g:
        first = await begun(g)
        await g.chat.say("/agents")
        second = await g.hears("now: model", count=2)
        await until(g, first, "not kept up to date")
        assert second.id != first.id
        await g.chat.press(second, "Pause agent 1")
        await until(g, second, "paused", "Resume agent 1", "Stop agent 1")
        assert "paused" not in first.text


async def test_after_so_long_it_is_left_as_it_is(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(agents_panel, "LONGEST", 1.0)
    async with gateway(SLOW, store=store) as g:
        shown = await begun(g)
        await until(g, shown, "not kept up to date")
        await over(g)
        assert g.app.router.context.active


async def test_progress_is_silent_while_it_is_kept_up_to_date(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(progress, "AFTER", 0.05)
    monkeypatch.setattr(progress, "EVERY", 0.05)
    rules = [delegates({"goal": "one"}), THINK, says("done", delay=1), ANSWER]
    rules[1]["reply"]["delay"] = 0.5
    model = HeldModel(rules, "one")
    async with gateway(store=store, model=model) as g:
        await g.chat.say("go")
        telling = await g.hears("⏳")
        await g.chat.say("/agents")
        shown = await g.hears("now: model")
        before = len(edits_of(g, telling))
        model.gates["one"].set()
        await until(g, shown, "completed")
        assert len(edits_of(g, telling)) - before <= 1
        await until(g, telling, "✔ Done")


async def test_after_a_restart_it_stays_as_it_is_and_its_buttons_act(database: str) -> None:
    chat = RecordingAdapter(name="telegram")
    async with gateway(SLOW, store=await SqlStore.open(database), chat=chat) as g:
        shown = await begun(g)
    text, buttons = shown.text, shown.buttons
    async with gateway(SLOW, store=await SqlStore.open(database), chat=chat) as g:
        await g.model.called("worker")
        assert (shown.text, shown.buttons) == (text, buttons)
        assert not g.app.router.context.panel.shows("telegram:1")
        await g.chat.press(shown, "Stop agent 1")
        await g.hears("result: ")
        assert (shown.text, shown.buttons) == (text, buttons)


async def test_after_a_restart_its_buttons_go_when_their_time_is_over(
    database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    chat = RecordingAdapter(name="telegram")
    monkeypatch.setattr(child_control, "VALID_FOR", 0.0)
    monkeypatch.setattr(agents_panel, "EVERY", 60)
    async with gateway(SLOW, store=await SqlStore.open(database), chat=chat) as g:
        await g.chat.say("go")
        await g.model.called("worker", 1)
        await g.chat.say("/agents")
        shown = await g.hears("running")
        old = Shown(shown.id, shown.conversation, shown.text, shown.buttons)
    async with gateway(SLOW, store=await SqlStore.open(database), chat=chat) as g:
        await until(g, shown, child_control.OVER)
        await g.chat.press(old, "Stop agent 1")
        async with asyncio.timeout(PATIENCE):
            while child_control.OVER not in [getattr(o, "text", "") for o in g.chat.outgoing]:
                await asyncio.sleep(0.01)
        assert g.app.router.context.active


def failing(*errors: Exception) -> RecordingAdapter:
    """Edits fail with these, one after the other."""
    left = list(errors)

    def before(outgoing: Outgoing) -> None:
        if isinstance(outgoing, Edit) and left:
            raise left.pop(0)

    return RecordingAdapter(name="telegram", before_delivery=before)


async def test_an_edit_that_fails_is_made_up_for_by_the_next(store: Store) -> None:
    chat = failing(Throttled(0.05), Unavailable("gone for a moment"))
    async with gateway(SLOW, store=store, chat=chat) as g:
        shown = await begun(g)
        await g.chat.press(shown, "Pause agent 1")
        await until(g, shown, "paused", "Resume agent 1", "Stop agent 1")


async def test_a_message_that_the_platform_will_not_edit_is_left_alone(store: Store) -> None:
    async with gateway(SLOW, store=store, chat=failing(Refused("message not found"))) as g:
        shown = await begun(g)
        await g.chat.press(shown, "Pause agent 1")
        await over(g)
        assert edits_of(g, shown) == []
        await g.chat.press(shown, "Stop agent 1")
        await g.hears("interrupted")


async def test_one_that_runs_is_shown_however_many_came_after_it(store: Store) -> None:
    rules = [
        delegates({"goal": "the slow one", "background": True}, last="^first"),
        delegates({"tasks": [{"goal": f"quick {n}"} for n in range(25)]}),
        says("never", last="Task: the slow one", delay=60),
        says("quick work"),
        ANSWER,
    ]
    config = {"delegation": {"max_concurrent_children": 25}}
    async with gateway(rules, store=store, config=config) as g:
        await g.chat.say("first")
        await g.model.called("worker")
        await g.hears("result: ")
        await g.chat.say("go")
        await g.hears("result: ", count=2)
        await g.chat.say("/agents")
        shown = await g.hears("now: model")
        assert "the slow one" in shown.text
        await g.chat.press(shown, "Stop agent 1")
        await until(g, shown, "completed")
        assert (await store.read(lambda tx: tx.delegations.get(1))).state == "interrupted"


async def test_many_children_fit_into_one_message_with_as_many_buttons_as_it_takes(
    store: Store,
) -> None:
    many = [{"goal": f"{number}: {'x' * 80}"} for number in range(20)]
    rules: list[dict[str, Any]] = [delegates(*many), *SLOW[1:]]
    config = {"delegation": {"max_concurrent_children": 20, "max_calls_per_reply": 20}}
    async with gateway(rules, store=store, config=config) as g:
        shown = await begun(g, 20)
        assert len(shown.buttons) == 24
        assert len(shown.text) < 1_700
        assert "more" in shown.text
        assert len(await store.read(lambda tx: tx.buttons.temporary())) == 24
