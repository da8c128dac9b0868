"""Presses and slash commands on Discord: committed, acknowledged, answered."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace

import pytest

from adapters.base import (
    Acknowledge,
    Button,
    CommandSpec,
    Edit,
    OpenThread,
    Post,
    Refused,
)
from adapters.discord.handles import Handle
from adapters.events import Conversation, Message, Press, Update
from tests.stand_ins import discord_bot
from tests.stand_ins.discord import DiscordServer
from tests.stand_ins.discord_bot import TOKEN, Bot, calls, here, running
from tests.stand_ins.discord_rest import Fail


@pytest.fixture
async def server() -> AsyncIterator[DiscordServer]:
    async with DiscordServer(TOKEN) as server:
        yield server
        assert server.violations == []


async def test_a_press_is_acknowledged_only_after_it_is_committed(server: DiscordServer) -> None:
    committing, committed = asyncio.Event(), asyncio.Event()

    async def receive(update: Update) -> None:
        committing.set()
        await committed.wait()

    bot = Bot(server)
    bot.receive = receive  # type: ignore[method-assign]
    await bot.start()
    await bot.post(server.general, "sure?", Button("Yes", "token"))
    press = server.press(server.messages(server.general)[-1], "Yes", "ann")
    await committing.wait()
    assert calls(server, "POST", "/callback") == []
    committed.set()
    await server.wait_for(lambda: press.answered)
    assert press.answered == 6
    await bot.stop()


async def test_a_command_that_takes_long_holds_up_no_press(server: DiscordServer) -> None:
    carried_out = asyncio.Event()

    async def receive(update: Update) -> None:
        if isinstance(update, Message):
            await carried_out.wait()

    bot = Bot(server)
    bot.receive = receive  # type: ignore[method-assign]
    await bot.start()
    await bot.post(server.general, "sure?", Button("Yes", "token"))
    command = server.slash(server.general, "ann", "new")
    press = server.press(server.messages(server.general)[-1], "Yes", "ann")
    await server.wait_for(lambda: press.answered)
    assert command.answered is None
    carried_out.set()
    await server.wait_for(lambda: command.answered)
    await bot.stop()


async def test_a_command_that_takes_long_is_acknowledged_in_time_and_answered_in_place(
    server: DiscordServer,
) -> None:
    arrived: asyncio.Queue[Update] = asyncio.Queue()
    carried_out = asyncio.Event()

    async def receive(update: Update) -> None:
        arrived.put_nowait(update)
        await carried_out.wait()

    bot = Bot(server)
    bot.receive = receive  # type: ignore[method-assign]
    await bot.start()
    command = server.slash(server.general, "ann", "new")
    await server.wait_for(lambda: command.answered)
    update = await arrived.get()
    assert isinstance(update, Message)
    post = Post(here(server.general), bot.adapter.render("done")[0], handle=update.handle)
    await bot.adapter.deliver(post)
    carried_out.set()
    assert server.said(server.general) == ["done"]
    await bot.stop()


async def test_a_press_after_a_restart_arrives(server: DiscordServer) -> None:
    async with running(server) as bot:
        await bot.post(server.general, "sure?", Button("Yes", "token-yes", "primary"))
    async with running(server) as bot:
        press = server.press(server.messages(server.general)[-1], "Yes", "ann")
        [update] = await bot.got(1)
        assert isinstance(update, Press)
        assert (update.token, update.conversation) == ("token-yes", here(server.general))
        assert update.message_id == server.messages(server.general)[-1]["id"]
        await server.wait_for(lambda: press.answered)


async def test_a_press_of_a_forged_button_of_others_is_not_passed_on(server: DiscordServer) -> None:
    async with running(server) as bot:
        await bot.post(server.general, "sure?")
        server.press_forged(server.messages(server.general)[-1], "other:token", "ann")
        server.press_forged(server.messages(server.general)[-1], "bough:", "ann")
        [update] = await bot.got(1)
        assert isinstance(update, Press) and update.token == ""


async def test_only_the_presser_sees_what_an_acknowledgement_says(server: DiscordServer) -> None:
    async with running(server) as bot:
        await bot.pressed()
        [update] = await bot.got(1)
        assert isinstance(update, Press)
        await bot.adapter.deliver(Acknowledge(update.handle))
        assert server.whispers == []
        await bot.adapter.deliver(Acknowledge(update.handle, "not yours to decide"))
        [whisper] = server.whispers
        assert (whisper.user.name, whisper.text) == ("ann", "not yours to decide")
        assert server.said(server.general) == ["sure?"]


async def test_a_press_that_is_too_old_cannot_be_answered(server: DiscordServer) -> None:
    async with running(server) as bot:
        for handle in ("press:1:old", "press:99999999999999999999:unknown", "nonsense"):
            with pytest.raises(Refused):
                await bot.adapter.deliver(Acknowledge(handle, "no"))


async def test_a_post_for_a_press_leaves_the_message_with_the_button_alone(
    server: DiscordServer,
) -> None:
    async with running(server) as bot:
        await bot.pressed()
        [update] = await bot.got(1)
        assert isinstance(update, Press)
        await bot.post(server.general, "decided", handle=update.handle)
        assert server.said(server.general) == ["sure?", "decided"]


async def test_a_command_is_answered_where_discord_shows_that_the_bot_thinks(
    server: DiscordServer,
) -> None:
    async with running(server) as bot:
        command = server.slash(server.general, "ann", "goto", "12")
        [update] = await bot.got(1)
        assert isinstance(update, Message) and update.text == "/goto 12"
        await server.wait_for(lambda: command.answered)
        assert command.answered == 5
        thinking = server.messages(server.general)[-1]
        buttons = (Button("Back", "token-back"),)
        first = await bot.post(server.general, "there", *buttons, handle=update.handle)
        await bot.post(server.general, "and more")
        assert first == thinking["id"]
        assert server.said(server.general) == ["there", "and more"]
        assert list(server.buttons(thinking)) == ["Back"]


async def test_an_answer_that_is_ready_first_waits_for_the_acknowledgement(
    server: DiscordServer,
) -> None:
    bot = Bot(server)
    answers: list[asyncio.Task[str]] = []

    async def receive(update: Update) -> None:
        assert isinstance(update, Message)
        answers.append(
            asyncio.create_task(bot.post(server.general, "at once", handle=update.handle))
        )
        # Let the answer get as far as it can before the commit is reported.
        for _ in range(10):
            await asyncio.sleep(0)

    bot.receive = receive  # type: ignore[method-assign]
    await bot.start()
    server.slash(server.general, "ann", "new")
    await server.wait_for(lambda: answers and answers[0].done())
    assert server.said(server.general) == ["at once"]
    assert calls(server, "POST", "/messages") == []
    await bot.stop()


async def test_a_command_acknowledged_too_late_is_answered_in_its_channel(
    server: DiscordServer,
) -> None:
    async with running(server) as bot:
        now = server.world.clock
        command = server.slash(server.general, "ann", "new")
        server.world.clock = lambda: now() + 4
        [update] = await bot.got(1)
        assert isinstance(update, Message)
        await bot.post(server.general, "late but here", handle=update.handle)
        assert command.answered is None
        assert server.said(server.general) == ["late but here"]


@pytest.mark.parametrize(
    "handle", ["command:1:expired", "command:99999999999999999999:unknown", "nonsense", ""]
)
async def test_a_dead_handle_never_loses_a_message(server: DiscordServer, handle: str) -> None:
    async with running(server) as bot:
        await bot.post(server.general, "here", handle=handle)
        assert server.said(server.general) == ["here"]


async def test_a_handle_from_before_a_restart_is_still_good(server: DiscordServer) -> None:
    async with running(server) as bot:
        command = server.slash(server.general, "ann", "new")
        [update] = await bot.got(1)
        await server.wait_for(lambda: command.answered)
    async with running(server) as bot:
        assert isinstance(update, Message)
        await bot.post(server.general, "after the restart", handle=update.handle)
        assert server.said(server.general) == ["after the restart"]
        assert len(server.messages(server.general)) == 1


async def test_a_clock_that_is_far_ahead_makes_no_interaction_look_dead(
    server: DiscordServer,
) -> None:
    """By its number this one is years old; Discord takes its token."""
    async with running(server) as bot:
        command = server.slash(server.general, "ann", "new")
        [update] = await bot.got(1)
        await server.wait_for(lambda: command.answered)
        assert isinstance(update, Message)
        handle = Handle.parse(update.handle)
        assert handle is not None
        await bot.post(server.general, "in place", handle=str(replace(handle, id=1)))
        assert len(server.messages(server.general)) == 1
        await bot.adapter.deliver(Acknowledge(f"press:1:{handle.token}", "for you alone"))
        assert [whisper.text for whisper in server.whispers] == ["for you alone"]


async def test_an_odd_reply_to_an_acknowledgement_stops_nothing(server: DiscordServer) -> None:
    async with running(server) as bot:
        server.inject("POST", "/callback", Fail(200))
        server.slash(server.general, "ann", "new")
        server.slash(server.general, "ann", "goto")
        await bot.got(2)
        server.dm("ann", "still there?")
        await bot.got(3)
        assert bot.texts() == ["/new", "/goto", "still there?"]


async def test_what_one_person_sees_is_changed_by_their_press_on_it(
    server: DiscordServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(discord_bot, "COMMANDS", [CommandSpec("mine", "Mine", discreet=True)])
    async with running(server) as bot:
        command = server.slash(server.general, "ann", "mine")
        [given] = await bot.got(1)
        assert isinstance(given, Message)
        more = (Button("More", "token-more"),)
        shown = await bot.post(server.general, "yours", *more, handle=given.handle)
        assert command.message is not None and shown == command.message["id"]
        assert server.messages(server.general) == []
        server.press_seen_alone(command, "More", "ann")
        _, press = await bot.got(2)
        assert isinstance(press, Press) and press.aside
        edit = Edit(here(server.general), shown, {"text": "all of it"}, handle=press.handle)
        await bot.adapter.deliver(edit)
        assert [whisper.text for whisper in server.whispers] == ["yours", "all of it"]
        assert server.violations == []


async def test_a_thread_that_is_there_is_opened_again_without_a_fault(
    server: DiscordServer,
) -> None:
    async with running(server) as bot:
        said = server.say(server.general, "ann", f"{server.mention} hello")
        place = Conversation("discord", said["id"])
        thread = OpenThread(place, here(server.general), said["id"], "hello")
        await bot.adapter.deliver(thread)
        await bot.adapter.deliver(thread)
        await bot.adapter.deliver(Post(place, {"text": "in there"}, reply_to=said["id"]))
        assert server.said(server.world.channels[int(said["id"])]) == ["in there"]
