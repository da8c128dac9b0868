"""Discord's connections are divided among processes; any of them sends."""

import asyncio
from collections.abc import AsyncIterator

import pytest

from adapters.base import Post
from adapters.discord.adapter import DiscordAdapter
from adapters.discord.handles import Handle
from adapters.events import Message, Update
from tests.stand_ins.discord import DiscordServer
from tests.stand_ins.discord_bot import COMMANDS, TOKEN, Bot, here
from tests.stand_ins.discord_world import LOADING


@pytest.fixture
async def server() -> AsyncIterator[DiscordServer]:
    async with DiscordServer(TOKEN) as server:
        yield server
        assert server.violations == []


async def test_who_only_sends_opens_no_connection_and_registers_nothing(
    server: DiscordServer,
) -> None:
    adapter = DiscordAdapter(TOKEN, server.api_base, server.gateway_url, COMMANDS)
    assert await adapter.start() == "bough"
    try:
        assert await adapter.deliver(Post(here(server.general), {"text": "hello"}))
    finally:
        await adapter.close()
    assert server.gateway.opened == 0
    assert server.world.commands == []


async def test_two_processes_hold_a_connection_each_and_hear_what_is_said_there(
    server: DiscordServer,
) -> None:
    bots = [Bot(server, shards=2), Bot(server, shards=2)]
    for number, bot in enumerate(bots):
        await bot.adapter.start()
        assert bot.adapter.feeds == ("shard:discord:0/2", "shard:discord:1/2")
        await bot.adapter.prepare([bot.adapter.feeds[number]])
        bot.run()
        await bot.ready()
    try:
        assert sorted(server.gateway.shards) == [(0, 2), (1, 2)]
        server.dm("ann", "in private")
        await bots[0].got(1)
        server.say(server.general, "ann", f"{server.mention} in public")
        heard = (server.world.guild_id >> 22) % 2
        await server.wait_for(lambda: "in public" in " ".join(bots[heard].texts()))
        assert bots[0].texts()[0] == "in private"
        assert "in private" not in bots[1].texts()
    finally:
        for bot in bots:
            await bot.stop()


async def test_what_others_heard_meanwhile_hides_nothing_that_a_connection_has_missed(
    server: DiscordServer,
) -> None:
    held = (server.world.guild_id >> 22) % 2
    place, chat = server.general, server.dm_of("ann")
    cursors = {f"discord:{place.id}": server.say(place, "bob", "seen")["id"]}
    server.say(server.world.channel("second"), "bob", f"{server.mention} missed")
    cursors[f"discord:{chat.id}"] = server.say(chat, "ann", "heard by another")["id"]
    bot = Bot(server, shards=2)
    await bot.adapter.start()
    await bot.adapter.prepare([bot.adapter.feeds[held]])
    bot.run(cursors)
    await bot.ready()
    try:
        await bot.got(1)
        assert bot.texts() == ["missed"]
    finally:
        await bot.stop()


async def test_a_command_is_answered_in_place_by_a_process_that_is_faster_than_its_acknowledgement(
    server: DiscordServer,
) -> None:
    sender = DiscordAdapter(TOKEN, server.api_base, server.gateway_url)
    await sender.start()
    answers: list[asyncio.Task[str | None]] = []

    class Receiving(Bot):
        async def receive(self, update: Update) -> None:
            await super().receive(update)
            if isinstance(update, Message) and update.handle:
                assert Handle.parse(update.handle) is not None
                post = Post(update.conversation, {"text": "done"}, handle=update.handle)
                answers.append(asyncio.create_task(sender.deliver(post)))
                await asyncio.sleep(0.3)

    bot = Receiving(server)
    await bot.start()
    try:
        command = server.slash(server.general, "ann", "new")
        await server.wait_for(lambda: answers and answers[0].done())
        assert answers[0].result()
        assert command.message is not None
        assert command.message["content"] == "done"
        assert not command.message["flags"] & LOADING
        assert server.said(server.general) == ["done"]
    finally:
        await bot.stop()
        await sender.close()
