"""Discord's messages are taken in side by side, in order within a channel; none is lost by it."""

import asyncio
from collections.abc import AsyncIterator

import pytest

from adapters.base import Button
from adapters.events import Message, Update
from tests.stand_ins.discord import DiscordServer
from tests.stand_ins.discord_bot import TOKEN, Bot
from tests.stand_ins.discord_world import Channel


@pytest.fixture
async def server() -> AsyncIterator[DiscordServer]:
    async with DiscordServer(TOKEN) as server:
        yield server
        assert server.violations == []


class Died(Exception):
    pass


class Gateway:
    """Commits what it is given, but for what waits: that once it is let, or it dies of it."""

    def __init__(self, server: DiscordServer) -> None:
        self.server = server
        self.cursors: dict[str, str] = {}
        self.begun: list[str] = []
        self.committed: list[str] = []
        self.waits: dict[str, asyncio.Future[None]] = {}

    def stop_at(self, *texts: str) -> None:
        loop = asyncio.get_running_loop()
        self.waits |= {text: loop.create_future() for text in texts}

    async def receive(self, update: Update) -> None:
        text = update.text if isinstance(update, Message) else "press"
        if text in self.committed:
            return  # it was live, and is in the history too
        self.begun.append(text)
        if text in self.waits:
            await self.waits[text]
        self.committed.append(text)
        if isinstance(update, Message):
            self.cursors[update.conversation.address] = update.message_id

    async def began(self, *texts: str) -> None:
        await self.server.wait_for(lambda: set(texts) <= set(self.begun))

    async def did(self, *texts: str) -> None:
        await self.server.wait_for(lambda: set(texts) <= set(self.committed))


@pytest.fixture
async def gateway(server: DiscordServer) -> Gateway:
    """It has heard of Ann's and of Ben's chat."""
    gateway = Gateway(server)
    for name in ("ann", "ben"):
        chat = server.dm_of(name)
        gateway.cursors[f"discord:{chat.id}"] = server.say(chat, name, "seen")["id"]
    return gateway


async def serve(gateway: Gateway) -> Bot:
    """What was missed is being read."""
    bot = Bot(gateway.server)
    await bot.adapter.start()
    await bot.adapter.prepare(bot.adapter.feeds)
    bot.running = asyncio.create_task(bot.adapter.run(gateway.receive, dict(gateway.cursors)))
    await bot.ready()
    return bot


async def caught_up(gateway: Gateway) -> Bot:
    bot = await serve(gateway)
    receiver = bot.adapter._receiver
    assert receiver is not None
    await gateway.server.wait_for(lambda: not receiver._held)
    return bot


async def test_a_chat_does_not_wait_for_the_commit_of_another_ones_message(
    server: DiscordServer, gateway: Gateway
) -> None:
    gateway.stop_at("one")
    bot = await caught_up(gateway)
    try:
        server.dm("ann", "one")
        server.dm("ann", "two")
        server.dm("ben", "three")
        await gateway.did("three")
        assert "two" not in gateway.begun
        gateway.waits["one"].set_result(None)
        await gateway.did("two")
        assert gateway.committed == ["three", "one", "two"]
    finally:
        await bot.stop()


async def test_one_person_is_taken_in_in_order_wherever_they_write(
    server: DiscordServer, gateway: Gateway
) -> None:
    seen = server.say(server.general, "ben", "seen")
    gateway.cursors[f"discord:{server.general.id}"] = seen["id"]
    gateway.stop_at("one")
    bot = await caught_up(gateway)
    try:
        server.dm("ann", "one")
        server.say(server.general, "ann", f"{server.mention} two")
        server.dm("ben", "three")
        await gateway.did("three")
        assert "two" not in gateway.begun
    finally:
        await bot.stop()


async def test_a_press_waits_for_no_message(server: DiscordServer, gateway: Gateway) -> None:
    gateway.stop_at("one")
    bot = await caught_up(gateway)
    try:
        place = server.general
        await bot.post(place, "sure?", Button("Yes", "token-yes"))
        server.dm("ann", "one")
        await gateway.began("one")
        press = server.press(server.messages(place)[-1], "Yes", "ann")
        await server.wait_for(lambda: press.answered)
        assert gateway.committed == ["press"]
    finally:
        await bot.stop()


@pytest.mark.parametrize("place", ["private", "server"])
async def test_the_first_words_in_a_place_are_not_overtaken_and_so_not_lost_by_a_crash(
    server: DiscordServer, gateway: Gateway, place: str
) -> None:
    """Nothing says there how far it was read: the newest message that is on record anywhere does.
    A private chat that is not on record cannot be found again at all, but its words come first."""
    gateway.stop_at("first words")
    bot = await caught_up(gateway)
    server.dm("ann", "before")
    await gateway.did("before")
    if place == "private":
        server.dm("cem", "first words")
    else:
        server.say(server.general, "cem", f"{server.mention} first words")
    server.dm("ann", "after")
    await gateway.began("first words")
    assert "after" not in gateway.begun
    gateway.waits["first words"].set_exception(Died())
    with pytest.raises(Died):
        await bot.running
    await bot.adapter.close()
    assert gateway.committed == ["before"]
    if place == "private":
        return
    gateway.waits.clear()
    again = await serve(gateway)
    try:
        await gateway.did("first words", "after")
    finally:
        await again.stop()


async def test_a_stranger_puts_no_place_on_record_for_others(
    server: DiscordServer, gateway: Gateway
) -> None:
    """Of strangers nothing is stored, so the next one's first words come first, too."""
    gateway.stop_at("of somebody known")
    bot = await caught_up(gateway)
    try:
        server.say(server.general, "cem", f"{server.mention} of a stranger")
        await gateway.did("of a stranger")
        server.say(server.general, "dan", f"{server.mention} of somebody known")
        server.dm("ann", "after")
        await gateway.began("of somebody known")
        assert "after" not in gateway.begun
    finally:
        await bot.stop()


async def test_after_one_that_cannot_be_committed_nothing_more_of_its_chat_is(
    server: DiscordServer, gateway: Gateway
) -> None:
    gateway.stop_at("one", "three")
    bot = await caught_up(gateway)
    server.dm("ann", "one")
    server.dm("ann", "two")
    server.dm("ben", "three")
    await gateway.began("one", "three")
    gateway.waits["one"].set_exception(Died())
    with pytest.raises(Died):
        await bot.running
    await bot.adapter.close()
    assert "two" not in gateway.begun
    gateway.waits.clear()
    again = await serve(gateway)
    try:
        await gateway.did("one", "two", "three")
        assert gateway.committed.index("one") < gateway.committed.index("two")
    finally:
        await again.stop()


async def test_dying_at_any_message_loses_none_and_keeps_each_channels_order(
    server: DiscordServer, gateway: Gateway
) -> None:
    places: list[Channel] = [server.general, server.world.channel("second"), server.dm_of("ann")]
    numbers = iter(range(100))
    said: dict[int, list[str]] = {place.id: [] for place in places}

    def talk() -> None:
        for place in places:
            for name in ("ann", "ben"):
                if place.recipient is not None and name != "ann":
                    continue
                text = f"word {next(numbers)}"
                there = place.recipient is None
                server.say(place, name, f"{server.mention} {text}" if there else text)
                said[place.id].append(text)

    for _ in range(4):
        bot = await serve(gateway)
        talk()
        dies_at = said[places[1].id][-1]
        gateway.stop_at(dies_at)
        await gateway.began(dies_at)
        gateway.waits.pop(dies_at).set_exception(Died())
        with pytest.raises(Died):
            await bot.running
        await bot.adapter.close()
    last = await serve(gateway)
    try:
        everything = [text for texts in said.values() for text in texts]
        await gateway.did(*everything)
        for texts in said.values():
            firsts = [gateway.committed.index(text) for text in texts]
            assert firsts == sorted(firsts)
    finally:
        await last.stop()
