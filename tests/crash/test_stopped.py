"""SIGTERM, as service managers send it, and a second gateway on the same database."""

from pathlib import Path

import pytest

from tests.crash.patience import until
from tests.crash.rules import rules
from tests.crash.scene import ANN, Scene, scene
from tests.support.gateway_process import GatewayProcess, write_rules

pytestmark = [pytest.mark.crash, pytest.mark.asyncio(loop_scope="module")]

GRACE = 5.0
"""Seconds a gateway has to end when it is told to."""


async def test_stopped_in_the_middle_of_a_turn_it_ends_well_and_answers_later(
    tmp_path: Path,
) -> None:
    slow = {"parent": {"model": write_rules(tmp_path, rules(delay=60))}}
    async with scene(tmp_path, slow) as running:
        running.telegram.say(ANN, ANN, "hello")
        await until(lambda: running.database.open_rows() and running.database.open_rows()[0][1])
        running.gateway.terminate()
        assert await running.gateway.wait(GRACE) == 0
        write_rules(tmp_path, rules())
        await running.gateway.start()
        await running.ends("answer to hello")


async def test_a_message_that_is_being_sent_is_still_sent_and_recorded(running: Scene) -> None:
    running.telegram.fail_next("sendMessage", kind="slow", seconds=1)
    running.telegram.say(ANN, ANN, "tell tales")
    await until(lambda: running.telegram.calls("sendMessage"))
    running.gateway.terminate()
    assert await running.gateway.wait(GRACE) == 0
    sent = running.telegram.texts()
    assert len(sent) == 1
    assert len(running.database.unsent()) == 2
    await running.gateway.start()
    await running.recorded_as_sent()
    assert running.telegram.texts()[0] == sent[0]
    assert len(set(running.telegram.texts())) == len(running.telegram.texts()) == 3


async def test_a_platform_that_hangs_does_not_keep_it_from_ending(running: Scene) -> None:
    running.telegram.fail_next("sendMessage", kind="slow", seconds=60)
    running.telegram.say(ANN, ANN, "hello")
    await until(lambda: running.telegram.calls("sendMessage"))
    running.gateway.terminate()
    assert await running.gateway.wait(GRACE) == 0


async def test_a_second_gateway_on_the_same_database_refuses_with_one_line(
    running: Scene,
) -> None:
    second = GatewayProcess(running.gateway.config, forked=True)
    await second.launch()
    assert await second.wait() == 1
    (line,) = second.log
    assert line.startswith("bough: another bough uses ")
    assert str(running.gateway.config.with_name("bough.db")) in line
    running.telegram.say(ANN, ANN, "still there?")
    await running.ends("answer to still there?")
