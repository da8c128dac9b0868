"""Killed before, in and after what makes a turn of a schedule: it is made once, and done once."""

import sqlite3
import time
from collections.abc import AsyncIterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from tests.crash.patience import until
from tests.crash.scene import ANN, Scene, scene
from tests.support.gateway_process import write_rules

pytestmark = [pytest.mark.crash, pytest.mark.asyncio(loop_scope="module")]

DONE = "Watered."
WILL = "I will."


def _rules() -> list[dict[str, Any]]:
    later = {"name": "schedule", "arguments": {"when": "{1}", "text": "Water the plants."}}
    return [
        {"when": {"last": "^remind me in (\\w+)"}, "reply": {"tool_calls": [later]}},
        {"when": {"last": "<event"}, "reply": {"text": DONE}},
        {"when": {"last": "^Scheduled"}, "reply": {"text": WILL}},
        {"reply": {"text": "Yes."}},
    ]


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def shared(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Scene]:
    folder = tmp_path_factory.mktemp("gateway")
    models = {"parent": {"model": write_rules(folder, _rules())}}
    async with scene(folder, models, tools={"toolsets": ["schedule"]}) as started:
        yield started


@pytest_asyncio.fixture(loop_scope="module")
async def running(shared: Scene) -> Scene:
    await shared.restore()
    return shared


def schedules(running: Scene) -> list[tuple[str, float]]:
    """State and next time of each, the oldest first."""
    with closing(sqlite3.connect(_path(running))) as connection:
        return connection.execute("SELECT state, next FROM schedules ORDER BY id").fetchall()


def _path(running: Scene) -> Path:
    return running.gateway.config.with_name("bough.db")


async def asked(running: Scene, when: str) -> float:
    """Scheduled by a person; when it is due."""
    running.telegram.say(ANN, ANN, f"remind me in {when}")
    await running.telegram.hears(WILL)
    await running.quiet()
    return schedules(running)[-1][1]


async def test_killed_before_the_call_has_its_result_it_is_scheduled_once(running: Scene) -> None:
    before = len(schedules(running))
    running.database.stall("INSERT ON schedules")
    running.telegram.say(ANN, ANN, "remind me in 1h")
    await until(running.database.is_being_written)
    await running.gateway.kill()
    running.database.mend()
    assert len(schedules(running)) == before
    await running.gateway.start()
    await running.ends(WILL)
    assert len(schedules(running)) == before + 1


async def test_killed_after_the_call_has_its_result_it_is_scheduled_once(running: Scene) -> None:
    before = len(schedules(running))
    running.database.stall("INSERT ON entries", "instr(NEW.body, 'I will') > 0")
    running.telegram.say(ANN, ANN, "remind me in 1h")
    await running.killed_once(lambda: len(schedules(running)) > before)
    await running.gateway.start()
    await running.ends(WILL)
    assert len(schedules(running)) == before + 1


async def test_killed_in_the_transaction_that_fires_it_is_done_once(running: Scene) -> None:
    await asked(running, "2s")
    running.database.stall("INSERT ON inbox", "NEW.kind = 'event'")
    await until(running.database.is_being_written)
    await running.gateway.kill()
    running.database.mend()
    assert schedules(running)[-1][0] == "active"
    await running.gateway.start()
    await running.ends(WILL, DONE)
    assert schedules(running)[-1][0] == "done"


async def test_killed_once_it_is_fired_it_is_done_once(running: Scene) -> None:
    await asked(running, "2s")
    running.database.stall("INSERT ON entries", "instr(NEW.body, 'Water') > 0")
    await running.killed_once(lambda: schedules(running)[-1][0] == "done")
    await running.gateway.start()
    await running.ends(WILL, DONE)


async def test_killed_before_its_time_it_is_done_late_once(running: Scene) -> None:
    due = await asked(running, "1s")
    await running.gateway.kill()
    await until(lambda: time.time() > due)
    await running.gateway.start()
    await running.ends(WILL, DONE)
    await running.gateway.kill()
    await running.gateway.start()
    await running.quiet()
    assert running.telegram.texts() == [WILL, DONE]
