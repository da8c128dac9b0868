"""Whatever shape Discord's events have, nothing ends the connection, and what follows arrives."""

import copy
import json
import logging
from collections.abc import AsyncIterator, Iterator
from dataclasses import asdict
from typing import Any

import pytest
from pydantic import TypeAdapter

from adapters.events import Message, Press, Unreadable
from tests.stand_ins.discord import DiscordServer
from tests.stand_ins.discord_bot import TOKEN, Bot, here, running
from tests.stand_ins.discord_rest import Odd
from tests.stand_ins.discord_world import Json

ODD: tuple[Any, ...] = (None, 5, "odd", [], {}, [5], -1, True)
"""What a field is instead."""
_MESSAGE: TypeAdapter[Message] = TypeAdapter(Message)
_PRESS: TypeAdapter[Press] = TypeAdapter(Press)


@pytest.fixture
async def server() -> AsyncIterator[DiscordServer]:
    async with DiscordServer(TOKEN) as server:
        yield server


def variants(event: Json) -> Iterator[Json]:
    """The event with each of its fields, however deep, taken away or made something else."""
    for path in list(_paths(event)):
        for odd in ODD:
            changed, field = _reached(event, path)
            changed[path[-1]] = odd
            yield field
        changed, field = _reached(event, path)
        del changed[path[-1]]
        yield field


def _paths(value: Any) -> Iterator[tuple[Any, ...]]:
    items = value.items() if isinstance(value, dict) else enumerate(value)
    for key, inner in items:
        yield (key,)
        if isinstance(inner, dict | list):
            yield from ((key, *rest) for rest in _paths(inner))


def _reached(event: Json, path: tuple[Any, ...]) -> tuple[Any, Json]:
    """What holds the field at the end of the path, in a copy, and the copy."""
    whole = copy.deepcopy(event)
    holder: Any = whole
    for key in path[:-1]:
        holder = holder[key]
    return holder, whole


async def heard(bot: Bot, text: str) -> None:
    """An ordinary message arrives, on the connection that was there from the first."""
    bot.server.dm("zoe", text)
    await bot.server.wait_for(lambda: text in bot.texts(bot.server.dm_of("zoe")), 60)
    assert not bot.running.done()
    assert bot.server.gateway.identified == 1


def odd_ones(bot: Bot) -> list[Unreadable]:
    return [update for update in bot.received if isinstance(update, Unreadable)]


def all_can_be_stored(bot: Bot) -> None:
    """What is passed on has the types that it says, also after it was written and read."""
    for update in bot.received:
        stored = json.loads(json.dumps(asdict(update)))
        match update:
            case Message():
                assert _MESSAGE.validate_python(stored) == update
            case Press():
                assert _PRESS.validate_python(stored) == update
            case Unreadable():
                assert update.key.startswith("discord:unreadable:")
                json.dumps(stored).encode()


def events(server: DiscordServer) -> dict[str, tuple[str, Json]]:
    """Valid events, by what they are."""
    told: list[tuple[str, Json]] = []
    server.watchers.append(lambda event, data: told.append((event, copy.deepcopy(data))))
    world, general, chat = server.world, server.general, server.dm_of("ann")
    asked = server.say(general, "bob", "the question")
    files = {"a.txt": b"words"}
    member = {"member": server.user("ann").member()}
    text = f"{server.mention} <#{general.id}> look"
    server.say(general, "ann", text, reply_to=asked, files=files, **member)
    shown = world.post(chat, {"content": "sure?", "components": _buttons("bough:x")})
    server.dm("ann", "hello", files=files)
    server.edit(asked, f"{server.mention} the other question")
    server.press(shown, "Yes", "ann")
    server.slash(general, "ann", "goto", "7")
    thread = server.thread("details")
    events = {f"{event} {n}": (event, data) for n, (event, data) in enumerate(told)}
    place = world.channel_json(general)
    guild = {"guild_id": str(world.guild_id)}
    ann = server.user("ann")
    return events | {
        "guild": ("GUILD_CREATE", world.guild_json()),
        "guild update": ("GUILD_UPDATE", world.guild_json()),
        "channel": ("CHANNEL_CREATE", place),
        "channel update": ("CHANNEL_UPDATE", place),
        "thread update": ("THREAD_UPDATE", world.channel_json(thread)),
        "threads": (
            "THREAD_LIST_SYNC",
            guild | {"threads": [world.channel_json(thread)], "members": [], "channel_ids": []},
        ),
        "member": ("GUILD_MEMBER_UPDATE", guild | ann.member() | {"user": ann.json()}),
        "deleted": ("MESSAGE_DELETE", guild | {"id": asked["id"], "channel_id": str(general.id)}),
    }


def _buttons(token: str) -> list[Json]:
    button = {"type": 2, "style": 2, "label": "Yes", "custom_id": token}
    return [{"type": 1, "components": [button]}]


async def test_no_field_of_no_event_ends_the_connection(
    server: DiscordServer, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.CRITICAL)
    async with running(server) as bot:
        for name, (event, data) in events(server).items():
            for variant in variants(data):
                server.gateway.send_raw(event, variant)
            for odd in ODD:
                server.gateway.send_raw(event, odd)
            await heard(bot, f"after {name}")
        all_can_be_stored(bot)
        assert len(odd_ones(bot)) > 500


async def test_no_field_of_ready_keeps_messages_away(
    server: DiscordServer, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.CRITICAL)
    chat = server.dm_of("zoe")
    seen = server.dm("zoe", "seen")
    async with running(server, {f"discord:{chat.id}": seen["id"]}) as bot:
        [session] = server.gateway.sessions.values()
        client = bot.adapter._gateway
        assert client is not None
        read = client._connection.parsers["READY"]
        for variant in (*variants(session.events[0][1]), *ODD):
            read(variant)
            assert client._connection._ready_task is not None
        await heard(bot, "hello")


@pytest.mark.parametrize("field", ["session_id", "resume_gateway_url", "user", "guilds"])
async def test_a_ready_without_a_field_costs_at_most_another_connection(
    server: DiscordServer, field: str
) -> None:
    server.gateway.oddities["READY"] = lambda ready: {k: v for k, v in ready.items() if k != field}
    async with running(server) as bot:
        server.dm("ann", "hello")
        await server.wait_for(lambda: "hello" in bot.texts())
        assert server.gateway.identified <= 2


@pytest.mark.parametrize("part", ["roles", "channels", "threads", "members"])
async def test_a_server_with_an_odd_part_is_served(server: DiscordServer, part: str) -> None:
    server.gateway.oddities["GUILD_CREATE"] = lambda guild: guild | {part: [{"odd": True}]}
    async with running(server) as bot:
        server.say(server.general, "ann", f"{server.mention} hello")
        await server.wait_for(lambda: bot.texts(server.general) == ["hello"])
        [message] = bot.messages
        assert not message.private


@pytest.mark.parametrize("frame", ["[]", "null", "5", "{", '{"op": 0, "t": [], "d": {}}'])
async def test_a_frame_that_is_none_costs_one_connection(
    server: DiscordServer, frame: str, caplog: pytest.LogCaptureFixture
) -> None:
    async with running(server) as bot:
        client = bot.adapter._gateway
        assert client is not None
        [connection] = server.gateway.connections
        connection.send_text(frame)
        await server.wait_for(lambda: server.gateway.identified == 2)
        server.dm("ann", "hello")
        await bot.got(1)
        assert bot.texts() == ["hello"]
    assert caplog.text.count("cannot be understood") == 1


async def test_what_is_unreadable_is_told_once_read_or_not(server: DiscordServer) -> None:
    chat = server.dm_of("ann")
    seen = server.dm("ann", "seen")
    async with running(server, {f"discord:{chat.id}": seen["id"]}) as bot:
        await server.wait_for(lambda: bot.adapter._receiver and not bot.adapter._receiver._held)
        empty = server.dm("ann", "", content=None)
        broken = server.dm("ann", "", attachments=[{"id": "1", "filename": "a", "url": "u"}])
        server.dm("ann", "hello")
        await server.wait_for(lambda: "hello" in bot.texts())
        live = {(odd.key, odd.message_id) for odd in odd_ones(bot)}
    assert live == {
        (f"discord:unreadable:MESSAGE_CREATE:{message['id']}", message["id"])
        for message in (empty, broken)
    }
    assert {odd.conversation for odd in odd_ones(bot)} == {here(chat)}
    # The same from the history, in its place, with the same keys.
    async with running(server, {f"discord:{chat.id}": seen["id"]}) as again:
        await again.got(3)
        assert {(odd.key, odd.message_id) for odd in odd_ones(again)} == live
        assert again.texts() == ["hello"]


async def test_no_field_of_a_message_of_the_history_ends_anything(
    server: DiscordServer, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.CRITICAL)
    chat = server.dm_of("ann")
    seen = server.dm("ann", "seen")
    whole = server.dm("ann", "hello", files={"a.txt": b"words"})
    chat.messages.remove(whole)
    for variant in variants(whole):
        if variant.get("id") == whole["id"]:
            chat.messages.append(variant | {"id": str(server.world.snowflake())})
    server.dm("ann", "last")
    async with running(server, {f"discord:{chat.id}": seen["id"]}) as bot:
        await server.wait_for(lambda: "last" in bot.texts(), 60)
        all_can_be_stored(bot)
        assert odd_ones(bot)
        await heard(bot, "and on")


async def test_an_odd_message_among_talk_that_is_not_for_the_bot_moves_no_cursor(
    server: DiscordServer,
) -> None:
    async with running(server) as bot:
        server.gateway.send_raw("MESSAGE_CREATE", {"id": "7", "channel_id": "8"})
        await bot.got(1)
        [odd] = odd_ones(bot)
        assert (odd.key, odd.message_id) == ("discord:unreadable:MESSAGE_CREATE:7", "")
        assert odd.conversation.address == "discord:8"


async def test_what_was_said_before_what_is_unreadable_comes_before_it(
    server: DiscordServer,
) -> None:
    async with running(server) as bot:
        for number in range(20):
            server.dm("ann", f"number {number}")
            server.gateway.send_raw("MESSAGE_CREATE", {"id": str(number), "channel_id": "8"})
        await bot.got(40)
        assert [isinstance(update, Unreadable) for update in bot.received] == [False, True] * 20


async def test_a_kind_of_fault_is_logged_with_one_traceback(
    server: DiscordServer, caplog: pytest.LogCaptureFixture
) -> None:
    async with running(server) as bot:
        for number in range(5):
            server.gateway.send_raw("MESSAGE_CREATE", {"id": str(number), "channel_id": "8"})
        await bot.got(5)
    assert caplog.text.count("cannot be read") == 5
    assert caplog.text.count("Traceback") == 1


async def test_a_press_in_a_kind_of_channel_that_nobody_knows_is_on_record(
    server: DiscordServer,
) -> None:
    async with running(server) as bot:
        shown = server.world.post(
            server.general, {"content": "sure?", "components": _buttons("bough:x")}
        )
        told: list[Json] = []
        server.watchers.append(lambda event, data: told.append(copy.deepcopy(data)))
        server.press(shown, "Yes", "ann")
        await bot.got(1)
        unknown = told[0]["channel"] | {"type": 99, "id": "12345"}
        server.gateway.send_raw("INTERACTION_CREATE", told[0] | {"channel": unknown, "id": "99"})
        await bot.got(2)
        [odd] = odd_ones(bot)
        assert odd.key == "discord:unreadable:INTERACTION_CREATE:99"


async def test_a_channel_of_an_unknown_kind_is_read_after_a_restart(server: DiscordServer) -> None:
    seen = server.say(server.general, "ann", "seen")
    server.say(server.general, "ann", f"{server.mention} missed")
    server.gateway.oddities["GUILD_CREATE"] = lambda guild: guild | {"channels": []}
    server.inject("GET", f"/channels/{server.general.id}$", Odd({"type": 99}))
    async with running(server, {f"discord:{server.general.id}": seen["id"]}) as bot:
        await bot.got(1)
        assert bot.texts() == ["missed"]
        assert not bot.messages[0].private
