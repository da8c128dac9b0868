"""A real, small file system that fills up under a running gateway, and is freed again."""

import asyncio
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.crash.patience import until
from tests.crash.scene import ANN, scene

pytestmark = pytest.mark.crash

MEGABYTES = 4
WORDS = [f"word {number}" for number in range(5)]


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    folder = tmp_path / "disk"
    folder.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", f"size={MEGABYTES}m", "tmpfs", str(folder)]
    if os.geteuid() != 0 or subprocess.run(command, check=False).returncode != 0:
        pytest.skip("NOT TESTED: a full disk needs root, and to be allowed to mount")
    yield folder
    subprocess.run(["umount", "--lazy", str(folder)], check=True)


def fill(folder: Path) -> Path:
    ballast = folder / "ballast"
    with ballast.open("wb", buffering=0) as file:
        try:
            while file.write(b"x" * 4096):
                pass
        except OSError:
            return ballast
    raise AssertionError


async def test_a_full_disk_is_waited_out_and_nothing_is_lost(
    tmp_path: Path, small_disk: Path
) -> None:
    url = f"sqlite:///{small_disk}/bough.db"
    (tmp_path / "bough.db").symlink_to(small_disk / "bough.db")
    sections = {"storage": {"url": url}, "session": {"busy": "queue"}}
    async with scene(tmp_path, **sections) as running:
        running.telegram.say(ANN, ANN, "first")
        await running.telegram.hears("answer to first")
        await running.recorded_as_sent()
        ballast = fill(small_disk)
        for word in WORDS:
            running.telegram.say(ANN, ANN, word + " " + "long " * 700)
        await until(lambda: any("free some space" in line for line in running.gateway.log))
        await asyncio.sleep(3)  # so long that it is tried again several times
        assert running.gateway.running
        ballast.unlink()
        for word in WORDS:
            await running.telegram.hears(f"answer to {word}")
        await running.database.settled()
        log = "\n".join(running.gateway.log)
        assert "Traceback" not in log
        assert len([line for line in running.gateway.log if "ERROR" in line]) <= 6


async def test_a_start_on_a_full_disk_has_no_traceback(tmp_path: Path, small_disk: Path) -> None:
    url = f"sqlite:///{small_disk}/bough.db"
    (tmp_path / "bough.db").symlink_to(small_disk / "bough.db")
    async with scene(tmp_path, storage={"url": url}) as running:
        running.telegram.say(ANN, ANN, "delegate gone")
        question = await running.telegram.question()
        await running.database.settled()
        await running.gateway.kill()
        running.time_passes(600)
        ballast = fill(small_disk)
        await running.gateway.launch()
        # SQLite may not even get the WAL's index: then it ends in words. Else it waits, or goes on
        # with the room that it kept.
        words = ("its disk", "the disk of the database is full")
        await until(lambda: any(word in line for line in running.gateway.log for word in words))
        await asyncio.sleep(1)
        ballast.unlink()
        if not running.gateway.running:
            assert await running.gateway.wait() == 1
            await running.gateway.start()
        running.telegram.press(question, "Stop", ANN)
        await running.telegram.hears("gone is rejected by human")
        assert "Traceback" not in "\n".join(running.gateway.log)
