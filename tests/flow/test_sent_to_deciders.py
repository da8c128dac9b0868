"""A question that the asker may not decide goes in private to those who may. The asker reads so,
and a press that is refused names who may."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from adapters.base import Acknowledge
from adapters.recording import RecordingAdapter, Shown
from storage.store import Store, Transaction
from tests.flow.approving import ASKED, Launch, launches
from tests.flow.chatting import GROUP, labels, talk
from tests.flow.conftest import Gateway, gateway
from tests.flow.delegating import asked
from tests.flow.discord_gateway import ANN as DISCORD_ANN
from tests.flow.discord_gateway import OLGA, discord_gateway
from tests.flow.telegram_gateway import ANN, ANSWER, OWNER, telegram_gateway
from tests.flow.test_approvals_on_platforms import NEEDED, tools, writes, written
from tests.stand_ins.telegram_world import words

RULES: list[dict[str, Any]] = [launches("a rocket", last="go$"), {"reply": {"text": "so be it"}}]
SENT = "Sent to User 1."


async def copies(g: Gateway) -> dict[str, Shown]:
    """By chat, once a question was asked and nothing is left to be sent."""
    await g.settled()
    shown = [one for one in g.chat.shown.values() if ASKED in one.text]
    return {one.conversation.chat: one for one in shown}


async def refused(g: Gateway) -> str:
    """What the only press was told, once it was."""
    while True:
        if told := [out.text for out in g.chat.outgoing if isinstance(out, Acknowledge)]:
            return told[0]
        await asyncio.sleep(0.01)


async def test_the_owner_hears_of_a_members_approval_in_private(store: Store) -> None:
    tool = Launch()
    async with gateway(RULES, store=store, tools=[tool]) as g:
        await talk(g, "hello")
        await g.chat.say("go", chat="2", user="2")
        both = await copies(g)
        assert sorted(both) == ["1", "2"]
        assert both["2"].text.endswith(SENT)
        assert "Sent to" not in both["1"].text
        assert "telegram:1" not in both["2"].text
        await g.chat.press(both["1"], "Once", user="1")
        await g.settled()
        assert tool.launched == ["a rocket"]
        both = await copies(g)
        assert [labels(one) for one in both.values()] == [[], []]
        assert all("User 1: Once" in one.text for one in both.values())
        assert "Sent to" not in both["2"].text


async def test_a_refused_press_names_who_may(store: Store) -> None:
    async with gateway(RULES, store=store, tools=[Launch()]) as g:
        await talk(g, "hello")
        await g.chat.say("go", chat="2", user="2")
        question = (await copies(g))["2"]
        await g.chat.press(question, "Once", user="2")
        await g.settled()
        told = await refused(g)
        assert told == "You may not decide this: User 1 may. It stays open."
        assert labels((await copies(g))["2"])


async def test_who_may_decide_is_asked_where_they_ask_and_nowhere_else(store: Store) -> None:
    async with gateway(RULES, store=store, tools=[Launch()]) as g:
        await talk(g, "hello")
        await talk(g, "hello", chat=GROUP)
        await g.chat.say("go", chat=GROUP, private=False)
        await asked(g, ASKED)
        both = await copies(g)
        assert list(both) == [GROUP]
        assert "Sent to" not in both[GROUP].text


async def test_in_a_group_it_stands_in_the_group_and_in_private(store: Store) -> None:
    tool = Launch()
    async with gateway(RULES, store=store, tools=[tool]) as g:
        await talk(g, "hello")
        await g.chat.say("go", chat=GROUP, user="2", private=False)
        both = await copies(g)
        assert sorted(both) == [GROUP, "1"]
        assert both[GROUP].text.endswith(SENT)
        await g.chat.press(both[GROUP], "Deny", user="1")
        await g.settled()
        assert [labels(one) for one in (await copies(g)).values()] == [[], []]
        assert tool.launched == []


async def test_without_a_private_chat_the_asker_reads_what_to_do(
    store: Store, caplog: pytest.LogCaptureFixture
) -> None:
    async with gateway(RULES, store=store, tools=[Launch()]) as g:
        await g.chat.say("go", chat="2", user="2")
        both = await copies(g)
        assert list(both) == ["2"]
        told = "This waits for the bot's owner. I have no private chat with them: ask them to write"
        assert f"⚠️ {told} /start to me." in both["2"].text
        assert "no private chat with telegram:1" in caplog.text


async def test_nobody_who_may_decide_is_said(store: Store) -> None:
    alone: dict[str, Any] = {"access": {"allow": ["telegram:2"], "owners": []}}
    async with gateway(RULES, store=store, tools=[Launch()], config=alone) as g:
        await g.chat.say("go", chat="2", user="2")
        assert "Nobody may decide this yet" in (await copies(g))["2"].text


async def test_where_levels_are_set_they_say_where_it_goes(store: Store) -> None:
    levels = {"escalation": {"levels": [{"to": "telegram:7"}]}}
    async with gateway(RULES, store=store, tools=[Launch()], config=levels) as g:
        await talk(g, "hello")
        await g.chat.say("go", chat="2", user="2")
        both = await copies(g)
        assert sorted(both) == ["2", "7"]
        assert "Sent to" not in both["2"].text


async def test_only_who_may_approve_calls_hears_of_one(store: Store) -> None:
    narrow = {"tools": {"approvers": ["telegram:3"]}}
    async with gateway(RULES, store=store, tools=[Launch()], config=narrow) as g:
        await talk(g, "hello")
        await talk(g, "hello", chat="3", user="3")
        await g.chat.say("go", chat="2", user="2")
        both = await copies(g)
        assert sorted(both) == ["2", "3"]
        assert both["2"].text.endswith("Sent to User 3.")


async def test_who_only_wrote_start_is_named(store: Store) -> None:
    """As the README tells approvers who are not in `allow`."""
    named = {"access": {"allow": ["telegram:2"], "approvers": ["telegram:3"]}}
    async with gateway(RULES, store=store, tools=[Launch()], config=named) as g:
        await g.chat.say("/start", chat="3", user="3")
        await g.settled()
        await g.chat.say("go", chat="2", user="2")
        both = await copies(g)
        assert both["2"].text.endswith("Sent to User 3.")
        await g.chat.press(both["2"], "Once", user="2")
        await g.settled()
        assert await refused(g) == "You may not decide this: User 3 may. It stays open."


async def test_the_names_of_many_fit_into_what_a_press_is_told(store: Store) -> None:
    people = [f"telegram:{number}" for number in range(10, 20)]
    many = {"access": {"allow": ["telegram:2"], "approvers": people}}

    def names(tx: Transaction) -> None:
        for one in people:
            tx.directory.greet(one, "Maximiliane " * 9)

    await store.run(names)
    async with gateway(RULES, store=store, tools=[Launch()], config=many) as g:
        await g.chat.say("go", chat="2", user="2")
        question = (await copies(g))["2"]
        await g.chat.press(question, "Once", user="2")
        await g.settled()
        told = await refused(g)
        assert len(told) <= 200
        assert told.startswith("You may not decide this: Maximiliane")


async def test_on_telegram_the_owner_decides_in_private(tmp_path: Path) -> None:
    rules = [writes("a"), ANSWER]
    async with telegram_gateway(tmp_path, rules, tools=tools(tmp_path)) as g:
        g.say("hello")
        await g.hears("result: hello")
        g.say("go", chat=ANN)
        theirs = await g.hears(NEEDED, chat=ANN)
        assert words(theirs).endswith("📨 Sent to Olga.")
        g.press(theirs, "Once", ANN)
        assert await g.told() == "You may not decide this: Olga may. It stays open."
        g.press(await g.hears(NEEDED), "Once", OWNER)
        await g.hears("result: Wrote", chat=ANN)
        await g.settled()
        assert written(tmp_path) == ["a"]
        assert g.telegram.labels(theirs) == []
        assert "Olga: Once" in words(theirs)


async def test_on_telegram_nobody_is_written_to_first(tmp_path: Path) -> None:
    rules = [writes("a"), ANSWER]
    async with telegram_gateway(tmp_path, rules, tools=tools(tmp_path)) as g:
        g.say("go", chat=ANN)
        theirs = await g.hears(NEEDED, chat=ANN)
        await g.settled()
        assert "I have no private chat with them" in words(theirs)
        assert g.texts(OWNER) == []
        assert str(OWNER) not in words(theirs)


async def test_on_discord_the_owner_gets_it_as_a_direct_message(tmp_path: Path) -> None:
    async with discord_gateway(tmp_path, [writes("a"), ANSWER], tools=tools(tmp_path)) as g:
        g.tells("hello")
        await g.reads("result: hello", g.home)
        g.mentions("go", DISCORD_ANN)
        theirs = await g.reads(NEEDED, g.discord.general)
        assert theirs["content"].endswith("📨 Sent to olga.")
        g.discord.press(theirs, "Once", DISCORD_ANN)
        assert await g.whispered() == "You may not decide this: olga may. It stays open."
        own = await g.reads(NEEDED, g.home)
        g.discord.press(own, "Once", OLGA)
        await g.reads("result: Wrote", g.discord.general)
        await g.settled()
        assert written(tmp_path) == ["a"]
        assert g.discord.buttons(theirs) == {}


async def test_who_sits_at_the_terminal_decides_there(store: Store) -> None:
    tool, chat = Launch(), RecordingAdapter(name="terminal")
    async with gateway(RULES, store=store, tools=[tool], chat=chat) as g:
        await g.chat.say("go", chat="local", user="local")
        question = await asked(g, ASKED)
        assert "Sent to" not in question.text
        assert "private chat" not in question.text
        await g.chat.press(question, "Once", user="local")
        await g.settled()
        assert tool.launched == ["a rocket"]


async def test_an_approver_at_the_terminal_hears_nothing_of_telegram_where_it_is_not(
    store: Store,
) -> None:
    """The terminal is another process: the asker reads whom to turn to."""
    lists = {"access": {"allow": ["telegram:2"], "approvers": ["terminal:local"]}}
    async with gateway(RULES, store=store, tools=[Launch()], config=lists) as g:
        await g.chat.say("go", chat="2", user="2")
        both = await copies(g)
        assert list(both) == ["2"]
        assert "I have no private chat with them" in both["2"].text
