"""SIGTERM while another process holds the SQLite file: the end comes within the drain limit, says
what it waited for, and nothing is lost."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from tests.crash.patience import until
from tests.crash.rules import rules
from tests.crash.scene import ANN, Scene, scene
from tests.support.gateway_process import write_rules

pytestmark = [pytest.mark.crash, pytest.mark.asyncio(loop_scope="module")]

GRACE = 20.0
"""Seconds a gateway has to end when it is told to, at most: a third of what it waits for others
while it runs."""
DRAIN = {"drain": "1s"}
DEBUG = {"level": "debug"}


@contextmanager
def held(folder: Path) -> Iterator[None]:
    """The lock for writing."""
    with closing(sqlite3.connect(folder / "bough.db", timeout=60)) as other:
        other.execute("BEGIN IMMEDIATE")
        yield


async def waits(running: Scene) -> None:
    """Something is to be written."""
    await until(lambda: any("waiting until it lets go" in one for one in running.gateway.log))


async def has_an_answer_to_store(running: Scene) -> None:
    """The model has answered. What waits before that may be something that an end does not wait
    for."""
    await until(lambda: any("model call" in one for one in running.gateway.log))
    await waits(running)


async def ends_and_says_why(running: Scene) -> None:
    running.gateway.terminate()
    assert await running.gateway.wait(GRACE) == 0
    log = "\n".join(running.gateway.log)
    assert "not waiting any longer for another process, which holds" in log
    assert "Traceback" not in log


async def test_what_cannot_be_taken_in_comes_again(tmp_path: Path) -> None:
    async with scene(tmp_path, server=DRAIN) as running:
        with held(running.gateway.config.parent):
            running.telegram.say(ANN, ANN, "hello")
            await waits(running)
            await ends_and_says_why(running)
        await running.gateway.start()
        await running.ends("answer to hello")


async def test_an_answer_that_cannot_be_stored_is_written_again(tmp_path: Path) -> None:
    slow = {"parent": {"model": write_rules(tmp_path, rules(delay=3))}}
    async with scene(tmp_path, slow, server=DRAIN, log=DEBUG) as running:
        running.telegram.say(ANN, ANN, "hello")
        await running.telegram.typing()
        with held(running.gateway.config.parent):
            await has_an_answer_to_store(running)
            await ends_and_says_why(running)
        await running.gateway.start()
        await running.ends("answer to hello")


async def test_a_second_signal_ends_it_all_the_same(tmp_path: Path) -> None:
    slow = {"parent": {"model": write_rules(tmp_path, rules(delay=3))}}
    async with scene(tmp_path, slow, server={"drain": "10m"}, log=DEBUG) as running:
        running.telegram.say(ANN, ANN, "hello")
        await running.telegram.typing()
        with held(running.gateway.config.parent):
            running.gateway.terminate()
            await until(lambda: any("Stopping: waiting" in one for one in running.gateway.log))
            await has_an_answer_to_store(running)
            await ends_and_says_why(running)
        await running.gateway.start()
        await running.ends("answer to hello")
