"""What is said on Discord while the bot is away is not lost."""

from collections.abc import AsyncIterator

import pytest

from adapters.events import Message
from tests.stand_ins.discord import DiscordServer
from tests.stand_ins.discord_bot import TOKEN, calls, here, running
from tests.stand_ins.discord_rest import Fail, Throttle


@pytest.fixture
async def server() -> AsyncIterator[DiscordServer]:
    async with DiscordServer(TOKEN) as server:
        yield server
        assert server.violations == []


async def test_what_was_said_while_the_bot_was_down_arrives_in_order(
    server: DiscordServer,
) -> None:
    general, thread, chat = server.general, server.thread("details"), server.dm_of("ann")
    last = {place.id: server.say(place, "ann", "seen")["id"] for place in (general, thread, chat)}
    for number in range(150):
        server.say(chat, "ann", f"private {number}")
    server.say(general, "bob", "just talk")
    asked = server.say(general, "bob", f"{server.mention} a question")
    server.say(thread, "bob", f"{server.mention} another")
    cursors = {f"discord:{place}": cursor for place, cursor in last.items()}
    async with running(server, cursors) as bot:
        await bot.got(152)
        server.say(chat, "ann", "live")
        await bot.got(153)
    by_place = {place.id: bot.texts(place) for place in (general, thread, chat)}
    assert by_place[general.id] == ["a question"]
    assert by_place[thread.id] == ["another"]
    assert by_place[chat.id] == [*(f"private {number}" for number in range(150)), "live"]
    [question] = [u for u in bot.received if isinstance(u, Message) and u.text == "a question"]
    assert (question.private, question.message_id) == (False, asked["id"])
    assert all(u.private == (u.conversation == here(chat)) for u in bot.messages)


async def test_of_a_channel_full_of_talk_the_newest_messages_are_read(
    server: DiscordServer, caplog: pytest.LogCaptureFixture
) -> None:
    seen = server.say(server.general, "ann", "seen")
    server.say(server.general, "ann", f"{server.mention} too long ago")
    for number in range(1200):
        server.say(server.general, "bob", f"just talk {number}")
    server.say(server.general, "ann", f"{server.mention} one")
    server.say(server.general, "ann", f"{server.mention} two")
    async with running(server, {f"discord:{server.general.id}": seen["id"]}) as bot:
        await bot.got(2)
        assert bot.texts() == ["one", "two"]
    assert "only the last 1000 were read" in caplog.text


async def test_live_messages_wait_for_what_was_said_before_them(server: DiscordServer) -> None:
    seen = server.dm("ann", "seen")
    server.dm("ann", "missed")
    server.inject("GET", f"/channels/{server.dm_of('ann').id}/messages", Throttle(0.2))
    async with running(server, {f"discord:{server.dm_of('ann').id}": seen["id"]}) as bot:
        server.dm("ann", "live")
        server.dm("bob", "elsewhere")
        await bot.got(3)
        # The other chat does not wait. The live message is in the history too: once is the
        # receiver's part, by its key.
        assert bot.texts()[0] == "elsewhere"
        ann = dict.fromkeys(bot.texts(server.dm_of("ann")))
        assert list(ann) == ["missed", "live"]


async def test_a_channel_that_is_closed_to_the_bot_is_skipped(
    server: DiscordServer, caplog: pytest.LogCaptureFixture
) -> None:
    seen = {user: server.dm(user, "seen")["id"] for user in ("ann", "bob")}
    server.dm_of("ann").forbidden = True
    server.dm("bob", "missed")
    cursors = {f"discord:{server.dm_of(user).id}": cursor for user, cursor in seen.items()}
    cursors |= {"discord:77": "1", "discord:user:5": "1", f"discord:{server.general.id}": ""}
    async with running(server, cursors) as bot:
        await bot.got(1)
        assert bot.texts() == ["missed"]
        await server.wait_for(lambda: "channel 77" in caplog.text)
        await server.wait_for(lambda: f"channel {server.dm_of('ann').id}" in caplog.text)


async def test_a_history_that_fails_for_a_moment_is_read_again(server: DiscordServer) -> None:
    seen = server.dm("ann", "seen")
    server.dm("ann", "missed")
    server.inject("GET", "/messages", Fail(503))
    async with running(server, {f"discord:{server.dm_of('ann').id}": seen["id"]}) as bot:
        await bot.got(1)
        assert bot.texts() == ["missed"]


async def test_a_resumed_session_brings_what_was_missed_without_reading_history(
    server: DiscordServer,
) -> None:
    async with running(server) as bot:
        server.dm("ann", "before")
        await bot.got(1)
        await server.gateway.drop(resumable=True)
        server.dm("ann", "meanwhile")
        await bot.got(2)
        server.dm("ann", "after")
        await bot.got(3)
        assert bot.texts() == ["before", "meanwhile", "after"]
        assert (server.gateway.identified, server.gateway.resumed) == (1, 1)
        assert calls(server, "GET", "/messages") == []


async def test_after_a_lost_session_the_history_is_read(server: DiscordServer) -> None:
    async with running(server) as bot:
        server.dm("ann", "before")
        await bot.got(1)
        await server.gateway.drop(resumable=False)
        server.dm("ann", "meanwhile")
        server.dm("ann", "and more")
        await server.wait_for(lambda: len(bot.texts()) == 3)
        assert server.gateway.identified == 2
        server.dm("ann", "after")
        await bot.got(4)
        assert bot.texts() == ["before", "meanwhile", "and more", "after"]


async def test_a_private_chat_that_cannot_be_looked_up_is_still_read(
    server: DiscordServer,
) -> None:
    chat = server.dm_of("ann")
    seen = server.dm("ann", "seen")
    server.dm("ann", "missed")
    server.inject("GET", f"/channels/{chat.id}$", Fail(404))
    async with running(server, {f"discord:{chat.id}": seen["id"]}) as bot:
        await bot.got(1)
        [message] = bot.messages
        assert (message.text, message.private) == ("missed", True)


async def test_a_session_that_comes_while_another_is_caught_up_holds_messages_for_itself(
    server: DiscordServer,
) -> None:
    chat = server.dm_of("ann")
    seen = server.dm("ann", "seen")
    server.dm("ann", "missed")
    history = f"/channels/{chat.id}/messages"
    server.inject("GET", history, Throttle(0.1))
    async with running(server, {f"discord:{chat.id}": seen["id"]}) as bot:
        receiver = bot.adapter._receiver
        assert receiver is not None
        await server.wait_for(lambda: calls(server, "GET", history))
        # What a second READY does, while the history for the first one is being read.
        await receiver.on_connect()
        await bot.got(1)
        server.dm("ann", "live")
        server.dm("bob", "elsewhere")
        await bot.got(2)
        assert bot.texts() == ["missed", "elsewhere"]
        await receiver.on_ready()
        await server.wait_for(lambda: "live" in bot.texts())
