"""Without litellm the gateway starts, answers what needs no model, and says what is missing."""

import asyncio
import os
import re
import sys
import tomllib
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from agent.models.litellm.model import CURE, MISSING
from tests.flow.telegram_gateway import OWNER, TOKEN
from tests.stand_ins.telegram import TelegramServer
from tests.stand_ins.telegram_world import words
from tests.support.gateway_process import GatewayProcess, write_config, write_rules

ROOT = Path(__file__).parents[2]
MODULE = "tests.support.without_litellm"
PROVIDER = {"model": "openai/gpt-5-nano", "api_key": "sk-nobody-takes-this-one"}


@pytest.fixture
async def telegram() -> AsyncIterator[TelegramServer]:
    async with TelegramServer(token=TOKEN) as server:
        server.person(OWNER, "Olga")
        yield server


def configured(folder: Path, telegram: TelegramServer, model: dict[str, str]) -> Path:
    platform = {"token": TOKEN, "base_url": telegram.base_url, "paced": False}
    return write_config(
        folder,
        telegram=platform,
        models={"parent": model},
        access={"owners": [f"telegram:{OWNER}"]},
    )


async def test_commands_are_answered_and_a_message_is_told_what_to_install(
    tmp_path: Path, telegram: TelegramServer
) -> None:
    config = configured(tmp_path, telegram, PROVIDER)
    async with GatewayProcess(config, module=MODULE) as gateway:
        telegram.say(OWNER, OWNER, "/help")
        await telegram.wait_for_message(OWNER, "/branch")
        telegram.say(OWNER, OWNER, "Good morning")
        told = await telegram.wait_for_message(OWNER, "could not answer")
        gateway.terminate()
        await gateway.wait()
    assert MISSING in words(told)
    assert any(MISSING in line for line in gateway.log)
    assert not any("Traceback" in line for line in gateway.log)


async def test_scripted_models_answer_and_nothing_is_said_to_be_missing(
    tmp_path: Path, telegram: TelegramServer
) -> None:
    rules = [{"when": {"tier": "parent"}, "reply": {"text": "you said: {last}"}}]
    config = configured(tmp_path, telegram, {"model": write_rules(tmp_path, rules)})
    async with GatewayProcess(config, module=MODULE) as gateway:
        telegram.say(OWNER, OWNER, "Good morning")
        await telegram.wait_for_message(OWNER, "you said: Good morning")
    assert not any("litellm" in line for line in gateway.log)


async def test_the_doctor_says_what_to_install(tmp_path: Path, telegram: TelegramServer) -> None:
    config = configured(tmp_path, telegram, PROVIDER)
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", MODULE, "doctor", "--config", str(config)),
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    said = (await process.communicate())[0].decode()
    assert process.returncode == 1
    (line,) = (each for each in said.splitlines() if each.startswith("FAIL  model"))
    assert line.endswith(MISSING)
    assert "Traceback" not in said


def test_the_versions_that_are_named_are_those_that_the_package_asks_for() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    (wanted,) = (each for each in project["dependencies"] if re.match(r"litellm\b", each))
    assert f"pip install '{wanted}'" == CURE
