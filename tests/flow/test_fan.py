"""/fan: several answers side by side, to choose from."""

import asyncio
from collections.abc import Callable
from typing import Any

from storage.records.entries import Entry
from storage.records.record_entries import Failed, held_in
from storage.sql.store import SqlStore
from storage.store import Store
from tests.flow.alternatives import contents, is_told, labels, path, talk
from tests.flow.conftest import ON_BOTH, PATIENCE, Gateway, gateway
from tests.flow.walking import session_of

pytestmark = ON_BOTH

MODELS: dict[str, Any] = {
    "models": {
        "parent": {"model": "scripted:parent", "input_cost": 0.0, "output_cost": 1.0},
        "presets": {
            "cheap": {"model": "scripted:cheap", "input_cost": 0.0, "output_cost": 0.5},
            "dear": {"model": "scripted:dear"},
        },
    }
}


def by(model: str, text: str, **reply: Any) -> dict[str, Any]:
    return {"when": {"tier": model}, "reply": {"text": text, **reply}}


PLAIN = [by("parent", "plain"), by("cheap", "cheaply"), by("dear", "dearly")]
CLOSING = "The conversation goes on with"


async def cut_after(g: Gateway, store: Store, done: Callable[[Entry], object]) -> None:
    """Returns once the dear arm is asked and the cheap one has ended, which `done` tells."""
    await g.model.called("dear")
    session = await session_of(store)
    async with asyncio.timeout(PATIENCE):
        while not any(map(done, await store.read(lambda tx: tx.tree.entries(session)))):
            await asyncio.sleep(0.01)


async def test_each_arm_answers_the_same_message_and_the_first_is_gone_on_with(
    store: Store,
) -> None:
    async with gateway(PLAIN, store=store, config=MODELS) as g:
        await talk(g, "hello", "plain")
        closing = await talk(g, "/fan 3 parent cheap dear", CLOSING)
        assert g.chat.texts()[1:] == [
            "Asking for 3 answers side by side…",
            "**1/3 · parent**\n\nplain",
            "**2/3 · cheap**\n\ncheaply",
            "**3/3 · dear**\n\ndearly",
            "The conversation goes on with 1/3 · parent. Choose another, or just go on.",
        ]
        assert labels(closing) == ["Go on with 1", "Go on with 2", "Go on with 3"]
        fanned = g.model.requests[1:]
        assert sorted(request.spec.name for request in fanned) == ["cheap", "dear", "parent"]
        assert all([m["content"] for m in r.messages[1:]] == ["hello"] for r in fanned)
        assert await path(store) == ["hello", "plain"]


async def test_a_button_goes_on_with_another_answer(store: Store) -> None:
    async with gateway(PLAIN, store=store, config=MODELS) as g:
        await talk(g, "hello", "plain")
        closing = await talk(g, "/fan 2 parent cheap", CLOSING)
        buttons = closing.buttons
        await g.chat.press(closing, "Go on with 2")
        await g.settled()
        assert (closing.text, closing.buttons) == ("Going on with 2/2 · cheap.", ())
        await g.chat.say("more")
        await g.hears("plain", count=3)
        assert contents(g) == ["hello", "cheaply", "more"]
        closing.buttons = buttons
        await g.chat.press(closing, "Go on with 1", user="2")
        await is_told(g, "Already done. User 1: Go on with 2")


async def test_without_models_the_parents_is_asked_and_models_go_round(store: Store) -> None:
    async with gateway(PLAIN, store=store, config=MODELS) as g:
        await talk(g, "hello", "plain")
        await talk(g, "/fan 2", CLOSING)
        assert [r.spec.name for r in g.model.requests] == ["parent"] * 3
        await talk(g, "/fan 3 cheap dear", "3/3 · cheap")


async def test_an_arm_that_fails_says_how_and_the_others_stand(store: Store) -> None:
    broken = {"when": {"tier": "parent"}, "reply": {"error": "auth", "text": "bad *key*"}}
    rules = [{**by("parent", "plain"), "times": 1}, broken, *PLAIN[1:]]
    async with gateway(rules, store=store, config=MODELS) as g:
        await talk(g, "hello", "plain")
        closing = await talk(g, "/fan 3 parent cheap dear", CLOSING)
        assert "**1/3 · parent**\n\n⚠️ No answer: bad \\*key\\*" in g.chat.texts()
        assert labels(closing) == ["Go on with 2", "Go on with 3"]
        assert [button.beside for button in closing.buttons] == [False, True]
        assert await path(store) == ["hello", "cheaply"]


async def test_where_all_fail_the_conversation_stays(store: Store) -> None:
    rules = [{**by("parent", "plain"), "times": 1}, {"reply": {"error": "auth", "text": "no"}}]
    async with gateway(rules, store=store, config=MODELS) as g:
        await talk(g, "hello", "plain")
        closing = await talk(g, "/fan 2", "None of them answered")
        assert labels(closing) == []
        assert await path(store) == ["hello", "plain"]


async def test_what_cannot_be_asked_is_told(store: Store) -> None:
    async with gateway(PLAIN, store=store, config=MODELS) as g:
        await talk(g, "/fan 2", "Nothing was said here yet")
        await talk(g, "hello", "plain")
        wrong = ["", "1", "6", "x", "-2", "2 cheap cheap cheap", "٣"]
        for count, argument in enumerate(wrong, start=1):
            await g.chat.say(f"/fan {argument}")
            await g.hears("Say how many answers, from 2 to 5", count=count)
        await talk(g, "/fan 2 nobody", "There is no model nobody. There are: parent")
        assert len(g.model.requests) == 1


async def test_each_arm_is_paid_for(store: Store) -> None:
    usage = {"input": 1, "output": 2}
    rules = [by("parent", "plain", usage=usage), by("cheap", "cheaply", usage=usage)]
    async with gateway(rules, store=store, config=MODELS) as g:
        await talk(g, "hello", "plain")
        await talk(g, "/fan 2 parent cheap", CLOSING)
        spent = await store.read(lambda tx: tx.ledger.total(since=0, person="telegram:1"))
        assert (spent.calls, spent.output) == (3, 6)
        assert spent.cost == 2.0 + 2.0 + 1.0


async def test_arms_have_no_tools_with_effects(store: Store) -> None:
    config = {**MODELS, "tools": {"toolsets": ["file"]}}
    async with gateway(PLAIN, store=store, config=config) as g:
        await talk(g, "hello", "plain")
        await talk(g, "/fan 2", CLOSING)
        offered = [
            {tool["function"]["name"] for tool in request.tools} for request in g.model.requests
        ]
        assert {"delegate_task", "write_file"} <= offered[0]
        git = {"git_status", "git_diff", "git_log"}
        assert offered[1] == {"think", "read_file", "list_files", "search_files", *git}


async def test_talk_during_a_fan_ends_it_and_is_answered(store: Store) -> None:
    rules = [by("parent", "plain"), by("cheap", "never said", delay=60)]
    async with gateway(rules, store=store, config=MODELS) as g:
        await talk(g, "hello", "plain")
        await g.chat.say("/fan 2 cheap")
        await g.model.called("cheap")
        await g.chat.say("never mind")
        await g.hears("plain", count=2)
        await g.settled()
        assert contents(g) == ["hello", "plain", "never mind"]
        assert not any("never said" in text for text in g.chat.texts())
        assert await store.read(lambda tx: tx.inbox.unfinished()) == []


async def test_stop_ends_a_fan(store: Store) -> None:
    rules = [by("parent", "plain"), by("cheap", "never said", delay=60)]
    async with gateway(rules, store=store, config=MODELS) as g:
        await talk(g, "hello", "plain")
        await g.chat.say("/fan 2 cheap")
        await g.model.called("cheap")
        await talk(g, "/stop", "Stopped.")
        await talk(g, "go on", "plain")
        assert contents(g) == ["hello", "plain", "go on"]


async def test_a_fan_goes_on_after_a_restart_and_asks_nothing_twice(
    store: Store, database: str
) -> None:
    slow = [*PLAIN[:2], by("dear", "dearly", delay=60)]
    async with gateway(slow, store=store, config=MODELS) as g:
        await talk(g, "hello", "plain")
        await g.chat.say("/fan 2 cheap dear")
        await cut_after(g, store, lambda entry: entry.body.get("content") == "cheaply")
    async with gateway(PLAIN, store=await SqlStore.open(database), config=MODELS) as g:
        await g.hears(CLOSING)
        assert [request.spec.name for request in g.model.requests] == ["dear"]
        assert [text.split("\n")[0] for text in g.chat.texts()][:2] == [
            "**1/2 · cheap**",
            "**2/2 · dear**",
        ]


async def test_an_arm_that_failed_stays_failed_after_a_restart(store: Store, database: str) -> None:
    broken = {"when": {"tier": "cheap"}, "reply": {"error": "auth", "text": "no key"}}
    slow = [PLAIN[0], broken, by("dear", "dearly", delay=60)]
    async with gateway(slow, store=store, config=MODELS) as g:
        await talk(g, "hello", "plain")
        await g.chat.say("/fan 2 cheap dear")
        await cut_after(g, store, lambda entry: held_in(entry, Failed))
    async with gateway(PLAIN, store=await SqlStore.open(database), config=MODELS) as g:
        await g.hears("the only answer")
        assert "**1/2 · cheap**\n\n⚠️ No answer: no key" in g.chat.texts()


async def test_arms_think_and_read_on_their_own_branches(store: Store) -> None:
    think = {"tool_calls": [{"name": "think", "arguments": {"thought": "hm"}}]}
    rules: list[dict[str, Any]] = [
        {"times": 1, "reply": {"text": "plain"}},
        {"when": {"turn": 0}, "reply": think},
        {"reply": {"text": "thought of"}},
    ]
    async with gateway(rules, store=store, config=MODELS) as g:
        await talk(g, "hello", "plain")
        await talk(g, "/fan 3", CLOSING)
        texts = [text for text in g.chat.texts() if text.endswith("thought of")]
        assert len(texts) == 3


async def test_arrows_lead_through_the_arms_too(store: Store) -> None:
    async with gateway(PLAIN, store=store, config=MODELS) as g:
        await talk(g, "hello", "plain")
        await talk(g, "/fan 2 cheap dear", CLOSING)
        await g.chat.say("/retry dear")
        shown = await g.hears("dearly", count=2)
        await g.settled()
        assert labels(shown) == ["◀", "4/4", "▶"]
        await g.chat.press(shown, "◀")
        await g.settled()
        assert (shown.text, labels(shown)) == ("dearly", ["◀", "3/4", "▶"])
        await g.chat.press(shown, "◀")
        await g.settled()
        assert (shown.text, labels(shown)) == ("cheaply", ["◀", "2/4", "▶"])
        assert await path(store) == ["hello", "cheaply"]


async def test_the_records_of_a_fan_are_not_shown_to_a_model(store: Store) -> None:
    async with gateway(PLAIN, store=store, config=MODELS) as g:
        await talk(g, "hello", "plain")
        await talk(g, "/fan 2 cheap dear", CLOSING)
        await g.chat.say("more")
        await g.hears("plain", count=2)
        assert contents(g) == ["hello", "cheaply", "more"]
