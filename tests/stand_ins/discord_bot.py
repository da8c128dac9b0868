"""A bot on the stand-in: the adapter under test, running, and what it received."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

from adapters.base import Button, CommandSpec, Post
from adapters.discord.adapter import DiscordAdapter
from adapters.events import Conversation, Message, Update
from tests.stand_ins.discord import DiscordServer
from tests.stand_ins.discord_world import Channel, Interaction

TOKEN = "a-very-secret-token"
COMMANDS = [CommandSpec("new", "Start anew"), CommandSpec("goto", "Go to an entry", "entry")]


class Bot:
    def __init__(self, server: DiscordServer, shards: int | None = 1) -> None:
        self.server = server
        self.adapter = DiscordAdapter(TOKEN, server.api_base, server.gateway_url, COMMANDS, shards)
        self.received: list[Update] = []
        self.open = asyncio.Event()
        """While it is not set, messages are not committed; presses and commands are."""
        self.open.set()
        self.running: asyncio.Task[None]

    async def receive(self, update: Update) -> None:
        if isinstance(update, Message) and not update.handle:
            await self.open.wait()
        self.received.append(update)

    async def start(self, cursors: Mapping[str, str] | None = None) -> None:
        await self.adapter.start()
        await self.adapter.prepare(self.adapter.feeds)
        self.run(cursors)
        await self.ready()

    def run(self, cursors: Mapping[str, str] | None = None) -> None:
        self.running = asyncio.create_task(self.adapter.run(self.receive, cursors or {}))

    async def ready(self) -> None:
        async with asyncio.timeout(60):
            await self.adapter.wait_ready()

    async def stop(self) -> None:
        self.running.cancel()
        await asyncio.gather(self.running, return_exceptions=True)
        await self.adapter.close()

    @property
    def messages(self) -> list[Message]:
        return [update for update in self.received if isinstance(update, Message)]

    def texts(self, place: Channel | None = None) -> list[str]:
        """Of the messages received, in one place or everywhere."""
        there = [m for m in self.messages if place is None or m.conversation == here(place)]
        return [message.text for message in there]

    async def got(self, count: int) -> list[Update]:
        await self.server.wait_for(lambda: len(self.received) >= count)
        return self.received

    async def post(self, channel: Channel, text: str, *buttons: Button, **more: Any) -> str:
        message_id = await self.adapter.deliver(
            Post(here(channel), {"text": text}, buttons, **more)
        )
        assert message_id is not None
        return message_id

    async def pressed(self) -> Interaction:
        """A press of a button in the general channel, acknowledged."""
        place = self.server.general
        await self.post(place, "sure?", Button("Yes", "token-yes"))
        press = self.server.press(self.server.messages(place)[-1], "Yes", "ann")
        await self.server.wait_for(lambda: press.answered)
        return press


@asynccontextmanager
async def running(
    server: DiscordServer,
    cursors: Mapping[str, str] | None = None,
    shards: int | None = 1,
) -> AsyncIterator[Bot]:
    bot = Bot(server, shards)
    await bot.start(cursors)
    try:
        yield bot
    finally:
        await bot.stop()


def here(channel: Channel) -> Conversation:
    return Conversation("discord", str(channel.id))


def calls(server: DiscordServer, method: str, part: str) -> list[Any]:
    """Payloads of the requests so far with that method and that in their path."""
    return [r.payload for r in server.requests if r.method == method and part in r.path]
