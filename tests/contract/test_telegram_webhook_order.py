"""What is not committed comes again, and what came after it in the same chat comes after it."""

import asyncio
from collections.abc import AsyncIterator

import pytest

from adapters.events import Update
from adapters.telegram.inbound import webhook as webhooks
from adapters.telegram.inbound.webhook import secret_of
from tests.stand_ins.telegram import TelegramServer
from tests.stand_ins.telegram_hooked import BOB, hooked, message
from tests.stand_ins.telegram_running import TOKEN, Inbox
from tests.stand_ins.telegram_webhook import SECRET


@pytest.fixture
async def telegram() -> AsyncIterator[TelegramServer]:
    async with TelegramServer(token=TOKEN) as server:
        yield server
        assert server.violations == []


async def test_what_comes_after_one_that_was_not_committed_waits_for_it(
    telegram: TelegramServer,
) -> None:
    inbox, secret = Inbox(), {SECRET: secret_of(TOKEN)}
    inbox.broken = 1
    async with hooked(telegram, inbox.receive) as bot:
        assert await bot.post(message(1, "first"), **secret) == 503
        assert await bot.post(message(2, "second"), **secret) == 503
        assert await bot.post(message(3, "third"), **secret) == 503
        assert await bot.post(message(4, "elsewhere", BOB), **secret) == 200
        assert await bot.post(message(1, "first"), **secret) == 200
        assert await bot.post(message(3, "third"), **secret) == 503
        for number, text in ((2, "second"), (3, "third")):
            assert await bot.post(message(number, text), **secret) == 200
    assert inbox.texts == ["elsewhere", "first", "second", "third"]


async def test_what_there_was_no_room_for_is_waited_for_too(
    telegram: TelegramServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(webhooks, "MOST_WAITING", 1)
    inbox, secret = Inbox(), {SECRET: secret_of(TOKEN)}
    busy, free = asyncio.Event(), asyncio.Event()

    async def receive(update: Update) -> None:
        busy.set()
        await free.wait()
        await inbox.receive(update)

    async with hooked(telegram, receive) as bot:
        bob = asyncio.create_task(bot.post(message(1, "bob", BOB), **secret))
        await busy.wait()
        assert await bot.post(message(2, "first"), **secret) == 503
        free.set()
        assert await bob == 200
        assert await bot.post(message(3, "second"), **secret) == 503
        for number, text in ((2, "first"), (3, "second")):
            assert await bot.post(message(number, text), **secret) == 200
    assert inbox.texts == ["bob", "first", "second"]
