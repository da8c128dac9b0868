"""How long it takes from the command to its help, to being ready for updates, and to the first
answer through litellm."""

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
from tests.benchmarks.wire import RULES, Model, Telegram, config
from tests.stand_ins.discord import DiscordServer

TIMES = 5
CHAT = 1001
BAR_HELP = 0.3
BAR_READY = 2.5
BOUGH = Path(sys.executable).with_name("bough")
BAR_ANSWER = 1.2
"""Times what the bare script takes."""
BARE = """\
import sys, litellm
litellm.completion(
    "openai/any", [{"role": "user", "content": "Hello"}], api_base=sys.argv[1], api_key="none"
)
"""
PACKAGES = ("gateway", "adapters", "agent", "storage")


async def run() -> list[Figure]:
    for package in PACKAGES:
        compileall.compile_dir(PROJECT / package, quiet=1)
    answer, bare = await _first_answers()
    return [
        Figure(
            "first answer through litellm, from the command",
            answer,
            "s",
            bar=BAR_ANSWER * bare,
            peer=bare,
            peer_name="bare script",
        ),
        Figure("bough --help", await _median(_help), "s", bar=BAR_HELP),
        Figure("bough run, ready on Telegram", await _median(_telegram), "s", bar=BAR_READY),
        Figure("bough run, ready on Discord", await _median(_discord), "s", bar=BAR_READY),
    ]


async def _median(measure: Callable[[], Awaitable[float]]) -> float:
    await measure()  # What is not in the disk cache, or was never compiled, is then.
    return median([await measure() for _ in range(TIMES)])


async def _first_answers() -> tuple[float, float]:
    """Medians of ours and of the bare script's, which take turns."""
    with scratch() as folder:
        rules = folder / "model.yaml"
        rules.write_text(RULES, encoding="utf-8")
        async with Model(rules) as model:
            await _bare(model)
            rounds = [(await _first_answer(model), await _bare(model)) for _ in range(TIMES)]
    ours, bare = (median(times) for times in zip(*rounds, strict=True))
    return ours, bare


async def _first_answer(model: Model) -> float:
    """Until the answer to a message that was there before the start, with a new database."""
    remote = {"model": "openai/any", "api_base": model.url, "api_key": "none"}
    with scratch() as folder:
        async with Telegram() as telegram:
            file = config(folder, telegram, **remote)
            telegram.say(CHAT, CHAT, "Hello")
            began = time.perf_counter()
            async with running(BOUGH, "run", "--config", file):
                await telegram.wait_for(lambda: bool(telegram.calls("sendMessage")), PATIENCE)
                return time.perf_counter() - began


async def _bare(model: Model) -> float:
    """Until a script has imported litellm and has had one answer."""
    began = time.perf_counter()
    more = {"LITELLM_LOCAL_MODEL_COST_MAP": "True"}
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-c", BARE, model.url, env=environment() | more
    )
    if await process.wait():
        raise RuntimeError("the bare script failed")
    return time.perf_counter() - began


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
        "discord": {"token": "token", **discord.urls},
        "access": {"owners": ["discord:1"]},
    }
    return write_config(folder / "bough.toml", sections)
