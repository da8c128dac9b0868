"""`bough run` and `bough doctor` as processes: what a wrong configuration is told, and what no log
ever shows."""

import os
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from agent.models.scripted import Rule
from storage.records.entries import Json
from tests.flow.telegram_gateway import (
    ANN,
    KEY,
    OWNER,
    TOKEN,
    configuration,
    delegate,
    report,
    says,
)
from tests.stand_ins.model import ModelServer, Status
from tests.stand_ins.telegram import TelegramServer
from tests.support.forked_process import finished
from tests.support.gateway_process import GatewayProcess, write_config
from tests.support.mcp_servers import liar
from tests.support.stores import make_database

SECRETS = (TOKEN.partition(":")[2], KEY)
TABLE = [
    {"condition": "Gone", "branch": {"action": "escalate", "tier": "human", "prompt": "Dead?"}},
    {"default": "escalate"},
]
RULES = [
    delegate(TABLE),
    report(1, "match", "404"),
    says("parent", "OK", last="result"),
    says("parent", "you said: {last}"),
    says("worker", "OK"),
    says("overseer", "OK"),
]


@dataclass
class Place:
    """A folder with a configuration that is right, and the servers that it names."""

    folder: Path
    telegram: TelegramServer
    models: ModelServer
    config: Json

    def written(self) -> Path:
        return write_config(self.folder, **self.config)

    async def bough(self, *arguments: str, environment: Json | None = None) -> tuple[int, str]:
        """A command's exit status, and all that it said."""
        kept = {name: text for name, text in os.environ.items() if "BOUGH_" not in name}
        environment = kept | (environment or {})
        status, text = await finished(arguments, self.folder, environment)
        assert "Traceback" not in text
        assert not any(secret in text for secret in SECRETS)
        return status, text

    async def run(self) -> tuple[int, str]:
        return await self.bough("run", "--config", str(self.written()), "--verbose")

    async def doctor(self) -> tuple[int, str]:
        return await self.bough("doctor", "--config", str(self.written()), "--verbose")


@pytest.fixture
async def place(tmp_path: Path) -> AsyncIterator[Place]:
    rules = [Rule.model_validate(rule) for rule in RULES]
    async with TelegramServer(token=TOKEN) as telegram, ModelServer(rules, api_key=KEY) as models:
        telegram.person(OWNER, "Olga")
        telegram.person(ANN, "Ann")
        yield Place(tmp_path, telegram, models, configuration(tmp_path, telegram, models))


async def test_doctor_names_each_thing_that_is_to_be_mended(place: Place) -> None:
    place.config["telegram"] |= {"token": f"2000:{SECRETS[0]}"}
    place.config["models"]["parent"] |= {"api_base": "http://127.0.0.1:9/v1"}
    place.config["models"]["worker"] |= {"api_key": f"{KEY}-wrong"}
    place.config["access"] = {"allow": [], "pairing": False}
    place.config["storage"] = {"url": f"sqlite:///{place.folder}/nowhere/bough.db"}
    status, text = await place.doctor()
    assert status == 1
    faults = [line for line in text.splitlines() if line.startswith("FAIL")]
    for named in (
        "database: ",
        "there is no database of Bough at sqlite:",
        "telegram: Telegram refused the token",
        "nobody may talk to the bot",
        "nobody may decide",
        "cannot connect to 127.0.0.1:9",
        "HTTP 401",
    ):
        assert any(named in line for line in faults), named
    assert "6 to mend." in text


async def test_the_lines_that_a_tool_server_logs_are_not_among_what_doctor_says(
    place: Place,
) -> None:
    server = liar("noisy").model_dump(include={"command", "args"})
    place.config |= {"mcp": {"one": server}, "tools": {"toolsets": ["mcp:one"]}}
    _, text = await place.bough("doctor", "--config", str(place.written()))
    assert "it has 1 tools" in text
    assert "[mcp.one]" not in text and "noise" not in text


@pytest.mark.parametrize("command", ["run", "doctor"])
async def test_wrong_keys_and_values_are_named_all_at_once(place: Place, command: str) -> None:
    place.config["telegram"] |= {"tokn": TOKEN, "token": ""}
    place.config |= {
        "telgram": {"token": TOKEN},
        "escalation": {"timeout": "soon"},
        "access": {"owners": ["1001"]},
    }
    status, text = await place.bough(command, "--config", str(place.written()))
    assert status == 2
    for said in (
        "telegram.tokn: there is no such key",
        "telegram.token: ",
        "telgram: there is no such key",
        "escalation.timeout: is not a duration",
        "access.owners.0: '1001' is not a person",
    ):
        assert said in text


async def test_a_configuration_that_is_not_there_or_no_toml_is_said(place: Place) -> None:
    status, text = await place.bough("run", "--config", "none.toml")
    assert (status, "There is no file none.toml" in text) == (2, True)
    (place.folder / "bad.toml").write_text(f'[telegram\ntoken = "{TOKEN}"')
    status, text = await place.bough("doctor", "--config", "bad.toml")
    assert (status, "bad.toml is not valid TOML" in text) == (2, True)


async def test_a_wrong_token_ends_the_start_with_what_to_do(place: Place) -> None:
    place.config["telegram"] |= {"token": f"2000:{SECRETS[0]}"}
    status, text = await place.run()
    assert status == 2
    assert text.splitlines()[-1] == (
        "bough: Telegram refused the token: check [telegram] token (and base_url, where it is set)"
    )


@pytest.mark.parametrize("method", ["getMe", "deleteWebhook", "getUpdates"])
async def test_what_telegram_refuses_whenever_it_is_asked_ends_the_start(
    place: Place, method: str
) -> None:
    place.telegram.fail_next(method, 100, "400", description="Bad Request: logged out")
    status, text = await place.run()
    assert status == 2
    said = "bough: Telegram does not let the bot start (Logged out): check [telegram] token"
    assert text.splitlines()[-1].startswith(said)


async def test_without_the_menus_that_telegram_refuses_it_is_served(place: Place) -> None:
    place.telegram.fail_next("setMyCommands", kind="400", description="Bad Request: bad command")
    async with GatewayProcess(place.written()) as gateway:
        (said,) = [line for line in gateway.log if "refuses the menus of commands" in line]
        place.telegram.say(OWNER, OWNER, "/help")
        await place.telegram.wait_for_message(OWNER, "/tree")
    assert "Bad command" in said


@pytest.mark.parametrize("what", ["no folder", "a folder", "not a database", "read only"])
async def test_a_database_that_cannot_be_used_ends_the_start(place: Place, what: str) -> None:
    database = place.folder / "data" / "bough.db"
    if what != "no folder":
        database.parent.mkdir()
    match what:
        case "a folder":
            database.mkdir()
        case "not a database":
            database.write_text("this is no database at all, but a longer text" * 50)
        case "read only":
            if os.geteuid() == 0:
                pytest.skip("the superuser may write everywhere")
            database.parent.chmod(0o500)
    place.config["storage"] = {"url": f"sqlite:///{database}"}
    status, text = await place.run()
    assert status == 1
    assert text.splitlines()[-1].startswith("bough: ")
    assert "[storage] url" in text or "backup" in text


async def test_a_second_gateway_on_the_same_database_is_refused(place: Place) -> None:
    async with GatewayProcess(place.written()):
        status, text = await place.run()
    assert status == 1
    assert "another bough uses" in text


async def test_a_telegram_that_is_away_at_the_start_is_waited_for(place: Place) -> None:
    place.telegram.fail_next("getMe", 1, "502")
    async with GatewayProcess(place.written()) as gateway:
        assert any("again in 1 s" in line for line in gateway.log)


async def test_doctor_finds_everything_well_though_only_the_environment_says_it(
    place: Place,
) -> None:
    environment = {
        "BOUGH_TELEGRAM__TOKEN": TOKEN,
        "BOUGH_TELEGRAM__BASE_URL": place.telegram.base_url,
        "BOUGH_MODELS__PARENT__MODEL": "openai/parent",
        "BOUGH_MODELS__PARENT__API_BASE": place.models.url,
        "BOUGH_MODELS__PARENT__API_KEY": KEY,
        "BOUGH_ACCESS__OWNERS": f"telegram:{OWNER}, telegram:{ANN}",
    }
    make_database(place.folder / "bough.db")
    status, text = await place.bough("doctor", "--verbose", environment=environment)
    assert status == 0, text
    assert "signed in as @bough_bot" in text
    assert "openai/parent answers" in text
    assert "All is well." in text


async def test_no_log_shows_a_secret_whatever_goes_wrong(place: Place) -> None:
    def hear(text: str) -> Any:
        return place.telegram.wait_for_message(OWNER, text, 30)

    async with GatewayProcess(place.written(), "--verbose") as gateway:
        place.telegram.say(OWNER, OWNER, "go")
        question = await hear("Dead?")
        place.telegram.press(question, "Stop", ANN)
        place.telegram.press(question, "Stop", OWNER)
        await hear("OK")
        place.models.faults.append(Status(500, message=f"key {KEY} is bad"))
        for kind in ("502", "400"):
            place.telegram.fail_next("sendMessage", 1, kind)
            place.telegram.fail_next("getUpdates", 1, kind)
        place.telegram.say(OWNER, OWNER, "hello")
        await hear("you said: hello")
        place.models.faults.append(Status(401, message=f"Incorrect API key provided: {KEY}"))
        place.telegram.say(OWNER, OWNER, "once more")
        refused = await hear("could not answer")
        gateway.terminate()
        assert await gateway.wait() == 0
    log = "\n".join(gateway.log)
    assert "Calling Bot API endpoint `sendMessage`" in log
    for secret in SECRETS:
        assert secret not in log
        assert secret not in refused["text"]


async def test_the_first_bot_that_signs_in_is_whose_database_it_is(place: Place) -> None:
    place.config["telegram"] |= {"token": "2000:a-wrong-token"}
    status, _ = await place.run()
    assert status == 2  # and it left nothing behind: the right bot is let in
    place.config["telegram"] |= {"token": TOKEN}
    async with GatewayProcess(place.written()):
        pass
    place.config["telegram"] |= {"token": "2000:a-wrong-token"}
    _, text = await place.doctor()
    assert "FAIL  database: this database belongs to the telegram bot 1000" in text
