"""The life of a gateway's process, here with its signals sent to this one."""

import asyncio
import logging
import os
import signal
from pathlib import Path

import pytest

from adapters.recording import RecordingAdapter
from gateway.app import bootstrap
from gateway.configuration.config import Config
from gateway.running.process.lifecycle import Lifecycle
from storage.sql.store import SqlStore
from tests.flow.conftest import PATIENCE, SpyModel

ACCESS = {"access": {"allow": ["telegram:*"], "owners": ["telegram:1"]}}
LONGEST = 600.0


class Platform(RecordingAdapter):
    """One that takes its time to sign off: longer than there are looks for what still runs."""

    closed = False

    async def close(self) -> None:
        await asyncio.sleep(0.2)
        await super().close()
        self.closed = True


async def test_a_second_signal_breaks_off_the_turn_and_not_the_closing(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    chat = Platform(name="telegram")
    model = SpyModel([{"reply": {"text": "never", "delay": LONGEST}}])
    app = await bootstrap(
        Config.model_validate(ACCESS),
        adapters=[chat],
        store=await SqlStore.open(f"sqlite:///{tmp_path / 'bough.db'}"),
        model=model,
    )
    living = asyncio.create_task(Lifecycle(app, limit=lambda: LONGEST).run())
    async with asyncio.timeout(PATIENCE):
        await app.platforms.some_ready.wait()
        await chat.say("hello")
        await model.called("parent")
        os.kill(os.getpid(), signal.SIGTERM)
        while "Again: at once" not in caplog.text:
            await asyncio.sleep(0.01)
        os.kill(os.getpid(), signal.SIGTERM)
        with pytest.raises(asyncio.CancelledError):
            await living
    assert chat.closed
