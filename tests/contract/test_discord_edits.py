"""What people edit on Discord arrives, in its place among what they say."""

from collections.abc import AsyncIterator

import pytest

from tests.stand_ins.discord import DiscordServer
from tests.stand_ins.discord_bot import TOKEN, Bot, calls, running
from tests.stand_ins.discord_rest import Throttle


@pytest.fixture
async def server() -> AsyncIterator[DiscordServer]:
    async with DiscordServer(TOKEN) as server:
        yield server
        assert server.violations == []


def told(bot: Bot) -> list[tuple[str, str]]:
    return [(message.kind, message.text) for message in bot.messages]


async def test_edits_keep_their_place_among_messages(server: DiscordServer) -> None:
    async with running(server) as bot:
        first = server.dm("ann", "one")
        server.dm("ann", "two")
        server.edit(first, "ONE")
        server.dm("ann", "three")
        server.edit(first, "One")
        await bot.got(5)
        assert told(bot) == [
            ("message", "one"),
            ("message", "two"),
            ("edit", "ONE"),
            ("message", "three"),
            ("edit", "One"),
        ]
        keys = [message.key for message in bot.messages]
        assert len(set(keys)) == 5
        assert keys[2].startswith(f"{keys[0]}:edit:")


async def test_a_message_of_long_ago_can_be_edited(server: DiscordServer) -> None:
    old = server.say(server.general, "ann", f"{server.mention} from before the start")
    async with running(server) as bot:
        server.edit(old, f"{server.mention} anew")
        await bot.got(1)
        assert told(bot) == [("edit", "anew")]


async def test_previews_and_changes_of_other_talk_do_not_arrive(server: DiscordServer) -> None:
    talk = server.say(server.general, "ann", "not for the bot")
    asked = server.dm("ann", "see https://example.com/")
    async with running(server) as bot:
        server.preview(asked)
        server.edit(talk, "still not for the bot")
        server.dm("ann", "and?")
        await bot.got(1)
        assert told(bot) == [("message", "and?")]


async def test_an_edit_of_an_old_message_makes_nothing_come_again(server: DiscordServer) -> None:
    old = server.dm("ann", "old")
    newest = server.dm("ann", "newest")
    async with running(server, {f"discord:{newest['channel_id']}": newest["id"]}) as bot:
        server.edit(old, "older than old")
        await bot.got(1)
        await server.gateway.drop(resumable=False)
        server.dm("ann", "meanwhile")
        await server.wait_for(lambda: len(bot.received) == 2)
        assert server.gateway.identified == 2
        server.dm("ann", "after")
        await bot.got(3)
        assert bot.texts() == ["older than old", "meanwhile", "after"]


async def test_an_edit_where_nothing_else_was_said_begins_no_catching_up(
    server: DiscordServer,
) -> None:
    old = server.dm("ann", "never received")
    async with running(server) as bot:
        server.edit(old, "edited")
        await bot.got(1)
        await server.gateway.drop(resumable=False)
        await server.wait_for(lambda: server.gateway.identified == 2)
        server.dm("ann", "after")
        await bot.got(2)
        assert told(bot) == [("edit", "edited"), ("message", "after")]
        assert calls(server, "GET", "/messages") == []


async def test_an_edit_waits_for_what_was_said_before_it(server: DiscordServer) -> None:
    seen = server.dm("ann", "seen")
    server.dm("ann", "missed")
    server.inject("GET", f"/channels/{server.dm_of('ann').id}/messages", Throttle(0.2))
    async with running(server, {f"discord:{seen['channel_id']}": seen["id"]}) as bot:
        server.edit(seen, "seen, edited")
        server.dm("bob", "elsewhere")
        await bot.got(3)
        assert told(bot) == [
            ("message", "elsewhere"),
            ("message", "missed"),
            ("edit", "seen, edited"),
        ]


async def test_a_resumed_session_brings_edits_too(server: DiscordServer) -> None:
    async with running(server) as bot:
        first = server.dm("ann", "before")
        await bot.got(1)
        await server.gateway.drop(resumable=True)
        server.edit(first, "meanwhile")
        await bot.got(2)
        assert told(bot) == [("message", "before"), ("edit", "meanwhile")]
