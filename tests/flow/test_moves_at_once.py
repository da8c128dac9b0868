import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from gateway.turns.control import SessionControl
from storage.records.entries import LeafMove
from storage.store import Store
from tests.flow.conftest import Gateway, gateway

ECHO = {"when": {"last": "(.*)"}, "reply": {"text": "answer to {1}"}}


async def _talk(bot: Gateway) -> None:
    for text in ("one", "two", "three"):
        await bot.chat.say(text)
        await bot.hears(f"answer to {text}")


async def _moves(bot: Gateway) -> list[LeafMove]:
    return await bot.app.store.read(lambda tx: tx.tree.leaf_moves(1))


async def test_of_two_people_who_move_at_once_one_wins_and_the_other_is_told(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    both_have_looked = asyncio.Barrier(2)
    still = SessionControl.still

    @asynccontextmanager
    async def after_both(control: SessionControl, session: int) -> AsyncIterator[int | None]:
        await both_have_looked.wait()
        async with still(control, session) as leaf:
            yield leaf

    async with gateway([ECHO], store=store) as bot:
        await _talk(bot)
        monkeypatch.setattr(SessionControl, "still", after_both)
        await asyncio.gather(bot.chat.say("/undo"), bot.chat.say("/undo", user="2"))
        await bot.hears("What you left is kept")
        await bot.hears("Somebody else moved this conversation at the same moment")
        assert len(await _moves(bot)) == 1


async def test_a_person_who_is_quick_moves_twice(store: Store) -> None:
    async with gateway([ECHO], store=store) as bot:
        await _talk(bot)
        await asyncio.gather(bot.chat.say("/undo"), bot.chat.say("/undo"))
        await bot.hears("What you left is kept", count=2)
        assert len(await _moves(bot)) == 2


async def test_who_comes_later_moves_from_where_the_other_has_gone(store: Store) -> None:
    async with gateway([ECHO], store=store) as bot:
        await _talk(bot)
        await bot.chat.say("/undo")
        await bot.chat.say("/undo", user="2")
        await bot.hears("What you left is kept", count=2)
        assert [move.by for move in await _moves(bot)] == ["telegram:1", "telegram:2"]
