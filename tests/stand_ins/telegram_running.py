"""The Telegram adapter at work on the stand-in: what its tests share."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

from adapters.base import Post
from adapters.events import Conversation, Message, Update
from adapters.telegram.adapter import TelegramAdapter
from tests.stand_ins.telegram import TelegramServer

TOKEN = "1000:a-secret-token"
ANN = 1001
CHAT = Conversation("telegram", "1001")
FORUM = -1_000_000_000_001


class Clock:
    now = 1_700_000_000.0

    def __call__(self) -> float:
        return self.now


@asynccontextmanager
async def started(telegram: TelegramServer) -> AsyncIterator[TelegramAdapter]:
    adapter = TelegramAdapter(
        TOKEN, base_url=telegram.base_url, base_file_url=telegram.base_file_url
    )
    try:
        await adapter.start()
        await adapter.prepare(adapter.feeds)
        yield adapter
    finally:
        await adapter.close()


@asynccontextmanager
async def running(
    adapter: TelegramAdapter, receive: Callable[[Update], Awaitable[None]]
) -> AsyncIterator["asyncio.Task[None]"]:
    task = asyncio.create_task(adapter.run(receive, {}))
    try:
        yield task
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


class Inbox:
    """Takes updates as a store would: once per key, and not while it is broken."""

    def __init__(self) -> None:
        self.rows: dict[str, Update] = {}
        self.attempts: list[str] = []
        self.broken = 0

    async def receive(self, update: Update) -> None:
        self.attempts.append(update.key)
        if self.broken:
            self.broken -= 1
            raise OSError("the disk is full")
        self.rows.setdefault(update.key, update)

    @property
    def texts(self) -> list[str]:
        return [row.text for row in self.rows.values() if isinstance(row, Message)]


def post(text: str = "hello", conversation: Conversation = CHAT) -> Post:
    return Post(conversation, {"text": text, "entities": []})
