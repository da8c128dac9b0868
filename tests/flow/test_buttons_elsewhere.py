"""Buttons of one conversation, pressed where another one goes on by now."""

from dataclasses import replace
from typing import Any

from adapters.events import Conversation
from storage.store import Store
from tests.flow.chatting import ECHO, GROUP, bound, command, labels, newest, press, talk
from tests.flow.conftest import gateway
from tests.flow.delegating import ASKING, asked, delegates, reports

ELSEWHERE = "from another conversation"
SUMMARY: dict[str, Any] = {
    "when": {"system": "^You condense a branch"},
    "reply": {"text": "SUMMARY of it"},
}


async def test_a_summary_of_another_conversation_is_not_brought_along(store: Store) -> None:
    async with gateway([SUMMARY, *ECHO], store=store) as g:
        await talk(g, "one")
        await talk(g, "two")
        moved = await command(g, "/branch 3")
        await command(g, "/new")
        await talk(g, "three")
        asked_before = len(g.model.requests)
        await press(g, moved, "Bring a summary along")
        assert ELSEWHERE in moved.text
        assert len(g.model.requests) == asked_before


async def test_a_retry_by_button_is_of_the_conversation_that_the_button_is_about(
    store: Store,
) -> None:
    async with gateway([SUMMARY, *ECHO], store=store) as g:
        await talk(g, "one")
        moved = await command(g, "/goto 1")
        await command(g, "/new")
        await talk(g, "two")
        asked_before = len(g.model.requests)
        await press(g, moved, "Answer it")
        assert ELSEWHERE in moved.text
        assert len(g.model.requests) == asked_before


async def test_go_there_leads_nowhere_in_another_conversation(store: Store) -> None:
    rules: list[dict[str, Any]] = [
        delegates({"goal": "look", "branch_table": ASKING}),
        reports("Gone", "match", "404"),
        {"when": {"tier": "parent", "last": "(.*)"}, "reply": {"text": "answer to {1}"}},
    ]
    async with gateway(rules, store=store) as g:
        await g.chat.say("go")
        question = await asked(g, "Lost?")
        await g.settled()
        await command(g, "/branch 1")
        await talk(g, "something else")
        await g.chat.press(question, "It is there")
        there = await g.hears('answer to {"results"')
        await g.settled()
        await command(g, "/new")
        for number in range(6):
            await talk(g, f"new {number}")
        leaf = await command(g, "/branch")
        await press(g, there, "Go there")
        assert ELSEWHERE in newest(g).text
        assert (await command(g, "/branch")).text == leaf.text


async def test_a_press_that_does_not_say_its_topic_is_in_its_buttons_topic(store: Store) -> None:
    topic = f"{GROUP}/5"
    async with gateway(ECHO, store=store) as g:
        await g.chat.say("one", chat=topic, private=False)
        await g.settled()
        await g.chat.say("/sessions", chat=topic, private=False)
        shown = await g.hears("The conversations of this chat", chat=GROUP)
        await g.settled()
        old = replace(shown, conversation=Conversation("telegram", GROUP))
        await g.chat.press(old, next(label for label in labels(shown) if label.startswith("● ")))
        await g.settled()
        assert "You are in this conversation already" in g.chat.shown[shown.id].text
        assert await bound(store, GROUP) is None


async def test_what_a_nameless_conversation_says_is_not_shown_before_it_is_taken(
    store: Store,
) -> None:
    async with gateway(ECHO, store=store) as g:
        await talk(g, "my secret", chat="2", user="2")
        session = await bound(store, "2")
        shown = await command(g, f"/open #{session}", chat=GROUP, user="2")
        assert shown.text.startswith(f"This takes conversation {session} (2 messages)")
        assert "secret" not in shown.text


async def test_where_no_branch_may_begin_a_conversation_is_opened_where_it_is(
    store: Store,
) -> None:
    config = {"session": {"max_children": 1}}
    async with gateway(ECHO, store=store, config=config) as g:
        await talk(g, "one")
        await talk(g, "two")
        session = await bound(store)
        await command(g, "/new")
        shown = await command(g, f"/open #{session} at #2")
        assert "which is the limit" in shown.text
        assert "Last words: #4" in shown.text
        assert await bound(store) == session
