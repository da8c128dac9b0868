"""Processes that each do a part: one receives, one sends, one is a chat in a terminal."""

import asyncio
import logging
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from adapters.base import Adapter
from adapters.recording import RecordingAdapter
from agent.models.scripted import Answer, Rule
from gateway.app import bootstrap
from gateway.configuration.config import Config
from gateway.processes.roles import Role
from gateway.processes.shares import DELIVERY
from gateway.running.service import App
from tests.flow.telegram_gateway import OWNER, PATIENCE, TelegramGateway, configuration
from tests.stand_ins.model import ModelServer
from tests.stand_ins.telegram import TelegramServer


@asynccontextmanager
async def serving(config: Config, role: Role, *adapters: Adapter) -> AsyncIterator[App]:
    """`adapters`: instead of those of the configuration."""
    app, ready = await bootstrap(config, role=role, adapters=adapters or None), asyncio.Event()
    task = asyncio.create_task(app.run(ready=ready))
    try:
        async with asyncio.timeout(PATIENCE):
            await ready.wait()
        yield app
    finally:
        task.cancel()
        await asyncio.wait([task])


async def test_what_one_process_receives_another_one_sends(
    tmp_path: Path, postgres_url: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    async with TelegramServer(token="1000:a-secret-token") as telegram, ModelServer([]) as models:
        telegram.person(OWNER, "Olga")
        raw = configuration(tmp_path, telegram, models) | {"storage": {"url": postgres_url}}
        config, people = Config.model_validate(raw), TelegramGateway(telegram, models, raw)
        async with serving(config, Role.WORKER), serving(config, Role.INGRESS) as ingress:
            people.say("/help")
            await telegram.wait_for(lambda: not telegram.world.pending, PATIENCE)
            pending = await ingress.store.read(lambda tx: tx.outbox.pending())
            assert pending and not telegram.messages(OWNER), "nobody is there who sends"
            assert {"worker", "ingress"} <= set(re.findall(r"Role: (\w+)", caplog.text))
            assert "bough.toml is not there, so defaults" in caplog.text
            async with serving(config, Role.DELIVERY):
                await people.hears("/new")
        assert telegram.violations == []


async def test_a_chat_in_a_terminal_keeps_no_answer_from_the_other_platforms(
    tmp_path: Path, postgres_url: str
) -> None:
    rules = [Rule(reply=Answer(text="It is **bold**."))]
    async with (
        TelegramServer(token="1000:a-secret-token") as telegram,
        ModelServer(rules) as models,
    ):
        telegram.person(OWNER, "Olga")
        raw = configuration(tmp_path, telegram, models) | {"storage": {"url": postgres_url}}
        config, people = Config.model_validate(raw), TelegramGateway(telegram, models, raw)
        async with (
            serving(config, Role.ALL, RecordingAdapter(name="terminal")) as terminal,
            serving(config, Role.INGRESS),
            serving(config, Role.DELIVERY) as delivery,
        ):
            assert not terminal.duties.mine(DELIVERY)
            assert delivery.duties.part(DELIVERY) == 1.0, "who can send has all of the chats"
            people.say("write it bold")
            await people.hears("It is bold.")
        assert telegram.violations == []


@pytest.mark.parametrize("role", Role)
async def test_only_who_calls_models_loads_what_that_takes(
    tmp_path: Path, postgres_url: str, role: Role
) -> None:
    models = {"parent": {"model": "openai/gpt-5-nano", "api_key": "key"}}
    config = Config.model_validate({"storage": {"url": postgres_url}, "models": models})
    app = await bootstrap(config, role=role, adapters=[RecordingAdapter()])
    try:
        assert (app.platforms.loading.load is not None) == role.works
    finally:
        await app.store.close()
