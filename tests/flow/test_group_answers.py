"""What of a group's talk is answered, and where: all of it, or each question in its own thread."""

import time
from pathlib import Path

from storage.records.chats.people import RightDraft, Role
from storage.records.inbox_outbox import Thread
from tests.flow.discord_gateway import ANN, GONE, MALLORY, OLGA, DiscordGateway, discord_gateway
from tests.flow.on_discord import slash
from tests.flow.telegram_gateway import ANN as TELEGRAM_ANN
from tests.flow.telegram_gateway import OWNER, STRANGER, says, telegram_gateway
from tests.stand_ins.discord_rest import Fail
from tests.stand_ins.discord_world import Channel, Json

ECHO = [says("parent", "you said: {last}")]
GROUP = -500
DAY = 86_400


def asks(g: DiscordGateway, answer: str, **more: object) -> None:
    g.config["chats"] = {f"discord:{g.discord.general.id}": {"answer": answer, **more}}
    g.discord.world.message_content = True


async def opened(g: DiscordGateway, question: Json) -> Channel:
    """The thread on a message, once it is there."""
    number = int(question["id"])
    await g.discord.wait_for(lambda: number in g.discord.world.channels)
    return g.discord.world.channels[number]


async def test_in_a_telegram_group_all_talk_of_known_people_is_answered(tmp_path: Path) -> None:
    chats = {f"telegram:{GROUP}": {"answer": "all"}}
    async with telegram_gateway(tmp_path, ECHO, chats=chats) as g:
        g.say("what is for lunch?", chat=GROUP, user=OWNER)
        await g.hears("you said: [telegram:1001] Olga: what is for lunch?", chat=GROUP)
        theirs = g.say("and who pays?", chat=GROUP, user=TELEGRAM_ANN)
        await g.hears("[telegram:1002] Ann: and who pays?", chat=GROUP)
        g.say("let me in", chat=GROUP, user=STRANGER)
        g.say("you do", chat=GROUP, user=OWNER, reply_to=theirs["message"])
        g.say("@somebody hello", chat=GROUP, user=OWNER)
        g.say("among us", chat=GROUP - 1, user=OWNER)
        g.say("thank you", chat=GROUP, user=OWNER)
        await g.hears("thank you", chat=GROUP)
        assert (len(g.texts(GROUP)), g.texts(GROUP - 1)) == (3, [])
        kept = await g.read(lambda tx: tx.directory.audits("stranger"))
        assert kept == []


async def test_whom_a_message_replies_to_is_told_to_the_model(tmp_path: Path) -> None:
    async with telegram_gateway(tmp_path, ECHO) as g:
        theirs = g.say("we meet at noon", chat=GROUP, user=TELEGRAM_ANN)
        g.say("@bough_bot is that so?", chat=GROUP, user=OWNER, reply_to=theirs["message"])
        await g.hears("is that so?", chat=GROUP)
        asked = g.models.requests[-1].body["messages"][-1]["content"]
        assert "In reply to Ann:\n> we meet at noon" in asked


async def test_in_a_discord_channel_all_talk_of_known_people_is_answered(tmp_path: Path) -> None:
    async with discord_gateway(tmp_path, ECHO, started=False) as g:
        asks(g, "all")
        await g.start()
        place, other = g.discord.general, g.discord.world.channel("other")
        g.discord.say(place, ANN, "what is for lunch?")
        await g.reads("lunch?", place)
        g.discord.say(place, MALLORY, "let me in")
        g.discord.say(other, ANN, "among us")
        g.discord.say(place, OLGA, "soup")
        await g.reads("olga: soup", place)
        await g.settled()
        assert (len(g.said(place)), g.said(other)) == (2, [])


async def test_without_the_intent_only_what_is_addressed_is_answered(tmp_path: Path) -> None:
    async with discord_gateway(tmp_path, ECHO, started=False) as g:
        asks(g, "all")
        g.discord.world.message_content = False
        await g.start()
        g.discord.say(g.discord.general, ANN, "what is for lunch?")
        g.mentions("hello", ANN)
        await g.reads("hello", g.discord.general)
        assert len(g.said(g.discord.general)) == 1


async def test_a_question_opens_a_thread_in_which_no_mention_is_needed(tmp_path: Path) -> None:
    async with discord_gateway(tmp_path, ECHO, started=False) as g:
        asks(g, "thread", instructions="Answer in verse.")
        await g.start()
        question = g.mentions("what is **for** lunch?\ntell", ANN)
        thread = await opened(g, question)
        assert (thread.name, thread.parent) == ("what is for lunch? tell", g.discord.general)
        await g.reads("lunch?", thread)
        g.discord.say(thread, OLGA, "and for dinner?")
        await g.reads("olga: and for dinner?", thread)
        asked = g.models.requests[-1].body["messages"]
        assert "Answer in verse." in asked[0]["content"] and len(asked) == 4
        g.discord.say(thread, MALLORY, "and for me?")
        g.discord.say(g.discord.general, ANN, "among us")
        second = g.mentions("another", ANN)
        await g.reads("another", await opened(g, second))
        assert g.said(g.discord.general) == []
        assert len(g.said(thread)) == 2
        threads = await g.read(lambda tx: tx.directory.threads())
        channel = f"discord:{g.discord.general.id}"
        assert threads[f"discord:{thread.id}"] == Thread(channel, opened=True)


async def test_a_thread_is_the_bots_after_a_restart_too(tmp_path: Path) -> None:
    async with discord_gateway(tmp_path, ECHO, started=False) as g:
        asks(g, "thread", toolsets=["memory"])
        await g.start()
        thread = await opened(g, g.mentions("what is for lunch?", ANN))
        await g.reads("lunch?", thread)
        await g.settled()
        await g.stop()
        await g.start()
        g.discord.say(thread, ANN, "and for dinner?")
        await g.reads("dinner?", thread)
        names = {tool["function"]["name"] for tool in g.models.requests[-1].body["tools"]}
        assert "read_file" not in names


async def test_a_command_and_a_reply_to_the_bot_open_no_thread(tmp_path: Path) -> None:
    async with discord_gateway(tmp_path, ECHO, started=False) as g:
        asks(g, "thread")
        await g.start()
        g.mentions("/stop", ANN)
        shown = await g.reads("Nothing was running.", g.discord.general)
        g.discord.say(g.discord.general, ANN, "why?", reply_to=shown)
        await g.reads("why?", g.discord.general)
        assert [c for c in g.discord.world.channels.values() if c.kind == "thread"] == []


async def test_where_no_thread_may_be_opened_the_answer_is_a_reply(tmp_path: Path) -> None:
    async with discord_gateway(tmp_path, ECHO, started=False) as g:
        asks(g, "thread")
        await g.start()
        g.discord.inject("POST", "/threads$", Fail(403, 50013, "Missing Permissions"), times=9)
        question = g.mentions("what is for lunch?", ANN)
        shown = await g.reads("lunch?", g.discord.general)
        assert shown["message_reference"]["message_id"] == question["id"]
        await g.settled()
        (what, _, details, _), *_ = await g.read(lambda tx: tx.directory.audits("thread"))
        assert (what, details["address"]) == ("thread", f"discord:{question['id']}")


async def test_an_edited_question_is_asked_again_in_its_thread(tmp_path: Path) -> None:
    async with discord_gateway(tmp_path, ECHO, started=False) as g:
        asks(g, "thread")
        await g.start()
        question = g.mentions("what is for lunch?", ANN)
        thread = await opened(g, question)
        await g.reads("lunch?", thread)
        await g.settled()
        g.discord.edit(question, f"{g.discord.mention} what is for dinner?")
        await g.reads("dinner?", thread)
        assert g.said(g.discord.general) == []


async def test_a_thread_that_people_opened_has_its_channels_settings(tmp_path: Path) -> None:
    async with discord_gateway(tmp_path, ECHO, started=False) as g:
        asks(g, "all", instructions="Answer in verse.")
        await g.start()
        thread = g.discord.thread("plans")
        g.discord.say(thread, ANN, "hello")
        await g.reads("hello", thread)
        assert "Answer in verse." in g.models.requests[-1].body["messages"][0]["content"]


async def test_what_could_stand_in_an_option_is_offered_to_who_may_talk(tmp_path: Path) -> None:
    async with discord_gateway(tmp_path, ECHO) as g:
        place = g.discord.general
        g.mentions("one", ANN)
        await g.reads("one", place)
        await slash(g, "label", "the plan", place=place)
        g.tells("a secret")
        await g.reads("a secret")

        async def offered(name: str, typed: str = "", user: str = ANN) -> list[str]:
            typing = g.discord.type_option(place, user, name, typed)
            await g.discord.wait_for(lambda: typing.choices is not None)
            return [one["name"] for one in typing.choices or ()]

        assert await offered("goto", "PLAN") == ["the plan · #2"]
        assert await offered("goto", "nothing like that") == []
        assert any("one" in line for line in await offered("branch"))
        assert {"parent", "worker"} & set(await offered("model"))
        assert await offered("tree", "use") == ["user"]
        assert len(await offered("sessions")) == 1  # not Olga's private one
        assert [line[:5] for line in await offered("fan")] == [f"{n} ans" for n in (2, 3, 4, 5)]
        typing = g.discord.type_option(place, MALLORY, "goto", "")
        await slash(g, "stop")
        assert typing.choices is None


async def test_a_messages_menu_goes_back_names_and_asks_again(tmp_path: Path) -> None:
    async with discord_gateway(tmp_path, ECHO) as g:
        place = g.discord.general
        g.mentions("one", ANN)
        first = await g.reads("ann: one", place)
        g.mentions("two", ANN)
        await g.reads("ann: two", place)
        await g.settled()
        naming = g.discord.give_on(first, ANN, "Label")
        await g.discord.wait_for(lambda: naming.form)
        named = await g.answer(g.discord.submit(naming, "plan 7"))
        assert named["content"].startswith("🏷 **plan 7** is now #2")
        moved = await g.answer(g.discord.give_on(first, ANN, "Branch from here"))
        assert "#2" in moved["content"]
        await g.settled()
        count = len(g.said(place))
        await g.answer(g.discord.give_on(first, OLGA, "Retry"))
        await g.discord.wait_for(lambda: len(g.said(place)) > count + 1)
        assert g.models.requests[-1].messages[-1]["content"].endswith("ann: one")
        foreign = g.discord.say(place, MALLORY, "not for the bot")
        refused = await g.answer(g.discord.give_on(foreign, ANN, "Retry"))
        assert "none of the conversation" in refused["content"]


async def test_what_is_for_who_asked_alone_is_seen_by_nobody_else(tmp_path: Path) -> None:
    async with discord_gateway(tmp_path, ECHO) as g:
        g.slash("usage", ANN, g.discord.general)
        assert "This conversation, today" in await g.whispered()
        assert g.said(g.discord.general) == []
        await slash(g, "usage")
        assert len(g.said()) == 1


async def test_telegrams_menus_are_those_of_private_chats_groups_and_owners(tmp_path: Path) -> None:
    async with telegram_gateway(tmp_path, ECHO, started=False) as g:
        menus = g.telegram.methods.menus
        menus["default"] = [{"command": "old", "description": "of an older version"}]
        g.config["access"]["owners"] = [f"telegram:{OWNER}", "telegram:424242", "telegram:*"]
        await g.start()
        assert set(menus) == {"all_private_chats", "all_group_chats", f"chat:{OWNER}"}
        assert all(0 < len(menu) <= 100 for menu in menus.values())


async def test_a_button_works_where_its_thread_could_not_be_opened(tmp_path: Path) -> None:
    async with discord_gateway(tmp_path, GONE, started=False) as g:
        asks(g, "thread")
        await g.start()
        g.discord.inject("POST", "/threads$", Fail(403, 50013, "Missing Permissions"), times=9)
        g.mentions("go", ANN)
        question = await g.reads("May it be dead?", g.discord.general)
        g.discord.press(question, "Stop", OLGA)
        await g.reads("result: ", g.discord.general)
        await g.settled()
        assert g.discord.buttons(question) == {}


async def test_a_reply_goes_on_where_its_thread_could_not_be_opened(tmp_path: Path) -> None:
    async with discord_gateway(tmp_path, ECHO, started=False) as g:
        asks(g, "thread")
        await g.start()
        g.discord.inject("POST", "/threads$", Fail(403, 50013, "Missing Permissions"), times=9)
        g.mentions("what is for lunch?", ANN)
        shown = await g.reads("lunch?", g.discord.general)
        g.mentions("and who pays?", ANN)
        await g.reads("who pays?", g.discord.general)
        await g.settled()
        g.discord.say(g.discord.general, ANN, "at what time?", reply_to=shown)
        await g.reads("at what time?", g.discord.general)
        said = [str(m["content"]) for m in g.models.requests[-1].body["messages"]]
        assert any("what is for lunch?" in text for text in said)
        assert not any("who pays?" in text for text in said)


async def test_a_question_of_two_days_ago_is_answered_where_questions_get_threads(
    tmp_path: Path,
) -> None:
    async with discord_gateway(tmp_path, ECHO, started=False) as g:
        asks(g, "thread")
        world, now = g.discord.world, time.time
        world._last_snowflake = 0
        world.clock = lambda: now() - 3 * DAY
        await g.start()
        await g.reads("first", await opened(g, g.mentions("first", ANN)))
        await g.settled()
        await g.stop()
        world.clock = lambda: now() - 2 * DAY
        missed = g.mentions("meanwhile", ANN)
        world.clock = now
        await g.start()
        shown = await g.reads("meanwhile", await opened(g, missed))
        assert "2 days ago" in shown["content"]


async def test_who_becomes_an_owner_in_a_chat_gets_an_owners_menu_and_loses_it_again(
    tmp_path: Path,
) -> None:
    async with telegram_gateway(tmp_path, ECHO) as g:
        menus, theirs = g.telegram.methods.menus, f"chat:{TELEGRAM_ANN}"
        g.say("hello", chat=TELEGRAM_ANN, user=TELEGRAM_ANN)
        await g.hears("hello", chat=TELEGRAM_ANN)
        right = RightDraft(f"telegram:{TELEGRAM_ANN}", "Ann", Role.OWNER, None, f"telegram:{OWNER}")
        assert g.app is not None
        await g.app.store.run(lambda tx: tx.rights.give(right))
        await g.telegram.wait_for(lambda: theirs in menus)
        assert menus[theirs] == menus[f"chat:{OWNER}"] != menus["all_private_chats"]
        g.say(f"/people remove telegram:{TELEGRAM_ANN}")
        await g.telegram.wait_for(lambda: theirs not in menus)


async def test_a_question_is_closed_in_a_thread_that_was_archived_meanwhile(
    tmp_path: Path,
) -> None:
    async with discord_gateway(tmp_path, GONE, started=False) as g:
        asks(g, "thread")
        await g.start()
        thread = await opened(g, g.mentions("go", ANN))
        question = await g.reads("May it be dead?", thread)
        await g.settled()
        thread.archived = True
        g.discord.press(question, "Stop", OLGA)
        await g.reads("result: ", thread)
        await g.settled()
        assert g.discord.buttons(question) == {}


async def test_what_a_locked_thread_does_not_take_holds_up_nothing(tmp_path: Path) -> None:
    async with discord_gateway(tmp_path, ECHO, started=False) as g:
        asks(g, "thread")
        await g.start()
        thread = await opened(g, g.mentions("one", ANN))
        await g.reads("one", thread)
        await g.settled()
        thread.archived = thread.locked = True
        g.discord.say(thread, OLGA, "a moderator may")
        await g.settled()
        assert len(g.said(thread)) == 1
        thread.locked = False
        g.discord.say(thread, OLGA, "again")
        await g.reads("again", thread)
