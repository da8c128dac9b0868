"""SIGHUP with a configuration that is broken, gone or not to be taken over, again and again, and
beside a stop: the gateway goes on with what it has."""

import shutil
import signal
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

from tests.crash.patience import until
from tests.crash.rules import rules
from tests.crash.scene import ANN, BEN, Scene, scene
from tests.crash.test_read_anew import MUTED, read_anew, rewrite
from tests.support.gateway_process import write_rules

pytestmark = [pytest.mark.crash, pytest.mark.asyncio(loop_scope="module")]


def gone(config: Path) -> None:
    config.unlink()


def folder(config: Path) -> None:
    config.unlink()
    config.mkdir()


def no_toml(config: Path) -> None:
    with config.open("a", encoding="utf-8") as file:
        file.write("\n[telegram\n")


def no_text(config: Path) -> None:
    config.write_bytes(b"\xff\xfe\x00")


def unknown_key(config: Path) -> None:
    with config.open("a", encoding="utf-8") as file:
        file.write("\n[telgram]\ntoken = 1\n")


async def answers(running: Scene, text: str) -> None:
    running.telegram.say(ANN, ANN, text)
    await running.telegram.hears(f"answer to {text}")


async def test_a_file_that_cannot_be_read_changes_nothing(tmp_path: Path) -> None:
    async with scene(tmp_path, access=MUTED) as running:
        config = running.gateway.config
        right = config.read_text(encoding="utf-8")
        breaks: tuple[Callable[[Path], None], ...] = (gone, folder, no_toml, no_text, unknown_key)
        for number, spoil in enumerate(breaks):
            spoil(config)
            await read_anew(running, "The configuration was not taken over, all stays as it was.")
            await answers(running, f"still here {number}")
            if config.is_dir():
                shutil.rmtree(config)
            config.write_text(right, encoding="utf-8")
        await read_anew(running, "Configuration read anew: nothing of it has changed")
        assert not any("Traceback" in line for line in running.gateway.log)


async def test_a_platform_that_is_taken_out_is_served_until_the_next_start(
    tmp_path: Path,
) -> None:
    async with scene(tmp_path) as running:
        config = running.gateway.config
        lines = config.read_text(encoding="utf-8").splitlines()
        kept = [line for line in lines if not line.startswith("telegram")]
        assert len(kept) < len(lines)
        config.write_text("\n".join(kept), encoding="utf-8")
        await read_anew(running, "Takes effect at the next start: telegram")
        await answers(running, "still here")


async def test_many_wishes_at_once_beside_work_are_one_or_a_few(tmp_path: Path) -> None:
    slow = {"parent": {"model": write_rules(tmp_path, rules(delay=1))}}
    async with scene(tmp_path, slow, access=MUTED) as running:
        for number in range(5):
            running.telegram.say(ANN, ANN, f"number {number}")
        rewrite(running, 'access = {"owners"', f'access = {{"allow" = ["telegram:{BEN}"], "owners"')
        for _ in range(30):
            running.gateway.hang_up()
        await until(lambda: any("read anew: access.allow" in line for line in running.gateway.log))
        running.telegram.say(BEN, BEN, "hello")
        await running.telegram.hears("answer to hello", BEN)
        await running.telegram.hears("number 4")
        assert not any("Traceback" in line for line in running.gateway.log)


async def test_signals_of_all_kinds_at_once_end_it_well(tmp_path: Path) -> None:
    slow = {"parent": {"model": write_rules(tmp_path, rules(delay=600))}}
    async with scene(tmp_path, slow, server={"drain": "10m"}) as running:
        running.telegram.say(ANN, ANN, "hello")
        await running.telegram.typing()
        with suppress(ProcessLookupError):  # it saw two before all were sent, and has ended
            for _ in range(5):
                running.gateway.hang_up()
                running.gateway.terminate()
        # Of several that come at once, a process may see one, or two before it has said anything.
        await until(lambda: any("Stopping" in line for line in running.gateway.log))
        with suppress(ProcessLookupError):  # it saw more than one, and has ended
            running.gateway.hang_up()
            running.gateway.terminate()
        assert await running.gateway.wait() == 0
        assert not any("Traceback" in line for line in running.gateway.log)
        write_rules(tmp_path, rules())
        await running.gateway.start()
        await running.ends("answer to hello")


async def test_two_signals_that_come_at_the_same_time_end_it(tmp_path: Path) -> None:
    slow = {"parent": {"model": write_rules(tmp_path, rules(delay=600))}}
    async with scene(tmp_path, slow, server={"drain": "10m"}) as running:
        running.telegram.say(ANN, ANN, "hello")
        await running.telegram.typing()
        running.gateway.freeze()
        running.gateway.terminate()
        running.gateway._signal(signal.SIGINT)
        running.gateway.thaw()
        assert await running.gateway.wait() == 0


async def test_the_file_in_its_folder_must_stay_there_where_it_was_read_at_the_start(
    tmp_path: Path,
) -> None:
    async with scene(tmp_path, access=MUTED) as running:
        running.gateway.terminate()
        assert await running.gateway.wait() == 0
        running.gateway._arguments = ("run",)
        await running.gateway.start()
        gone(running.gateway.config)
        await read_anew(running, "The configuration was not taken over, all stays as it was.")
        await answers(running, "still an owner")
