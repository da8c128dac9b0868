"""What waited for hours is answered once, and marked: the model and the person are told."""

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Self

import pytest

from storage.sql.store import SqlStore
from tests.flow.conftest import gateway
from tests.flow.discord_gateway import discord_gateway
from tests.flow.telegram_gateway import OWNER, says, telegram_gateway
from tests.stand_ins.telegram_world import words
from tests.support.stores import Clock

ECHO = [says("parent", "you said: {last}")]
HOURS = 3600.0
TOOL: dict[str, Any] = {
    "when": {"last": "^.*look"},
    "reply": {
        "text": "I will look.",
        "tool_calls": [{"name": "think", "arguments": {"thought": "where"}}],
    },
}


class Later(SqlStore):
    """Five hours from now."""

    @classmethod
    async def open(
        cls,
        url: str,
        clock: Callable[[], float] = time.time,
        *,
        ballast: int | None = None,
        create: bool = True,
    ) -> Self:
        return await super().open(url, lambda: clock() + 5 * HOURS)


async def test_what_waited_five_hours_on_telegram_is_answered_once_and_marked(
    tmp_path: Path,
) -> None:
    async with telegram_gateway(tmp_path, ECHO, started=False) as g:
        now = g.telegram.clock
        g.telegram.world.clock = lambda: now() - 5 * HOURS
        g.say("are you there?")
        g.telegram.world.clock = now
        await g.start()
        shown = await g.hears("you said")
        assert words(shown).startswith("⏰ Late: you wrote this 5 hours ago")
        assert "[sent 5 hours ago, and read only now]\n\nare you there?" in words(shown)
        assert len(g.texts()) == 1
        g.say("and now?")
        fresh = await g.hears("and now?")
        assert words(fresh) == "you said: and now?"


async def test_what_waited_on_discord_is_marked(tmp_path: Path) -> None:
    async with discord_gateway(tmp_path, ECHO) as g:
        g.tells("hello")
        await g.reads("you said: hello")
        await g.stop()
        g.tells("are you there?")
        g._store = Later
        await g.start()
        shown = await g.reads("are you there?")
        assert shown["content"].startswith("⏰ Late: you wrote this 5 hours ago")
        assert len(g.said()) == 2


async def test_what_was_taken_in_before_a_long_absence_is_late_too(database: str) -> None:
    clock = Clock()
    clock.now = 1_795_262_400.0
    slow = [{"reply": {"text": "you said: {last}", "delay": 30}}]
    async with gateway(slow, store=await SqlStore.open(database, clock)) as g:
        await g.chat.say("hello")
        await g.model.called("parent")
    clock.now += 49 * HOURS
    quick = [{"reply": {"text": "you said: {last}"}}]
    async with gateway(quick, store=await SqlStore.open(database, clock)) as g:
        shown = await g.hears("you said: hello")
        assert shown.text.startswith("⏰ Late: you wrote this 2 days ago")
        assert len(g.chat.shown) == 1


async def test_only_the_first_message_of_an_answer_is_marked(database: str) -> None:
    clock = Clock()
    clock.now = 1_795_262_400.0
    slow = [{"reply": {"text": "…", "delay": 30}}]
    async with gateway(slow, store=await SqlStore.open(database, clock)) as g:
        await g.chat.say("look")
        await g.model.called("parent")
    clock.now += 3 * HOURS
    rules = [TOOL, {"reply": {"text": "there it is"}}]
    async with gateway(rules, store=await SqlStore.open(database, clock)) as g:
        shown = await g.hears("I will look.")
        assert shown.text.startswith("⏰ Late: you wrote this 3 hours ago")
        last = await g.hears("there it is")
        assert last.text == "there it is"


@pytest.mark.parametrize("hours", [0.0, 0.9])
async def test_what_waited_less_than_an_hour_is_not_marked(tmp_path: Path, hours: float) -> None:
    async with telegram_gateway(tmp_path, ECHO, started=False) as g:
        now = g.telegram.clock
        g.telegram.world.clock = lambda: now() - hours * HOURS
        g.say("are you there?")
        g.telegram.world.clock = now
        await g.start()
        assert words(await g.hears("you said")) == "you said: are you there?"


async def test_an_old_message_that_is_changed_now_is_not_late(tmp_path: Path) -> None:
    async with telegram_gateway(tmp_path, ECHO, started=False) as g:
        now = g.telegram.clock
        g.telegram.world.clock = lambda: now() - 5 * HOURS
        old = g.say("are you there?")
        g.telegram.world.clock = now
        await g.start()
        await g.hears("⏰ Late")
        g.telegram.edit(old["message"], "who is around?")
        shown = await g.hears("around?")
        assert words(shown) == "you said: who is around?"
        g.telegram.edit(old["message"], "who is around?")
        await g.settled()
        assert len([one for one in g.texts(OWNER) if "around?" in one]) == 1
