"""SIGTERM, as service managers send it, and a second gateway on the same database."""

import re
from pathlib import Path

import pytest

from tests.crash.patience import until
from tests.crash.rules import rules
from tests.crash.scene import ANN, Scene, scene
from tests.support.gateway_process import GatewayProcess, write_rules

pytestmark = [pytest.mark.crash, pytest.mark.asyncio(loop_scope="module")]

AT_ONCE = {"drain": "0s"}


async def test_stopped_in_the_middle_of_a_turn_it_ends_well_and_answers_later(
    tmp_path: Path,
) -> None:
    slow = {"parent": {"model": write_rules(tmp_path, rules(delay=600))}}
    async with scene(tmp_path, slow, server=AT_ONCE) as running:
        await begun(running)
        running.gateway.terminate()
        assert await running.gateway.wait() == 0
        write_rules(tmp_path, rules())
        await running.gateway.start()
        await running.ends("answer to hello")


async def begun(running: Scene) -> None:
    """A turn runs."""
    running.telegram.say(ANN, ANN, "hello")
    await running.telegram.typing()


async def told(running: Scene, words: str) -> None:
    await until(lambda: any(words in line for line in running.gateway.log))


async def test_a_turn_that_runs_may_end_and_its_answer_is_sent(tmp_path: Path) -> None:
    slow = {"parent": {"model": write_rules(tmp_path, rules(delay=5))}}
    async with scene(tmp_path, slow, server={"drain": "60s"}) as running:
        await begun(running)
        running.gateway.terminate()
        await told(running, "Stopping: waiting 60 s at most for 1 turn")
        running.telegram.say(ANN, ANN, "and this?")
        assert await running.gateway.wait() == 0
        assert running.telegram.texts() == ["answer to hello"]
        write_rules(tmp_path, rules())
        await running.gateway.start()
        await running.ends("answer to hello", "answer to and this?")


async def test_what_does_not_end_within_the_limit_is_cut_and_answered_later(
    tmp_path: Path,
) -> None:
    slow = {"parent": {"model": write_rules(tmp_path, rules(delay=60))}}
    async with scene(tmp_path, slow, server={"drain": "1s"}) as running:
        await begun(running)
        running.gateway.terminate()
        assert await running.gateway.wait() == 0
        assert any("not waiting any longer for 1 turn" in line for line in running.gateway.log)
        write_rules(tmp_path, rules())
        await running.gateway.start()
        await running.ends("answer to hello")


async def test_a_second_signal_stops_at_once(tmp_path: Path) -> None:
    slow = {"parent": {"model": write_rules(tmp_path, rules(delay=600))}}
    async with scene(tmp_path, slow, server={"drain": "10m"}) as running:
        await begun(running)
        running.gateway.terminate()
        await told(running, "Stopping: waiting")
        running.gateway.terminate()
        assert await running.gateway.wait() == 0


async def test_a_bot_that_has_nothing_to_do_stops_without_waiting(tmp_path: Path) -> None:
    async with scene(tmp_path, server={"drain": "10m"}) as running:
        running.telegram.say(ANN, ANN, "hello")
        await running.ends("answer to hello")
        await running.recorded_as_sent()
        running.gateway.terminate()
        assert await running.gateway.wait() == 0
        assert not any("waiting" in line for line in running.gateway.log)


async def test_what_is_to_be_sent_goes_out_before_the_end(running: Scene) -> None:
    running.telegram.fail_next("sendMessage", kind="slow", seconds=1)
    running.telegram.say(ANN, ANN, "tell tales")
    await until(lambda: running.telegram.calls("sendMessage"))
    running.gateway.terminate()
    assert await running.gateway.wait() == 0
    assert len(running.telegram.texts()) == 3
    assert running.database.unsent() == []


async def test_a_message_that_is_being_sent_is_still_sent_and_recorded(tmp_path: Path) -> None:
    async with scene(tmp_path, server=AT_ONCE) as running:
        await _is_still_sent(running)


async def _is_still_sent(running: Scene) -> None:
    running.telegram.fail_next("sendMessage", kind="slow", seconds=1)
    running.telegram.say(ANN, ANN, "tell tales")
    await until(lambda: running.telegram.calls("sendMessage"))
    running.gateway.terminate()
    assert await running.gateway.wait() == 0
    sent = running.telegram.texts()
    assert len(sent) == 1
    assert len(running.database.unsent()) == 2
    await running.gateway.start()
    await running.recorded_as_sent()
    assert running.telegram.texts()[0] == sent[0]
    assert len(set(running.telegram.texts())) == len(running.telegram.texts()) == 3


async def test_a_platform_that_hangs_does_not_keep_it_from_ending(tmp_path: Path) -> None:
    async with scene(tmp_path, server=AT_ONCE) as running:
        running.telegram.fail_next("sendMessage", kind="slow", seconds=600)
        running.telegram.say(ANN, ANN, "hello")
        await until(lambda: running.telegram.calls("sendMessage"))
        running.gateway.terminate()
        assert await running.gateway.wait() == 0


async def test_whoever_ends_it_before_it_serves_ends_it_well(
    running: Scene, tmp_path: Path
) -> None:
    """By the second signal of two; the first one is no reason to end."""
    config = tmp_path / "bough.toml"
    url = f'"url" = "sqlite:///{tmp_path}/bough.db"'
    text = running.gateway.config.read_text(encoding="utf-8")
    config.write_text(re.sub(r'"url" = "sqlite:[^"]*"', url, text), encoding="utf-8")
    starting = GatewayProcess(config)
    running.telegram.fail_next("getMe", times=100, kind="slow", seconds=600)
    await starting.launch()
    await until(lambda: (tmp_path / "bough.db").exists())
    starting.hang_up()
    starting.terminate()
    assert await starting.wait() == 0
    assert not any("Traceback" in line for line in starting.log)


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
