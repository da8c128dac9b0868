"""How long it takes from the command to its help, and to being ready for updates."""

import asyncio
import compileall
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from statistics import median
from typing import Any

from tests.benchmarks.figures import Figure
from tests.benchmarks.processes import (
    PATIENCE,
    PROJECT,
    environment,
    running,
    scratch,
    write_config,
)
from tests.benchmarks.wire import Telegram, config
from tests.stand_ins.discord import DiscordServer

TIMES = 5
BAR_HELP = 0.3
BAR_READY = 2.5
BOUGH = Path(sys.executable).with_name("bough")
PACKAGES = ("gateway", "adapters", "agent", "storage")


async def run() -> list[Figure]:
    for package in PACKAGES:
        compileall.compile_dir(PROJECT / package, quiet=1)
    return [
        Figure("bough --help", await _median(_help), "s", bar=BAR_HELP),
        Figure("bough run, ready on Telegram", await _median(_telegram), "s", bar=BAR_READY),
        Figure("bough run, ready on Discord", await _median(_discord), "s", bar=BAR_READY),
    ]


async def _median(measure: Callable[[], Awaitable[float]]) -> float:
    await measure()  # What is not in the disk cache, or was never compiled, is then.
    return median([await measure() for _ in range(TIMES)])


async def _help() -> float:
    began = time.perf_counter()
    process = await asyncio.create_subprocess_exec(
        BOUGH, "--help", stdout=subprocess.DEVNULL, env=environment()
    )
    await process.wait()
    return time.perf_counter() - began


async def _telegram() -> float:
    """Until the first long poll, with a new database."""
    with scratch() as folder:
        async with Telegram() as telegram:
            file = config(folder, telegram)
            began = time.perf_counter()
            async with running(BOUGH, "run", "--config", file):
                await telegram.polled()
                return time.perf_counter() - began


async def _discord() -> float:
    """Until Discord sends READY, with a new database."""
    with scratch() as folder:
        async with DiscordServer("token") as discord:
            file = _discord_config(folder, discord)
            began = time.perf_counter()
            async with running(BOUGH, "run", "--config", file):
                await discord.wait_for(lambda: discord.gateway.identified, PATIENCE)
                return time.perf_counter() - began


def _discord_config(folder: Path, discord: DiscordServer) -> Path:
    sections: dict[str, dict[str, Any]] = {
        "storage": {"url": f"sqlite:///{folder / 'bough.db'}"},
        "discord": {
            "token": "token",
            "api_base": discord.api_base,
            "gateway_url": discord.gateway_url,
        },
        "access": {"owners": ["discord:1"]},
    }
    return write_config(folder / "bough.toml", sections)
