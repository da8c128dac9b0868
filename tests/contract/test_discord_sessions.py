"""Sessions of the gateway that end, are resumed or begin anew, on one connection and on several:
nothing is lost, and nothing comes twice that Discord told once."""

import asyncio
from collections.abc import AsyncIterator

import pytest

from adapters.base import Misconfigured
from adapters.discord import client as clients
from adapters.discord.adapter import DiscordAdapter
from tests.stand_ins.discord import DiscordServer
from tests.stand_ins.discord_bot import TOKEN, Bot, running

SHARDS = pytest.mark.parametrize("shards", [1, 2, 4])


@pytest.fixture
async def server(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[DiscordServer]:
    monkeypatch.setattr(clients, "_IDENTIFY_SECONDS", 0.05)
    async with DiscordServer(TOKEN) as server:
        yield server
        assert server.violations == []


async def talk(bot: Bot, word: str) -> None:
    """One message in private and one in a server arrive."""
    server, before = bot.server, len(bot.texts())
    server.dm("ann", f"private {word}")
    server.say(server.general, "bob", f"{server.mention} public {word}")
    await server.wait_for(lambda: len(bot.texts()) >= before + 2)


def words(bot: Bot, *rounds: str) -> bool:
    """Whether everything of these rounds, and nothing else, came once."""
    return sorted(bot.texts()) == sorted(
        f"{place} {each}" for each in rounds for place in ("private", "public")
    )


@SHARDS
async def test_every_shard_has_begun_before_the_bot_is_ready(
    server: DiscordServer, shards: int
) -> None:
    async with running(server, shards=shards) as bot:
        expected = [(number, shards) for number in range(shards)]
        assert server.gateway.shards == (expected if shards > 1 else [(0, 1)])
        assert len(server.gateway.connections) == shards
        await talk(bot, "hello")
        assert words(bot, "hello")
        await bot.post(server.general, "an answer")
        await bot.pressed()


async def test_as_many_shards_are_opened_as_discord_asks_for(server: DiscordServer) -> None:
    server.shards = 2
    async with running(server, shards=None) as bot:
        assert server.gateway.shards == [(0, 2), (1, 2)]
        await talk(bot, "hello")
        assert words(bot, "hello")


async def test_new_sessions_begin_one_after_the_other_with_a_pause(
    server: DiscordServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    pauses: list[int] = []
    original = clients._ShardedClient.before_identify_hook

    async def counted(
        self: clients._ShardedClient, shard_id: int | None, *, initial: bool = False
    ) -> None:
        pauses.append(server.gateway.identified)
        assert initial == (server.gateway.identified == 0)
        await original(self, shard_id, initial=initial)

    monkeypatch.setattr(clients._ShardedClient, "before_identify_hook", counted)
    async with running(server, shards=4):
        assert pauses == [0, 1, 2, 3]


@SHARDS
async def test_what_was_missed_in_private_and_in_a_server_is_read_on_shards(
    server: DiscordServer, shards: int
) -> None:
    chat = server.dm_of("ann")
    cursors = {f"discord:{chat.id}": server.dm("ann", "seen")["id"]}
    server.dm("ann", "private missed")
    server.say(server.general, "bob", f"{server.mention} public missed")
    async with running(server, cursors, shards) as bot:
        await bot.got(2)
        await talk(bot, "live")
        # What is in the history too comes twice: once is the receiver's part, by its key.
        await server.wait_for(lambda: len(set(bot.texts())) == 4)


@SHARDS
async def test_a_request_to_reconnect_is_followed_and_the_session_resumed(
    server: DiscordServer, shards: int
) -> None:
    async with running(server, shards=shards) as bot:
        await talk(bot, "before")
        await server.gateway.ask_to_reconnect()
        server.dm("ann", "private meanwhile")
        server.say(server.general, "bob", f"{server.mention} public meanwhile")
        await server.wait_for(lambda: server.gateway.resumed == shards)
        await server.wait_for(lambda: len(bot.texts()) >= 4)
        await talk(bot, "after")
        assert words(bot, "before", "meanwhile", "after")
        assert server.gateway.identified == shards


@SHARDS
@pytest.mark.parametrize("resumable", [True, False])
async def test_an_invalid_session_is_resumed_or_begun_anew_and_nothing_is_lost(
    server: DiscordServer, shards: int, resumable: bool
) -> None:
    async with running(server, shards=shards) as bot:
        await talk(bot, "before")
        await server.gateway.invalidate(resumable=resumable)
        server.dm("ann", "private meanwhile")
        server.say(server.general, "bob", f"{server.mention} public meanwhile")
        await server.wait_for(lambda: len(set(bot.texts())) == 4)
        if resumable:
            await server.wait_for(lambda: server.gateway.resumed == shards)
        else:
            await server.wait_for(lambda: server.gateway.identified == 2 * shards)
        await talk(bot, "after")
        assert len(set(bot.texts())) == 6


@SHARDS
async def test_a_connection_cut_with_a_lost_session_is_begun_anew(
    server: DiscordServer, shards: int
) -> None:
    async with running(server, shards=shards) as bot:
        await talk(bot, "before")
        await server.gateway.drop(resumable=False)
        server.dm("ann", "private meanwhile")
        server.say(server.general, "bob", f"{server.mention} public meanwhile")
        await server.wait_for(lambda: len(set(bot.texts())) == 4)
        await server.wait_for(lambda: server.gateway.identified == 2 * shards)
        await talk(bot, "after")
        assert len(set(bot.texts())) == 6


async def test_one_shard_of_two_that_loses_its_session_reads_what_it_missed(
    server: DiscordServer,
) -> None:
    async with running(server, shards=2) as bot:
        await talk(bot, "before")
        gateway = server.gateway
        lost = next(each for each in gateway.sessions.values() if each.shard[0] == 0)
        del gateway.sessions[lost.id]
        connection = lost.connection
        assert connection is not None
        server.dm("ann", "private meanwhile")
        await connection.socket.close(code=4000)
        await server.wait_for(lambda: "private meanwhile" in bot.texts())
        await talk(bot, "after")
        assert set(bot.texts()) == {
            "private before",
            "public before",
            "private meanwhile",
            "private after",
            "public after",
        }
        assert gateway.shards == [(0, 2), (1, 2), (0, 2)]


@pytest.mark.parametrize("shards", [1, 2])
async def test_a_connection_whose_heartbeats_stay_unanswered_is_given_up_and_resumed(
    server: DiscordServer, shards: int
) -> None:
    server.gateway.heartbeat_ms = 50
    bot = Bot(server, shards)
    await bot.adapter.start()
    bot.run()
    await asyncio.sleep(0)
    assert bot.adapter._gateway is not None
    bot.adapter._gateway._connection.heartbeat_timeout = 0.3
    try:
        await bot.ready()
        await talk(bot, "before")
        server.gateway.deaf = True
        await server.wait_for(lambda: server.gateway.resumed or server.gateway.identified > shards)
        server.gateway.deaf = False
        await talk(bot, "after")
        assert set(bot.texts()) >= {"private before", "private after", "public after"}
    finally:
        await bot.stop()


async def test_the_bot_is_closed_while_its_shards_are_still_beginning(
    server: DiscordServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(clients, "_IDENTIFY_SECONDS", 3600.0)
    bot = Bot(server, shards=4)
    await bot.adapter.start()
    bot.run()
    await server.wait_for(lambda: server.gateway.identified == 1)
    assert not bot.adapter._ready.is_set()
    async with asyncio.timeout(60):
        await bot.stop()


async def test_an_unreadable_number_of_shards_is_one(server: DiscordServer) -> None:
    server.shards = "many"  # type: ignore[assignment]
    adapter = DiscordAdapter(TOKEN, server.api_base, server.gateway_url, shards=None)
    try:
        assert await adapter.start() == "bough"
    finally:
        await adapter.close()
        server.violations.clear()


async def test_a_look_says_who_the_bot_is_and_registers_nothing(server: DiscordServer) -> None:
    adapter = DiscordAdapter(TOKEN, server.api_base, server.gateway_url)
    assert (await adapter.look()).who == "bough"
    assert {request.method for request in server.requests} == {"GET"}
    with pytest.raises(Misconfigured, match=r"discord\.token"):
        await DiscordAdapter("wrong", server.api_base, server.gateway_url).look()
    assert server.gateway.opened == 0
