"""Messages in, answers out: the whole gateway, without a platform."""

import asyncio
from typing import Any

from adapters.base import Refused, Throttled, Typing, Unavailable, Unreachable
from adapters.recording import RecordingAdapter
from storage.store import Store
from tests.flow.chatting import Flaky, SlowModel
from tests.flow.conftest import ON_BOTH, PATIENCE, gateway

pytestmark = ON_BOTH

ECHO = [{"reply": {"text": "you said: {last}"}}]


async def test_a_message_is_answered(store: Store) -> None:
    async with gateway(ECHO, store=store) as g:
        await g.chat.say("hello")
        await g.hears("you said: hello")


async def test_the_context_grows_with_the_conversation(store: Store) -> None:
    async with gateway(ECHO, store=store) as g:
        await g.chat.say("one")
        await g.hears("you said: one")
        await g.chat.say("two")
        await g.hears("you said: two")
        roles = [message["role"] for message in g.model.requests[-1].messages]
        assert roles == ["system", "user", "assistant", "user"]


async def test_the_same_update_twice_is_answered_once(store: Store) -> None:
    async with gateway(ECHO, store=store) as g:
        await g.chat.say("hello", key="telegram:1:7")
        await g.chat.say("hello", key="telegram:1:7")
        await g.hears("you said: hello")
        await g.settled()
        assert len(g.chat.texts()) == 1


async def test_conversations_do_not_mix(store: Store) -> None:
    async with gateway(ECHO, store=store) as g:
        await g.chat.say("ana's secret", chat="1", user="1")
        await g.hears("ana", chat="1")
        await g.chat.say("hi", chat="2", user="2")
        await g.hears("hi", chat="2")
        assert "secret" not in str(g.model.requests[-1].messages)


async def test_fifty_quick_messages_keep_their_order(store: Store) -> None:
    async with gateway(ECHO, store=store) as g:
        for number in range(50):
            await g.chat.say(f"message {number}")
        await g.hears("message 49")
        await g.settled()
        said = [m["content"] for m in g.model.requests[-1].messages if m["role"] == "user"]
        assert said == [f"message {number}" for number in range(50)]


async def test_queued_messages_are_each_answered_in_order(store: Store) -> None:
    async with gateway(ECHO, store=store, config={"session": {"busy": "queue"}}) as g:
        for number in range(20):
            await g.chat.say(f"message {number}")
        await g.hears("message 19")
        assert g.chat.texts() == [f"you said: message {number}" for number in range(20)]


async def test_fifty_chats_are_answered_side_by_side(store: Store) -> None:
    rules = [{"reply": {"text": "you said: {last}", "delay": 0.2}}]
    async with gateway(rules, store=store) as g:
        said = (g.chat.say(f"from {n}", chat=str(n), user=str(n)) for n in range(50))
        await asyncio.gather(*said)
        for number in range(50):
            await g.hears(f"from {number}", chat=str(number))


async def test_talk_during_a_turn_interrupts_it_and_both_are_answered(store: Store) -> None:
    rules: list[dict[str, Any]] = [
        {"when": {"last": "slow"}, "reply": {"text": "never said", "delay": 60}},
        {"reply": {"text": "answer to {last}"}},
    ]
    async with gateway(rules, store=store) as g:
        await g.chat.say("slow question")
        await g.model.called("parent")
        await g.chat.say("quick one")
        await g.hears("answer to quick one")
        contents = [m["content"] for m in g.model.requests[-1].messages[1:]]
        assert contents == ["slow question", "quick one"]
        assert g.chat.texts() == ["answer to quick one"]


async def test_in_a_group_others_do_not_interrupt(store: Store) -> None:
    rules: list[dict[str, Any]] = [
        {"when": {"last": "slow"}, "reply": {"text": "slow answer"}},
        {"reply": {"text": "answer to {last}"}},
    ]
    model = SlowModel(rules)
    async with gateway(store=store, model=model) as g:
        await g.chat.say("slow", user="2", private=False)
        await model.began.wait()
        await g.chat.say("mine", user="3", private=False)
        model.may_go_on.set()
        await g.hears("answer to [telegram:3] User 3: mine")
        assert g.chat.texts()[0] == "slow answer"


async def test_steered_talk_reaches_the_running_turn(store: Store) -> None:
    think = {"tool_calls": [{"name": "think", "arguments": {"thought": "hm"}}]}
    rules: list[dict[str, Any]] = [
        {"when": {"last": "slow"}, "reply": think},
        {"reply": {"text": "answer to {last}"}},
    ]
    model = SlowModel(rules)
    async with gateway(store=store, model=model, config={"session": {"busy": "steer"}}) as g:
        await g.chat.say("slowly")
        await model.began.wait()
        await g.chat.say("turn left")
        model.may_go_on.set()
        await g.hears("answer to turn left")
        assert len(g.model.requests) == 2


async def test_stop_ends_the_turn(store: Store) -> None:
    rules = [{"reply": {"text": "never said", "delay": 60}}]
    async with gateway(rules, store=store) as g:
        await g.chat.say("go on for ever")
        await g.model.called("parent")
        await g.chat.say("/stop")
        await g.hears("Stopped.")
        await g.chat.say("/stop")
        await g.hears("Nothing was running.")


async def test_new_starts_an_empty_conversation(store: Store) -> None:
    async with gateway(ECHO, store=store) as g:
        await g.chat.say("first")
        await g.hears("first")
        await g.chat.say("/new")
        await g.hears("A new conversation")
        await g.chat.say("second")
        await g.hears("second")
        assert [m["content"] for m in g.model.requests[-1].messages[1:]] == ["second"]


async def test_a_stranger_starts_nothing_and_is_told_once(store: Store) -> None:
    async with gateway(ECHO, store=store, config={"access": {"allow": ["telegram:1"]}}) as g:
        for text in ("let me in", "/help", "please"):
            await g.chat.say(text, chat="9", user="9")
        await g.hears("telegram:9", chat="9")
        await g.settled()
        assert len(g.chat.texts("9")) == 1
        assert g.model.requests == []
        assert await store.read(lambda tx: tx.directory.conversation("telegram:9")) is None


async def test_a_stranger_in_a_group_hears_nothing(store: Store) -> None:
    async with gateway(ECHO, store=store, config={"access": {"allow": ["telegram:1"]}}) as g:
        await g.chat.say("hello bot", chat="-5", user="9", private=False)
        await g.settled()
        assert g.chat.outgoing == []


async def test_a_model_that_fails_is_said_and_the_next_message_works(store: Store) -> None:
    rules: list[dict[str, Any]] = [
        {"when": {"last": "first"}, "times": 1, "reply": {"error": "auth", "text": "bad key"}},
        {"reply": {"text": "fine"}},
    ]
    async with gateway(rules, store=store) as g:
        await g.chat.say("first")
        await g.hears("could not answer: bad key")
        await g.chat.say("second")
        await g.hears("fine")


async def test_an_empty_answer_is_asked_for_once_more_then_said(store: Store) -> None:
    async with gateway([{"reply": {"text": ""}}], store=store) as g:
        await g.chat.say("hello")
        await g.hears("could not answer")
        assert len(g.model.requests) == 2


async def test_two_hundred_tool_calls_in_a_row_end_at_the_limit(store: Store) -> None:
    rules = [{"reply": {"tool_calls": [{"name": "think", "arguments": {"thought": "x"}}]}}]
    async with gateway(rules, store=store, config={"session": {"max_iterations": 20}}) as g:
        await g.chat.say("loop")
        await g.hears("stopped after 20 steps")
        assert len(g.model.requests) == 20


async def test_bad_tool_calls_are_told_to_the_model_and_the_turn_goes_on(store: Store) -> None:
    calls = [
        {"name": "no_such_tool", "arguments": {}},
        {"name": "think", "arguments": "{broken"},
        {"name": "think", "arguments": "[1]"},
        {"name": "think", "arguments": {"thought": 5}},
    ]
    rules: list[dict[str, Any]] = [
        {"when": {"turn": 0}, "reply": {"tool_calls": calls}},
        {"reply": {"text": "I see"}},
    ]
    async with gateway(rules, store=store) as g:
        await g.chat.say("go")
        await g.hears("I see")
        results = [m["content"] for m in g.model.requests[-1].messages if m["role"] == "tool"]
        assert len(results) == 4
        assert all(result.startswith("Error: ") for result in results)


async def test_text_beside_tool_calls_is_shown_too(store: Store) -> None:
    call = {"name": "think", "arguments": {"thought": "hm"}}
    rules: list[dict[str, Any]] = [
        {"when": {"turn": 0}, "reply": {"text": "Let me see.", "tool_calls": [call]}},
        {"reply": {"text": "Done."}},
    ]
    async with gateway(rules, store=store) as g:
        await g.chat.say("go")
        await g.hears("Done.")
        assert g.chat.texts() == ["Let me see.", "Done."]


async def test_typing_is_shown_while_a_slow_turn_runs(store: Store) -> None:
    model = SlowModel([{"reply": {"text": "ok"}}])
    async with gateway(store=store, model=model) as g:
        await g.chat.say("slow")
        async with asyncio.timeout(PATIENCE):
            await g.chat.wait_for(lambda _: any(isinstance(o, Typing) for o in g.chat.outgoing))
        model.may_go_on.set()
        await g.hears("ok")


async def test_throttling_and_outages_are_waited_out(store: Store) -> None:
    chat = Flaky(Throttled(0.05), Unavailable("cut"), Unavailable("502"))
    async with gateway(ECHO, store=store, chat=chat) as g:
        await chat.say("hello")
        await g.hears("you said: hello")
        assert len({post.nonce for post in chat.tried}) == 1


async def test_a_refused_message_is_sent_without_markup(store: Store) -> None:
    chat = Flaky(Refused("can't parse entities"))
    async with gateway(ECHO, store=store, chat=chat) as g:
        await chat.say("hello")
        await g.hears("you said: hello")
        assert [post.plain for post in chat.tried] == [False, True]


async def test_what_cannot_be_delivered_is_put_aside_and_blocks_nothing(store: Store) -> None:
    chat = Flaky(Refused("no"), Refused("no"), Unreachable("blocked"))
    async with gateway(ECHO, store=store, chat=chat) as g:
        for text in ("one", "two", "three"):
            await chat.say(text)
            await g.settled()
        assert chat.texts() == ["you said: three"]
        audits = await store.read(lambda tx: tx.directory.audits("undelivered"))
        assert len(audits) == 2


async def test_a_long_answer_is_sent_in_order_and_whole(store: Store) -> None:
    long = "".join(f"line {number}\n" for number in range(3000))
    chat = RecordingAdapter(name="telegram", limit=1000)
    config = {"session": {"max_answer_messages": 100}}
    async with gateway([{"reply": {"text": long}}], store=store, chat=chat, config=config) as g:
        await chat.say("hello")
        await g.hears("line 2999")
        assert "".join(chat.texts()) == long


async def test_thoughts_are_hidden_unless_they_are_asked_for(store: Store) -> None:
    rules: list[dict[str, Any]] = [
        {
            "when": {"turn": 0},
            "reply": {"tool_calls": [{"name": "think", "arguments": {"thought": "hm, *so*"}}]},
        },
        {"reply": {"text": "Done."}},
    ]
    async with gateway(rules, store=store) as g:
        await g.chat.say("go")
        await g.hears("Done.")
        assert g.chat.texts() == ["Done."]


async def test_thoughts_are_shown_where_they_are_asked_for(store: Store) -> None:
    rules: list[dict[str, Any]] = [
        {
            "when": {"turn": 0},
            "reply": {"tool_calls": [{"name": "think", "arguments": {"thought": "hm, *so*"}}]},
        },
        {"reply": {"text": "Done."}},
    ]
    config = {"session": {"show_thoughts": True}}
    async with gateway(rules, store=store, config=config) as g:
        await g.chat.say("go")
        await g.hears("Done.")
        assert g.chat.texts()[0].startswith("💭 hm")
