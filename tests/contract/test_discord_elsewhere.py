"""Who spoke to the bot for the first time in a channel while it was away is heard."""

from collections.abc import AsyncIterator

import pytest

from adapters.discord.inbound import elsewhere
from adapters.events import Update
from tests.stand_ins.discord import DiscordServer
from tests.stand_ins.discord_bot import TOKEN, Bot, calls, running
from tests.stand_ins.discord_rest import Fail

DAY = 86_400


@pytest.fixture
async def server() -> AsyncIterator[DiscordServer]:
    async with DiscordServer(TOKEN) as server:
        yield server
        assert server.violations == []


def seen_by_ann(server: DiscordServer) -> dict[str, str]:
    """The cursors of a bot that has heard one private message before it went away."""
    chat = server.dm_of("ann")
    return {f"discord:{chat.id}": server.say(chat, "ann", "seen")["id"]}


async def test_a_mention_in_a_channel_and_in_a_thread_it_was_never_spoken_to_in_is_read(
    server: DiscordServer,
) -> None:
    cursors = seen_by_ann(server)
    thread = server.thread("details")
    server.say(server.general, "bob", "just talk")
    server.say(server.general, "bob", f"{server.mention} first")
    server.say(thread, "bob", f"{server.mention} second")
    server.say(server.general, "bob", f"{server.mention} third")
    async with running(server, cursors) as bot:
        await bot.got(3)
        server.dm("ann", "live")
        await bot.got(4)
        assert list(dict.fromkeys(bot.texts())) == ["first", "second", "third", "live"]


async def test_the_first_start_answers_nothing_old(server: DiscordServer) -> None:
    server.say(server.general, "bob", f"{server.mention} of old")
    async with running(server) as bot:
        server.say(server.general, "bob", f"{server.mention} live")
        await bot.got(1)
        assert bot.texts() == ["live"]
    assert calls(server, "GET", "/messages") == []


async def test_what_was_said_before_the_bot_went_away_is_not_read_again(
    server: DiscordServer,
) -> None:
    server.say(server.general, "bob", f"{server.mention} before")
    cursors = seen_by_ann(server)
    async with running(server, cursors) as bot:
        server.dm("ann", "live")
        await bot.got(1)
        # It may stand in the history too: once is the receiver's part, by its key.
        assert set(bot.texts()) == {"live"}
    assert [r for r in server.requests if f"{server.general.id}/messages" in r.path] == []


async def test_what_is_older_than_a_day_is_left_alone(server: DiscordServer) -> None:
    now = server.world.clock
    world = server.world
    world._last_snowflake = 0
    world.clock = lambda: now() - 3 * DAY
    cursors = seen_by_ann(server)
    world.clock = lambda: now() - 2 * DAY
    server.say(server.general, "bob", f"{server.mention} too old")
    world.clock = now
    server.say(server.general, "bob", f"{server.mention} new")
    async with running(server, cursors) as bot:
        await bot.got(1)
        server.dm("ann", "live")
        await bot.got(2)
        assert list(dict.fromkeys(bot.texts())) == ["new", "live"]


async def test_so_many_channels_and_so_many_messages_are_read(
    server: DiscordServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(elsewhere, "MOST_CHANNELS", 2)
    cursors = seen_by_ann(server)
    channels = [server.world.channel(f"c{number}") for number in range(4)]
    for channel in channels:
        server.say(channel, "bob", f"{server.mention} {channel.name}")
    server.say(channels[3], "bob", f"{server.mention} too long ago")
    for number in range(elsewhere.MOST_MESSAGES):
        server.say(channels[3], "bob", f"{server.mention} {number}")
    async with running(server, cursors) as bot:
        await bot.got(1 + elsewhere.MOST_MESSAGES)
        server.dm("ann", "live")
        await bot.got(2 + elsewhere.MOST_MESSAGES)
        newest = [str(number) for number in range(elsewhere.MOST_MESSAGES)]
        assert list(dict.fromkeys(bot.texts())) == ["c2", *newest, "live"]


async def test_a_channel_that_the_bot_may_not_read_is_passed_over_without_a_word(
    server: DiscordServer, caplog: pytest.LogCaptureFixture
) -> None:
    cursors = seen_by_ann(server)
    closed = server.world.channel("closed")
    server.say(closed, "bob", f"{server.mention} cannot be read")
    server.say(server.general, "bob", f"{server.mention} can be read")
    closed.forbidden = True
    async with running(server, cursors) as bot:
        await bot.got(1)
        server.dm("ann", "live")
        await bot.got(2)
        assert list(dict.fromkeys(bot.texts())) == ["can be read", "live"]
    assert str(closed.id) not in caplog.text


async def test_a_history_that_fails_for_a_moment_is_tried_again(server: DiscordServer) -> None:
    cursors = seen_by_ann(server)
    server.say(server.general, "bob", f"{server.mention} missed")
    server.inject("GET", f"/channels/{server.general.id}/messages", Fail(503))
    async with running(server, cursors) as bot:
        await bot.got(1)
        assert bot.texts() == ["missed"]


async def test_live_words_in_such_a_channel_wait_for_what_was_said_before_them(
    server: DiscordServer,
) -> None:
    cursors = seen_by_ann(server)
    server.say(server.general, "bob", f"{server.mention} missed")
    bot = Bot(server)
    await bot.adapter.start()
    bot.run(cursors)
    await server.wait_for(lambda: server.gateway.identified)
    server.say(server.general, "bob", f"{server.mention} live")
    try:
        await server.wait_for(lambda: "live" in bot.texts())
        # What is in the history too comes twice here: once is the receiver's part, by its key.
        assert list(dict.fromkeys(bot.texts())) == ["missed", "live"]
    finally:
        await bot.stop()


class Died(Exception):
    pass


async def test_who_dies_while_reading_goes_on_where_it_stopped(server: DiscordServer) -> None:
    """The cursors of what was committed are enough to find the rest, whatever order the channels
    have."""
    cursors = seen_by_ann(server)
    others = [server.general, server.world.channel("second"), server.world.channel("third")]
    for number in range(6):
        server.say(others[number % 3], "bob", f"{server.mention} {number}")
    server.dm("ann", "six")
    heard: list[str] = []
    for starts in range(1, 9):
        bot = Bot(server)
        await bot.adapter.start()

        async def receive(update: Update, left: list[int] = [1]) -> None:  # noqa: B006
            text = getattr(update, "text", "")
            if not left:
                raise Died
            heard.append(text)
            cursors[update.conversation.address] = getattr(update, "message_id", "")
            left.clear()
            raise Died

        with pytest.raises(Died):
            await bot.adapter.run(receive, dict(cursors))
        await bot.adapter.close()
        if len(heard) == 7:
            break
        assert starts < 8
    assert sorted(heard) == ["0", "1", "2", "3", "4", "5", "six"]
    for first in range(3):  # each channel in its order
        assert heard.index(str(first)) < heard.index(str(first + 3))


async def test_after_a_lost_session_such_channels_are_read_too(server: DiscordServer) -> None:
    async with running(server) as bot:
        server.dm("ann", "before")
        await bot.got(1)
        server.gateway.down = True
        await server.gateway.drop(resumable=False)
        server.say(server.general, "bob", f"{server.mention} meanwhile")
        server.gateway.down = False
        await bot.got(2)
        server.say(server.general, "bob", f"{server.mention} after")
        await bot.got(3)
        assert bot.texts() == ["before", "meanwhile", "after"]


async def test_talk_to_nobody_is_missed_in_no_gap_where_it_is_all_that_was_said(
    server: DiscordServer,
) -> None:
    server.world.message_content = True
    async with running(server) as bot:
        server.say(server.general, "ann", "before")
        await bot.got(1)
        server.gateway.down = True
        await server.gateway.drop(resumable=False)
        server.say(server.general, "ann", "meanwhile")
        server.gateway.down = False
        await bot.got(2)
        assert bot.texts() == ["before", "meanwhile"]
