"""Killed while an answer grows in the chat: there is one message in the end, and it is whole."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from gateway.outbound.live_messages import BEGUN, CURSOR
from tests.crash.database import Database
from tests.crash.patience import until
from tests.crash.scene import ANN, scene
from tests.stand_ins.discord import DiscordServer
from tests.stand_ins.telegram_world import words
from tests.support.gateway_process import GatewayProcess, write_config, write_rules

pytestmark = pytest.mark.crash

GROUP = -100
TEXT = " ".join(f"word{n}" for n in range(40)) + "."
SLOWLY, QUICKLY = 0.3, 0.03
"""Seconds for a word: until the kill, which comes long before the last of them, and after it."""


LONG = " ".join(f"word{n}" for n in range(2_000)) + "."


def models(folder: Path, pace: float = SLOWLY, text: str = TEXT) -> dict[str, Any]:
    rules = [{"reply": {"text": text, "pace": pace}}]
    return {"parent": {"model": write_rules(folder, rules)}}


@pytest.mark.parametrize("edits", [0, 1])
async def test_in_a_group_the_message_that_grew_becomes_whole(tmp_path: Path, edits: int) -> None:
    async with scene(tmp_path, models(tmp_path)) as s:
        s.telegram.group(GROUP, "Friends")
        s.telegram.say(GROUP, ANN, "@bough_bot go")
        begun = await s.telegram.hears(CURSOR if edits else BEGUN, GROUP)
        await s.recorded_as_sent()
        await s.gateway.kill()
        models(tmp_path, QUICKLY)
        await s.gateway.start()
        await s.telegram.hears(TEXT, GROUP)
        await s.quiet()
        (final,) = s.telegram.messages(GROUP)
        assert words(final) == TEXT and final["message_id"] == begun["message_id"]


async def test_a_copy_that_is_not_on_record_as_sent_keeps_no_cursor(tmp_path: Path) -> None:
    async with scene(tmp_path, models(tmp_path)) as s:
        s.telegram.group(GROUP, "Friends")
        s.database.stall("UPDATE ON outbox", "NEW.state = 'sent'")
        s.telegram.say(GROUP, ANN, "@bough_bot go")
        await s.killed_once(lambda: s.telegram.messages(GROUP))
        await s.gateway.start()
        await s.telegram.hears(TEXT, GROUP)
        await s.quiet()
        lost, whole = (words(message) for message in s.telegram.messages(GROUP))
        assert whole == TEXT and CURSOR not in lost


async def test_in_private_the_answer_is_one_message(tmp_path: Path) -> None:
    async with scene(tmp_path, models(tmp_path)) as s:
        s.telegram.say(ANN, ANN, "go")
        await until(lambda: s.telegram.methods.drafts)
        await s.gateway.kill()
        models(tmp_path, QUICKLY)
        await s.gateway.start()
        await s.ends(TEXT)


@pytest.mark.parametrize("parts", [1, 2])
async def test_in_private_a_long_answer_is_there_once(tmp_path: Path, parts: int) -> None:
    """Killed once so many of its parts are posted: they are written on, not posted again."""
    async with scene(tmp_path, models(tmp_path, 0.02, LONG)) as s:
        s.telegram.say(ANN, ANN, "go")
        await until(lambda: sum("word" in words(m) for m in s.telegram.messages(ANN)) >= parts)
        await s.recorded_as_sent()
        await s.gateway.kill()
        models(tmp_path, 0.001, LONG)
        await s.gateway.start()
        await s.telegram.hears("word1999.", ANN)
        await s.quiet()
        answer = [words(one) for one in s.telegram.messages(ANN) if "word" in words(one)]
        assert "".join("".join(answer).split()) == "".join(LONG.split())


async def test_a_message_whose_turn_is_stopped_after_a_kill_loses_its_cursor(
    tmp_path: Path,
) -> None:
    async with scene(tmp_path, models(tmp_path)) as s:
        s.telegram.group(GROUP, "Friends")
        s.telegram.say(GROUP, ANN, "@bough_bot go")
        await s.telegram.hears(CURSOR, GROUP)
        await s.recorded_as_sent()
        await s.gateway.kill()
        s.database.end_rows()
        models(tmp_path, QUICKLY)
        await s.gateway.start()
        await until(lambda: CURSOR not in words(s.telegram.messages(GROUP)[0]))
        assert len(s.telegram.messages(GROUP)) == 1


async def test_on_discord_the_message_that_grew_becomes_whole(tmp_path: Path) -> None:
    async with DiscordServer() as discord:
        config = write_config(
            tmp_path,
            discord={"token": "token", **discord.urls},
            models=models(tmp_path),
            access={"owners": ["discord:*"]},
        )
        async with GatewayProcess(config, forked=True) as gateway:
            place = discord.dm_of("ann")
            discord.dm("ann", "go")
            await until(_shows(discord, CURSOR))
            await gateway.kill()
            (begun,) = [one for one in discord.messages(place) if CURSOR in one["content"]]
            models(tmp_path, QUICKLY)
            await gateway.start()
            await until(_shows(discord, TEXT))
            await Database(tmp_path / "bough.db").settled()
            assert discord.said(place) == [TEXT]
            assert discord.messages(place)[-1]["id"] == begun["id"]
        assert discord.violations == []


def _shows(discord: DiscordServer, text: str) -> Callable[[], bool]:
    return lambda: any(text in said for said in discord.said(discord.dm_of("ann")))
