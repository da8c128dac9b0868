"""`bough run` and `bough doctor` as processes on Discord: what a wrong configuration is told, and
what no log ever shows."""

import os
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from storage.records.entries import Json
from tests.flow.discord_gateway import GONE, MALLORY, OLGA, TOKEN
from tests.stand_ins.discord import DiscordServer
from tests.stand_ins.discord_rest import Cut, Fail, Throttle
from tests.support.forked_process import finished
from tests.support.gateway_process import GatewayProcess, write_config, write_rules
from tests.support.stores import make_database


@dataclass
class Place:
    """A folder with a configuration that is right, and the Discord that it names."""

    folder: Path
    discord: DiscordServer
    config: Json

    def written(self) -> Path:
        return write_config(self.folder, **self.config)

    async def bough(self, command: str) -> tuple[int, str]:
        """A command's exit status, and all that it said."""
        kept = {name: text for name, text in os.environ.items() if not name.startswith("BOUGH_")}
        arguments = (command, "--config", str(self.written()), "--verbose")
        status, text = await finished(arguments, self.folder, kept)
        assert "Traceback" not in text
        assert TOKEN not in text
        return status, text


@pytest.fixture
async def place(tmp_path: Path) -> AsyncIterator[Place]:
    async with DiscordServer(TOKEN) as discord:
        config = {
            "discord": {"token": TOKEN, **discord.urls},
            "models": {"parent": {"model": write_rules(tmp_path, GONE)}},
            "access": {"owners": [f"discord:{discord.user(OLGA).id}"]},
        }
        yield Place(tmp_path, discord, config)
        assert discord.violations == []


async def test_doctor_finds_everything_well(place: Place) -> None:
    make_database(place.folder / "bough.db")
    status, text = await place.bough("doctor")
    assert status == 0, text
    assert "discord: signed in as bough" in text
    assert place.discord.gateway.opened == 0


async def test_doctor_names_what_is_to_be_mended(place: Place) -> None:
    place.config["discord"] |= {"token": "wrong"}
    place.config["escalation"] = {"levels": [{"to": "telegram:1001"}]}
    status, text = await place.bough("doctor")
    assert status == 1
    faults = [line for line in text.splitlines() if line.startswith("FAIL")]
    assert len(faults) == 3 and "there is no database of Bough" in faults.pop(0)
    assert "discord: Discord refuses the bot token; set discord.token" in faults[0]
    assert "telegram:1001 cannot be reached: [telegram] is not configured" in faults[1]


async def test_a_wrong_token_ends_the_start_with_what_to_do(place: Place) -> None:
    place.config["discord"] |= {"token": "wrong"}
    status, text = await place.bough("run")
    assert status == 2
    last = "bough: Discord refuses the bot token; set discord.token"
    assert text.splitlines()[-1] == last


async def test_a_discord_that_refuses_the_start_is_told_without_its_numbers(place: Place) -> None:
    place.discord.inject("GET", "/users/@me", Fail(400, 50035, message="Invalid Form Body"))
    status, text = await place.bough("run")
    assert status == 2
    last = text.splitlines()[-1]
    assert "does not let the bot start: Discord refuses it (HTTP 400): Invalid Form Body;" in last
    assert "check discord.token" in last and "error code" not in last


async def test_names_where_discord_has_numbers_are_refused_at_once(place: Place) -> None:
    place.config["access"] = {"owners": ["discord:olga"], "allow": ["discord:*", "discord:42"]}
    levels = [{"to": ["discord:general", "discord:1/2", "discord:user:olga", "discord:user:7"]}]
    place.config["escalation"] = {"levels": levels}
    status, text = await place.bough("run")
    assert status == 2
    for said in (
        "access.owners.0: 'discord:olga' is not a number; write to the bot",
        "escalation.levels.0.to.0: 'discord:general' is not",
        "escalation.levels.0.to.1: 'discord:1/2' is not",
        "escalation.levels.0.to.2: 'discord:user:olga' is not",
    ):
        assert said in text
    assert "to.3" not in text
    assert place.discord.requests == []


async def test_a_discord_that_is_away_at_the_start_is_waited_for(place: Place) -> None:
    place.discord.inject("GET", "/users/@me", Fail(503))
    async with GatewayProcess(place.written()) as gateway:
        place.discord.dm(OLGA, "hello")
        chat = place.discord.dm_of(OLGA)
        await place.discord.wait_for(lambda: place.discord.said(chat))
        assert any("again in 1 s" in line for line in gateway.log)


async def test_no_log_shows_a_token_whatever_goes_wrong(place: Place) -> None:
    discord, chat = place.discord, place.discord.dm_of(OLGA)
    async with GatewayProcess(place.written(), "--verbose") as gateway:
        discord.dm(OLGA, "go")
        await discord.wait_for(lambda: discord.said(chat))
        question = chat.messages[-1]
        for fault in (Throttle(0.1), Fail(503), Cut(done=True), Fail(403, 50001), Fail(400)):
            discord.inject("POST", "/callback", fault)
            discord.inject("PATCH", "/webhooks/", fault)
            discord.slash(chat, OLGA, "help")
            discord.press(question, "Stop", MALLORY)
            await discord.wait_for(lambda: not any(i.times for i in discord.rest.injections))
        await discord.gateway.drop(resumable=True)
        discord.press(question, "Stop", OLGA)
        await discord.wait_for(lambda: not discord.buttons(question))
        gateway.terminate()
        assert await gateway.wait() == 0
    log = "\n".join(gateway.log)
    assert "could not be acknowledged" in log
    assert "cannot be answered in place" in log
    assert TOKEN not in log
    assert len(discord.world.interactions) == 11
    assert [token for token in discord.world.interactions if token in log] == []
