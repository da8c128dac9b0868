"""/agents: what children do, said; stopped and paused by button; read again afterwards."""

import asyncio
from typing import Any

import pytest

from adapters.base import Acknowledge, Edit, Post
from gateway.status import progress
from storage.store import Store
from tests.flow.chatting import SlowModel, command
from tests.flow.conftest import PATIENCE, Gateway, gateway
from tests.flow.delegating import HeldModel

SLOW = {
    "when": {"tier": "worker"},
    "reply": {"text": "worked for long", "delay": 60},
}
DONE = {"when": {"tier": "parent"}, "reply": {"text": "result: {last}"}}


def delegate(*goals: str) -> dict[str, Any]:
    calls = [{"name": "delegate_task", "arguments": {"goal": goal}} for goal in goals]
    return {"when": {"tier": "parent", "last": "^go"}, "reply": {"tool_calls": calls}}


async def running(g: Gateway, count: int = 1) -> None:
    while len(g.model.of("worker")) < count:
        await asyncio.sleep(0.01)


async def test_a_child_is_stopped_by_button_and_its_sibling_goes_on(store: Store) -> None:
    quick = {"when": {"tier": "worker", "last": "Task: one"}, "reply": {"text": "x", "delay": 60}}
    other = {"when": {"tier": "worker"}, "reply": {"text": "two is done"}}
    model = HeldModel([delegate("one", "two"), quick, other, DONE], "two")
    async with gateway(store=store, model=model) as g:
        await g.chat.say("go")
        await running(g, 2)
        await g.chat.say("/agents")
        shown = await g.hears("now: model")
        rows = {button.label for button in shown.buttons}
        assert rows == {"Pause agent 1", "Stop agent 1", "Pause agent 2", "Stop agent 2"}
        await g.chat.press(shown, "Stop agent 1")
        model.gates["two"].set()
        await g.hears("result: ")
        results = str(g.model.of("parent")[-1].messages)
        assert "interrupted" in results
        assert "two is done" in results
        async with asyncio.timeout(PATIENCE):
            await g.chat.wait_for(lambda _: shown.buttons == ())


async def test_a_paused_child_makes_no_model_call_until_it_is_resumed(store: Store) -> None:
    think = {"tool_calls": [{"name": "think", "arguments": {"thought": "hm"}}]}
    first = {"when": {"tier": "worker", "turn": 0}, "reply": think}
    then = {"when": {"tier": "worker"}, "reply": {"text": "worked"}}
    model = SlowModel([delegate("slow one"), first, then, DONE])
    async with gateway(store=store, model=model) as g:
        await g.chat.say("go")
        await model.began.wait()
        await g.chat.say("/agents")
        await g.chat.press(await g.hears("now: model"), "Pause agent 1")
        (child,) = g.app.router.context.active.values()
        async with asyncio.timeout(PATIENCE):
            while not child.paused:
                await asyncio.sleep(0.01)
        model.may_go_on.set()
        while not child.calls:
            await asyncio.sleep(0.01)
        await g.chat.say("/agents")
        again = await g.hears("paused")
        assert len(g.model.of("worker")) == 1
        await g.chat.press(again, "Resume agent 1")
        await g.hears("worked")


async def test_only_who_asked_or_an_owner_may_stop_a_child(store: Store) -> None:
    async with gateway([delegate("one"), SLOW, DONE], store=store) as g:
        await g.chat.say("go", user="2")
        await running(g)
        await g.chat.say("/agents", user="2")
        shown = await g.hears("now: model")
        await g.chat.press(shown, "Stop agent 1", user="3")
        assert g.app.router.context.active
        await g.chat.press(shown, "Stop agent 1", user="1")
        await g.hears("interrupted")
        while not (told := [o.text for o in g.chat.outgoing if isinstance(o, Acknowledge)]):
            await asyncio.sleep(0.01)
        assert told[0].startswith("You may not decide")


async def test_a_task_is_listed_without_markup(store: Store) -> None:
    async with gateway([delegate("**Look** at `it`"), DONE], store=store) as g:
        await g.chat.say("go")
        await g.settled()
        listed = (await command(g, "/agents")).text
        assert "Look at it" in listed


async def test_controls_are_no_questions_for_people_to_decide(store: Store) -> None:
    async with gateway([delegate("one"), SLOW, DONE], store=store) as g:
        await g.chat.say("go")
        await running(g)
        await g.chat.say("/agents")
        await g.hears("now: model")
        await g.chat.say("/questions")
        await g.hears("No question is open.")
        await g.chat.say("/stop")
        await g.hears("Stopped.")


async def test_a_number_shows_what_its_children_said(store: Store) -> None:
    think = {"tool_calls": [{"name": "think", "arguments": {"thought": "first this"}}]}
    rules: list[dict[str, Any]] = [
        delegate("one"),
        {"when": {"tier": "worker", "turn": 0}, "reply": think},
        {"when": {"tier": "worker"}, "reply": {"text": "worked well"}},
        DONE,
    ]
    async with gateway(rules, store=store) as g:
        await g.chat.say("go")
        await g.hears("result: ")
        await g.chat.say("/agents 1")
        shown = await g.hears("worker 1")
        assert "first this" in shown.text
        assert "worked well" in shown.text
        await g.chat.say("/agents 99")
        await g.hears("no delegation 99")
        await g.chat.say(f"/agents {'7' * 5_000}")
        await g.hears("no delegation 777")
        await g.chat.say(f"/agents 1 {'7' * 5_000}")
        await g.hears("worker 1", count=2)


async def test_a_long_transcript_has_pages(store: Store) -> None:
    thoughts = [
        {
            "when": {"tier": "worker", "turn": turn},
            "reply": {
                "tool_calls": [
                    {"name": "think", "arguments": {"thought": f"thought {turn}: {'x' * 500}"}}
                ]
            },
        }
        for turn in range(6)
    ]
    done = {"when": {"tier": "worker"}, "reply": {"text": "worked well"}}
    async with gateway([delegate("one"), *thoughts, done, DONE], store=store) as g:
        await g.chat.say("go")
        await g.hears("result: ")
        await g.chat.say("/agents 1")
        shown = await g.hears("Page 1 of")
        seen = shown.text
        page = 1
        while "worked well" not in shown.text:
            await g.chat.press(shown, "Next ▶")
            page += 1
            assert (await g.hears(f"Page {page} of")) is shown
            assert len(shown.text) < 4_000
            seen += shown.text
        assert [button.label for button in shown.buttons] == ["◀ Back"]
        assert all(f"thought {turn}: " in seen for turn in range(6))


async def test_a_child_that_waits_for_its_turn_is_queued(store: Store) -> None:
    config = {"delegation": {"max_concurrent_children": 1}}
    async with gateway([delegate("one", "two"), SLOW, DONE], store=store, config=config) as g:
        await g.chat.say("go")
        await running(g)
        await g.chat.say("/agents")
        shown = await g.hears("now: model")
        assert "queued" in shown.text
        labels = [button.label for button in shown.buttons]
        assert labels == ["Pause agent 1", "Stop agent 1", "Stop agent 2"]


async def test_progress_is_one_message_that_is_edited(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(progress, "AFTER", 0.1)
    monkeypatch.setattr(progress, "EVERY", 0.1)
    think = {"tool_calls": [{"name": "think", "arguments": {"thought": "hm"}}], "delay": 0.4}
    rules: list[dict[str, Any]] = [
        delegate("one"),
        {"when": {"tier": "worker", "turn": 0}, "reply": think},
        {"when": {"tier": "worker"}, "reply": {"text": "worked", "delay": 1.2}},
        DONE,
    ]
    async with gateway(rules, store=store) as g:
        await g.chat.say("go")
        await g.hears("result: ")
        await g.settled()
        posts = [o.body["text"] for o in g.chat.outgoing if isinstance(o, Post)]
        edits = [o for o in g.chat.outgoing if isinstance(o, Edit)]
        assert len([text for text in posts if text.startswith("⏳")]) == 1
        assert len({edit.message_id for edit in edits}) == 1
        assert edits[-1].body["text"].startswith("✔")
