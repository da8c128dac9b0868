"""The Telegram adapter at its webhook, before the stand-in: what its tests share."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import aiohttp

from adapters.events import Update
from adapters.serving.listening import Listen
from adapters.telegram.adapter import TelegramAdapter
from adapters.telegram.inbound.webhook import Webhook, WebhookListener, secret_of
from tests.stand_ins.telegram import TelegramServer
from tests.stand_ins.telegram_running import ANN, TOKEN, running
from tests.support.ports import free_port

BOB = 1002
Receive = Callable[[Update], Awaitable[None]]


@dataclass
class Hooked:
    """An adapter at its webhook."""

    adapter: TelegramAdapter
    listener: WebhookListener
    url: str
    port: int

    async def post(self, body: Any, **headers: str) -> int:
        """What is answered to a request like Telegram's, with these headers beside it."""
        sent = body if isinstance(body, bytes) else str(body).encode()
        given = {"Content-Type": "application/json"} | headers
        async with (
            aiohttp.ClientSession() as session,
            session.post(self.url, data=sent, headers=given) as response,
        ):
            assert await response.read() == b""
            return response.status


@asynccontextmanager
async def hooked(
    telegram: TelegramServer, receive: Receive, port: int = 0, path: str = "/hook"
) -> AsyncIterator[Hooked]:
    port = port or free_port()
    url = f"http://127.0.0.1:{port}{path}"
    made: list[WebhookListener] = []

    def source(*parts: Any) -> WebhookListener:
        where = Webhook(url, Listen("127.0.0.1", port), secret_of(TOKEN))
        made.append(WebhookListener(where, *parts))
        return made[-1]

    adapter = TelegramAdapter(TOKEN, base_url=telegram.base_url, source=source)
    await adapter.start()
    try:
        async with running(adapter, receive) as task:
            ready = asyncio.create_task(adapter.wait_ready())
            await asyncio.wait([task, ready], return_when=asyncio.FIRST_COMPLETED)
            ready.cancel()
            if task.done():
                task.result()
            yield Hooked(adapter, made[0], url, port)
    finally:
        await adapter.close()


def message(number: int, text: str = "hello", who: int = ANN) -> str:
    chat = f'{{"id": {who}, "type": "private", "first_name": "Ann"}}'
    person = f'{{"id": {who}, "is_bot": false, "first_name": "Ann"}}'
    return (
        f'{{"update_id": {number}, "message": {{"message_id": {number}, "date": 1700000000, '
        f'"chat": {chat}, "from": {person}, "text": "{text}"}}}}'
    )
