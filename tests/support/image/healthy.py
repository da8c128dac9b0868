"""An image that runs: healthy, answering, confined, and ended by its own signal in time."""

import asyncio
import os
import shutil
import signal
import time
from pathlib import Path

from tests.stand_ins.telegram import TelegramServer
from tests.support.image.clean_root import Built

OWNER = 1001
TOKEN = "1000:a-secret-token"
STARTING = 90.0
"""Seconds until it must be healthy, as HEALTHCHECK has them, with its first looks."""
DRAIN = 20.0
"""Seconds: the default of `[server] drain`."""


async def prove(built: Built, folder: Path) -> None:
    """SystemExit, saying what is wrong, where it does not keep what the Dockerfile promises."""
    data = folder / "data"
    shutil.rmtree(data, ignore_errors=True)
    data.mkdir(mode=0o700)
    user = int(built.stage.user.partition(":")[0])
    os.chown(data, user, user)
    async with TelegramServer(token=TOKEN) as telegram:
        telegram.person(OWNER, "Olga")
        environment = {
            "BOUGH_TELEGRAM__TOKEN": TOKEN,
            "BOUGH_TELEGRAM__BASE_URL": telegram.base_url,
            "BOUGH_ACCESS__OWNERS": f"telegram:{OWNER}",
        }
        words = [*built.stage.entrypoint, *built.stage.command]
        process = await asyncio.create_subprocess_exec(*built.command(words, data, environment))
        try:
            await _becomes_healthy(built, data, environment, process)
            pid = _inside(process.pid)
            _confined(pid, user)
            telegram.say(OWNER, OWNER, "/help")
            await telegram.wait_for_message(OWNER, "/branch")
            telegram.say(OWNER, OWNER, "hello")
            await telegram.wait_for_message(OWNER, "demo model")
            print(f"memory: {_memory(pid):.0f} MB, with the demo model")
            begun = time.monotonic()
            os.kill(pid, getattr(signal, built.stage.stop_signal))
            async with asyncio.timeout(DRAIN + 5):
                status = await process.wait()
            print(f"ended with status {status} after {time.monotonic() - begun:.1f} s")
        finally:
            if process.returncode is None:
                process.kill()
                await process.wait()
    if status != 0:
        raise SystemExit(f"it ended with status {status}")
    print("healthy, not root, on a read-only root; answered; ended in time")


async def _becomes_healthy(
    built: Built, data: Path, environment: dict[str, str], process: asyncio.subprocess.Process
) -> None:
    """By the image's own HEALTHCHECK."""
    begun = time.monotonic()
    command = built.command(built.stage.health, data, environment)
    while time.monotonic() - begun < STARTING:
        if process.returncode is not None:
            raise SystemExit(f"it ended with status {process.returncode} before it was healthy")
        look = await asyncio.create_subprocess_exec(*command, stderr=asyncio.subprocess.DEVNULL)
        if await look.wait() == 0:
            print(f"healthy after {time.monotonic() - begun:.1f} s")
            return
        await asyncio.sleep(0.5)
    raise SystemExit(f"it is not healthy after {STARTING:g} s")


def _inside(pid: int) -> int:
    """Of bough itself: the only child of the program that confines it."""
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return int(children[0]) if children else pid


def _memory(pid: int) -> float:
    """MB that are resident."""
    status = Path(f"/proc/{pid}/status").read_text()
    line = next(line for line in status.splitlines() if line.startswith("VmRSS"))
    return int(line.split()[1]) / 1000


def _confined(pid: int, user: int) -> None:
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    status = {name: value.split() for name, _, value in (line.partition(":") for line in lines)}
    if set(status["Uid"]) != {str(user)}:
        raise SystemExit(f"it runs as user {status['Uid']}")
    for held in ("CapEff", "CapPrm", "CapInh", "CapAmb"):
        if int(status[held][0], 16):
            raise SystemExit(f"it has capabilities: {held} {status[held][0]}")
    if status["NoNewPrivs"] != ["1"] or status["NSpid"][-1] != "1":
        raise SystemExit(f"NoNewPrivs {status['NoNewPrivs']}, NSpid {status['NSpid']}")
