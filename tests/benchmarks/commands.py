"""What a sandbox costs: `true` in it beside a bare subprocess, and a hundred commands at once."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from statistics import median

from agent.tools.terminal.sandbox.launcher import Bubblewrap, look
from agent.tools.terminal.sandbox.limits import Limits
from agent.tools.terminal.sandbox.output import Output
from agent.tools.terminal.sandbox.place import prepare
from agent.tools.terminal.sandbox.process import Order, Running
from tests.benchmarks.figures import Figure
from tests.benchmarks.processes import scratch

ROUNDS = 30
TOGETHER = 100
BAR_OVERHEAD = 0.1
"""Seconds."""


async def run() -> list[Figure]:
    with scratch() as folder:
        limits = Limits()
        place = prepare(folder / "workspace", (), ())
        launcher = Bubblewrap(look(), place, limits, network=False)

        async def confined() -> None:
            order = Order("true", (), place.root, {}, 60.0, place.root)
            ended = await Running(order, limits, Output(limits.kept)).run(launcher)
            assert ended.status == 0

        sandboxed, bare = await _alone(confined), await _alone(_bare)
        began = time.perf_counter()
        await asyncio.gather(*(confined() for _ in range(TOGETHER)))
        together = time.perf_counter() - began
    return [
        Figure(
            "a sandboxed `true`, p50",
            1_000 * sandboxed,
            "ms",
            bar=1_000 * (bare + BAR_OVERHEAD),
            peer=1_000 * bare,
            peer_name="a bare subprocess",
        ),
        Figure(f"{TOGETHER} sandboxed commands side by side", together, "s"),
    ]


async def _bare() -> None:
    process = await asyncio.create_subprocess_exec("true", cwd=Path("/"))
    await process.wait()


async def _alone(once: Callable[[], Awaitable[None]]) -> float:
    """Seconds, in the median."""
    taken = []
    for _ in range(ROUNDS):
        began = time.perf_counter()
        await once()
        taken.append(time.perf_counter() - began)
    return median(taken)
