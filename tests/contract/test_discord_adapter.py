"""The Discord adapter, with discord.py as it is: starting, receiving, ending."""

import asyncio
import gc
import logging
import threading
import warnings
from collections.abc import AsyncIterator

import pytest

from adapters.base import (
    Misconfigured,
    Typing,
    Unavailable,
)
from adapters.discord.adapter import DiscordAdapter
from adapters.events import Message, Press, Update
from tests.stand_ins import specs
from tests.stand_ins.discord import DiscordServer
from tests.stand_ins.discord_bot import COMMANDS, TOKEN, Bot, calls, here, running
from tests.stand_ins.discord_rest import Fail, Throttle
from tests.stand_ins.discord_world import Json


@pytest.fixture
async def server() -> AsyncIterator[DiscordServer]:
    async with DiscordServer(TOKEN) as server:
        yield server
        assert server.violations == []


async def test_starting_says_who_the_bot_is_and_preparing_registers_the_commands(
    server: DiscordServer,
) -> None:
    adapter = DiscordAdapter(TOKEN, server.api_base, server.gateway_url, COMMANDS)
    assert await adapter.start() == "bough"
    assert server.world.commands == []
    await adapter.prepare(adapter.feeds)
    await adapter.close()
    assert [command["name"] for command in server.world.commands] == ["new", "goto"]


async def test_a_wrong_token_is_misconfigured_and_is_not_shown(server: DiscordServer) -> None:
    adapter = DiscordAdapter("wrong-token", server.api_base, server.gateway_url)
    with pytest.raises(Misconfigured, match="token") as caught:
        await adapter.start()
    assert "wrong-token" not in str(caught.value)


async def test_a_bot_whose_interactions_go_elsewhere_is_misconfigured(
    server: DiscordServer,
) -> None:
    server.rest.interactions_endpoint = "https://example.com/"
    adapter = DiscordAdapter(TOKEN, server.api_base, server.gateway_url)
    with pytest.raises(Misconfigured, match="interactions endpoint"):
        await adapter.start()


async def test_where_nobody_answers_starting_is_unavailable_and_may_be_tried_again() -> None:
    async with DiscordServer(TOKEN) as server:
        adapter = DiscordAdapter(TOKEN, server.api_base, server.gateway_url)
        server.inject("GET", "/users/@me", Fail(503))
        with pytest.raises(Unavailable):
            await adapter.start()
        assert await adapter.start() == "bough"
        await adapter.close()
    with pytest.raises(Unavailable):
        await adapter.start()


@pytest.mark.parametrize(
    "addresses", [("discord.com/api/v10", None), ("https://discord.com/api/v10", "gateway")]
)
async def test_an_address_that_is_no_url_is_misconfigured(
    addresses: tuple[str, str | None],
) -> None:
    with pytest.raises(Misconfigured, match="URL"):
        await DiscordAdapter(TOKEN, *addresses).start()


async def test_before_starting_nothing_can_be_sent(server: DiscordServer) -> None:
    adapter = DiscordAdapter(TOKEN, server.api_base, server.gateway_url)
    with pytest.raises(Unavailable):
        await adapter.deliver(Typing(here(server.general)))


async def test_a_gateway_that_is_down_at_first_is_waited_for(
    server: DiscordServer, caplog: pytest.LogCaptureFixture
) -> None:
    server.gateway.down = True
    bot = Bot(server)
    await bot.adapter.start()
    bot.run()
    await server.wait_for(lambda: "no connection" in caplog.text)
    server.gateway.down = False
    await bot.ready()
    server.dm("ann", "hello")
    await bot.got(1)
    await bot.stop()
    assert caplog.text.count("no connection") == 1


@pytest.mark.parametrize(("code", "words"), [(4004, "token"), (4014, "intents"), (4013, "4013")])
async def test_what_the_gateway_refuses_for_good_is_misconfigured(
    server: DiscordServer, code: int, words: str
) -> None:
    bot = Bot(server)
    await bot.start()
    await server.gateway.drop(resumable=True, code=code)
    with pytest.raises(Misconfigured, match=words):
        await bot.running
    await bot.stop()


async def test_after_a_run_that_failed_it_can_be_started_again(server: DiscordServer) -> None:
    bot = Bot(server)
    await bot.start()
    await server.gateway.drop(resumable=True, code=4004)
    with pytest.raises(Misconfigured):
        await bot.running
    waiting = asyncio.create_task(bot.adapter.wait_ready())
    await bot.adapter.close()
    waiting.cancel()
    with pytest.raises(Unavailable):
        await bot.post(server.general, "too early")
    await bot.start()
    server.dm("ann", "hello")
    await bot.got(1)
    await bot.post(server.general, "here again")
    assert server.said(server.general) == ["here again"]
    await bot.stop()
    await server.wait_for(lambda: keep_alives() == [])


async def test_who_sends_while_it_is_closed_hears_that_it_was_not_sent(
    server: DiscordServer,
) -> None:
    bot = Bot(server)
    await bot.start()
    server.inject("POST", "/typing", Throttle(5.0))
    typing = asyncio.create_task(bot.adapter.deliver(Typing(here(server.general))))
    await server.wait_for(lambda: calls(server, "POST", "/typing"))
    await bot.stop()
    with pytest.raises(Unavailable, match="closed meanwhile"):
        await typing


async def test_fifty_quick_messages_arrive_in_order(server: DiscordServer) -> None:
    async with running(server) as bot:
        for number in range(50):
            server.dm("ann", f"number {number}")
        await bot.got(50)
        assert bot.texts() == [f"number {number}" for number in range(50)]


async def test_one_message_is_committed_after_the_other(server: DiscordServer) -> None:
    async with running(server) as bot:
        bot.open.clear()
        server.dm("ann", "first")
        server.dm("ann", "second")
        press = await bot.pressed()
        # The press came last and was answered; no message was passed on before its turn.
        assert press.answered == 6
        assert [type(update) for update in bot.received] == [Press]
        bot.open.set()
        await bot.got(3)
        assert bot.texts() == ["first", "second"]


async def test_servers_threads_and_private_chats_are_conversations(server: DiscordServer) -> None:
    thread = server.thread("details")
    async with running(server) as bot:
        server.say(server.general, "ann", "not for the bot")
        server.say(server.general, "ann", f"{server.mention} one")
        server.say(thread, "bob", f"{server.mention} two")
        server.dm("cat", "three")
        updates = await bot.got(3)
        assert bot.texts() == ["one", "two", "three"]
        places = [server.general, thread, server.dm_of("cat")]
        assert [update.conversation for update in updates] == [here(place) for place in places]


async def test_what_the_bot_says_itself_does_not_come_back(server: DiscordServer) -> None:
    async with running(server) as bot:
        await bot.post(server.dm_of("ann"), "hello")
        server.dm("ann", "hello yourself")
        await bot.got(1)
        assert bot.texts() == ["hello yourself"]


async def test_an_error_of_the_receiver_ends_the_run(server: DiscordServer) -> None:
    adapter = DiscordAdapter(TOKEN, server.api_base, server.gateway_url)
    await adapter.start()

    async def receive(update: Update) -> None:
        raise RuntimeError("no database")

    run = asyncio.create_task(adapter.run(receive, {}))
    await adapter.wait_ready()
    server.dm("ann", "hello")
    with pytest.raises(RuntimeError, match="no database"):
        await run
    await adapter.close()


async def test_a_call_cancelled_in_a_global_rate_limit_does_not_stop_the_others(
    server: DiscordServer,
) -> None:
    async with running(server) as bot:
        server.inject("POST", "/typing", Throttle(0.1, everywhere=True))
        typing = asyncio.create_task(bot.adapter.deliver(Typing(here(server.general))))
        await server.wait_for(lambda: calls(server, "POST", "/typing"))
        await server.wait_for(lambda: "global" in limits(bot))
        typing.cancel()
        await asyncio.gather(typing, return_exceptions=True)
        await bot.post(server.general, "still here")
        assert server.said(server.general) == ["still here"]


def limits(bot: Bot) -> str:
    """ "global" while discord.py waits for a global rate limit to end."""
    client = bot.adapter._client
    assert client is not None
    return "" if client.http._global_over.is_set() else "global"


async def test_stopping_leaves_nothing_behind(server: DiscordServer) -> None:
    before = asyncio.all_tasks()
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always", ResourceWarning)
        async with running(server) as bot:
            bot.open.clear()
            server.dm("ann", "being committed when it stops")
            await bot.pressed()
        del bot
        gc.collect()
    # The server's side of the connections ends when it sees that they are closed.
    await server.wait_for(lambda: asyncio.all_tasks() <= before)
    await server.wait_for(lambda: keep_alives() == [])
    assert [str(warning.message) for warning in warned] == []


async def test_stopping_while_it_connects_leaves_nothing_behind(server: DiscordServer) -> None:
    async with running(server):
        await server.gateway.drop(resumable=False)
        # discord.py resumes in vain, connects anew, and waits 5 s before it identifies again.
        await server.wait_for(lambda: server.gateway.opened == 3)
    await server.wait_for(lambda: keep_alives() == [])


def keep_alives() -> list[str]:
    return [thread.name for thread in threading.enumerate() if "keep-alive" in thread.name]


async def test_no_log_shows_a_token(
    server: DiscordServer, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.INFO):
        async with running(server) as bot:
            command = server.slash(server.general, "ann", "new")
            [update] = await bot.got(1)
            await server.wait_for(lambda: command.answered)
            server.inject("PATCH", "/webhooks/", Throttle(0.01))
            assert isinstance(update, Message)
            await bot.post(server.general, "done", handle=update.handle)
            await server.gateway.drop(resumable=True)
            await server.wait_for(lambda: server.gateway.resumed)
    assert TOKEN not in caplog.text
    assert command.token not in caplog.text


@pytest.mark.skipif(specs.load("discord_openapi.json") is None, reason="no API description here")
async def test_the_stand_in_notices_what_the_api_does_not_allow() -> None:
    async with DiscordServer(TOKEN) as server, running(server) as bot:
        rest = bot.adapter._rest
        assert rest is not None
        ann: Json = {"recipient_id": server.user("ann").id}
        await rest.call("POST", "/users/@me/channels", ann)
        assert len(server.violations) == 1
        assert "recipient_id" in server.violations[0]
