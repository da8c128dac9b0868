"""Sending to Discord, and what can go wrong with it."""

from collections.abc import AsyncIterator

import pytest

from adapters.base import (
    AdapterError,
    Button,
    Edit,
    Misconfigured,
    Outgoing,
    Post,
    Refused,
    Throttled,
    Typing,
    Unavailable,
    Unreachable,
)
from adapters.events import Conversation
from tests.stand_ins.discord import DiscordServer
from tests.stand_ins.discord_bot import TOKEN, calls, here, running
from tests.stand_ins.discord_rest import Cut, Fail, Fault, Throttle


@pytest.fixture
async def server() -> AsyncIterator[DiscordServer]:
    async with DiscordServer(TOKEN) as server:
        yield server
        assert server.violations == []


async def test_a_message_with_buttons_is_edited_to_one_without(server: DiscordServer) -> None:
    async with running(server) as bot:
        message_id = await bot.post(server.general, "sure?", Button("Yes", "a"), Button("No", "b"))
        [message] = server.messages(server.general)
        assert list(server.buttons(message)) == ["Yes", "No"]
        await bot.adapter.deliver(Edit(here(server.general), message_id, {"text": "Yes, by ann"}))
        assert message["content"] == "Yes, by ann"
        assert server.buttons(message) == {}


async def test_the_same_nonce_again_makes_no_second_message(server: DiscordServer) -> None:
    async with running(server) as bot:
        first = await bot.post(server.general, "once", nonce="7.1")
        assert await bot.post(server.general, "once", nonce="7.1") == first
        assert server.said(server.general) == ["once"]


async def test_a_reply_refers_to_its_message_even_when_that_is_gone(server: DiscordServer) -> None:
    async with running(server) as bot:
        asked = server.say(server.general, "ann", f"{server.mention} why?")
        await bot.post(server.general, "because", reply_to=asked["id"])
        await bot.post(server.general, "and so on", reply_to="12345")
        *_, answer, _ = server.messages(server.general)
        assert answer["message_reference"]["message_id"] == asked["id"]
        assert answer["mentions"] == []


async def test_where_replies_are_not_allowed_it_is_a_message(server: DiscordServer) -> None:
    async with running(server) as bot:
        server.inject("POST", "/messages", Fail(403, 160002, "Cannot reply without permission"))
        await bot.post(server.general, "because", reply_to="12345")
        [message] = server.messages(server.general)
        assert (message["content"], message["type"]) == ("because", 0)


async def test_a_user_is_written_to_in_private(server: DiscordServer) -> None:
    async with running(server) as bot:
        ann = Conversation.parse(f"discord:user:{server.user('ann').id}")
        message_id = await bot.adapter.deliver(Post(ann, {"text": "a question"}))
        assert message_id is not None
        await bot.adapter.deliver(Edit(ann, message_id, {"text": "answered"}))
        assert server.said(server.dm_of("ann")) == ["answered"]
        assert len(calls(server, "POST", "/users/@me/channels")) == 1


@pytest.mark.parametrize("address", ["discord:user:5", "discord:user:x", "discord:general"])
async def test_an_address_that_is_nobodys_is_unreachable(
    server: DiscordServer, address: str
) -> None:
    async with running(server) as bot:
        with pytest.raises(Unreachable):
            await bot.adapter.deliver(Typing(Conversation.parse(address)))


async def test_typing_is_shown(server: DiscordServer) -> None:
    async with running(server) as bot:
        await bot.adapter.deliver(Typing(here(server.general)))
        assert server.world.typing == [server.general]


async def test_long_markdown_arrives_whole(server: DiscordServer) -> None:
    async with running(server) as bot:
        for body in bot.adapter.render("```py\n" + "    x = 'é👩‍🚀'\n" * 2000 + "```"):
            await bot.adapter.deliver(Post(here(server.general), body))
        said = server.said(server.general)
        assert sum(message.count("    x = 'é👩‍🚀'\n") for message in said) == 2000
        assert all(message.startswith("```py\n") for message in said)


@pytest.mark.parametrize(
    ("fault", "error"),
    [
        (Fail(403, 50001, "Missing Access"), Unreachable),
        (Fail(403, 50007, "Cannot send messages to this user"), Unreachable),
        (Fail(404, 10003, "Unknown Channel"), Unreachable),
        (Fail(400, 50035, "Invalid Form Body"), Refused),
        (Fail(404, 0, "404: Not Found"), Refused),
        (Fail(401, 0, "401: Unauthorized"), Misconfigured),
        (Fail(503), Unavailable),
        (Cut(done=False), Unavailable),
        (Cut(done=True), Unavailable),
        (Throttle(45.0), Throttled),
        (Throttle(45.0, via=False), Throttled),
    ],
    ids=str,
)
async def test_what_goes_wrong_has_a_name(
    server: DiscordServer, fault: Fault, error: type[AdapterError]
) -> None:
    async with running(server) as bot:
        server.inject("POST", "/messages", fault)
        with pytest.raises(error) as caught:
            await bot.post(server.general, "hello", nonce="1")
        if isinstance(caught.value, Throttled):
            assert caught.value.retry_after == 45.0
        # The same again, as the outbox would do it: whatever happened, it is there once.
        await bot.post(server.general, "hello", nonce="1")
        assert server.said(server.general) == ["hello"]


async def test_a_short_rate_limit_is_waited_out(server: DiscordServer) -> None:
    async with running(server) as bot:
        server.inject("POST", "/messages", Throttle(0.05))
        await bot.post(server.general, "hello")
        assert server.said(server.general) == ["hello"]


@pytest.mark.parametrize(
    "outgoing",
    [
        Post(Conversation("discord", "1"), {"text": "hello"}),
        Edit(Conversation("discord", "1"), "2", {"text": "hello"}),
    ],
    ids=["post", "edit"],
)
async def test_an_unknown_channel_is_unreachable(server: DiscordServer, outgoing: Outgoing) -> None:
    async with running(server) as bot:
        with pytest.raises(Unreachable):
            await bot.adapter.deliver(outgoing)


async def test_an_edit_of_a_message_that_is_gone_is_refused(server: DiscordServer) -> None:
    async with running(server) as bot:
        with pytest.raises(Refused):
            await bot.adapter.deliver(Edit(here(server.general), "12345", {"text": "hello"}))
