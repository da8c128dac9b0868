"""A question is answered in a thread of its own, one, wherever the gateway is killed."""

from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.crash.database import Database
from tests.crash.patience import until
from tests.crash.rules import rules
from tests.stand_ins.discord import DiscordServer
from tests.stand_ins.discord_world import Channel
from tests.support.gateway_process import GatewayProcess, write_config, write_rules

pytestmark = pytest.mark.crash


@dataclass(frozen=True, slots=True)
class Scene:
    discord: DiscordServer
    gateway: GatewayProcess
    database: Database

    def threads(self) -> list[Channel]:
        return [each for each in self.discord.world.channels.values() if each.kind == "thread"]

    def asks(self) -> None:
        self.discord.say(self.discord.general, "ann", f"{self.discord.mention} one")

    async def answered_once(self) -> None:
        await until(lambda: self.threads() and self.discord.said(self.threads()[0]))
        await self.database.settled()
        (thread,) = self.threads()
        (said,) = self.discord.said(thread)
        assert said.startswith("answer to ") and said.endswith("one")
        assert self.discord.said(self.discord.general) == []


@pytest.fixture
async def running(tmp_path: Path) -> AsyncIterator[Scene]:
    async with DiscordServer() as discord:
        config = write_config(
            tmp_path,
            discord={"token": "token", **discord.urls},
            models={"parent": {"model": write_rules(tmp_path, rules())}},
            access={"owners": ["discord:*"]},
            chats={f"discord:{discord.general.id}": {"answer": "thread"}},
        )
        async with GatewayProcess(config, forked=True) as gateway:
            yield Scene(discord, gateway, Database(tmp_path / "bough.db"))
        assert discord.violations == []


async def test_a_thread_that_was_opened_and_not_recorded_is_not_opened_twice(
    running: Scene,
) -> None:
    running.database.stall("UPDATE ON outbox", "NEW.state = 'sent'")
    running.asks()
    await until(running.threads)
    await until(running.database.is_being_written)
    await running.gateway.kill()
    running.database.mend()
    await running.gateway.start()
    await running.answered_once()


async def test_talk_in_its_thread_needs_no_mention_after_the_restart(running: Scene) -> None:
    running.discord.world.message_content = True
    await running.gateway.kill()
    await running.gateway.start()
    running.asks()
    await running.answered_once()
    await running.gateway.kill()
    (thread,) = running.threads()
    running.discord.say(thread, "ben", "and two")
    await running.gateway.start()
    await until(lambda: len(running.discord.said(thread)) == 2)
    await running.database.settled()
    assert running.discord.said(thread)[1].endswith("and two")
