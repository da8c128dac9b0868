"""How fast /stop reaches everybody below: three orchestrators, each with three children that wait
for their model. The gateway and its database are real; the models only ever delegate or wait."""

import asyncio
import time
from pathlib import Path
from statistics import median

from adapters.recording import RecordingAdapter
from agent.models.base import Reply, Request
from agent.models.scripted import Rule, ScriptedModel
from gateway.app import bootstrap
from gateway.configuration.config import Config
from tests.benchmarks.figures import Figure
from tests.benchmarks.processes import PATIENCE, scratch

ROUNDS = 10
WIDTH = 3
"""Orchestrators, and children of each."""
DESCENDANTS = WIDTH * WIDTH
BAR_SECONDS = 1.0


class Waiting:
    """A model that delegates where the rules say so, and never answers anybody else."""

    def __init__(self) -> None:
        below = [{"goal": "wait"}] * WIDTH
        middle = [{"goal": "orchestrate", "role": "orchestrator"}] * WIDTH
        self._delegate = ScriptedModel(
            [_delegates("^go", middle), _delegates("Task: orchestrate", below)]
        )
        self.waiting = 0
        self.last_cut = 0.0
        """When a call was last cancelled, on the clock of time.perf_counter."""
        self.changed = asyncio.Condition()

    async def complete(self, request: Request) -> Reply:
        if "Task: wait" not in str(request.messages[-1]["content"]):
            return await self._delegate.complete(request)
        await self._count(1)
        try:
            return await asyncio.Future[Reply]()
        finally:
            self.last_cut = time.perf_counter()
            self.waiting -= 1

    async def _count(self, more: int) -> None:
        async with self.changed:
            self.waiting += more
            self.changed.notify_all()

    async def all_wait(self) -> None:
        async with asyncio.timeout(PATIENCE), self.changed:
            await self.changed.wait_for(lambda: self.waiting == DESCENDANTS)


def _delegates(last: str, tasks: list[dict[str, str]]) -> Rule:
    call = {"name": "delegate_task", "arguments": {"tasks": tasks}}
    return Rule.model_validate({"when": {"last": last}, "reply": {"tool_calls": [call]}})


async def run() -> list[Figure]:
    with scratch() as folder:
        cut, told = await _measure(folder)
    name = f"/stop → {DESCENDANTS} descendants"
    return [
        Figure(f"{name} cut, p50", 1e3 * median(cut), "ms", bar=1e3 * BAR_SECONDS),
        Figure(f"{name} cut, worst", 1e3 * max(cut), "ms", bar=1e3 * BAR_SECONDS),
        Figure(f"{name} on record and said, p50", 1e3 * median(told), "ms"),
    ]


async def _measure(folder: Path) -> tuple[list[float], list[float]]:
    """Seconds from /stop to the last call that was cut, and to the answer; for each round."""
    chat, model = RecordingAdapter("telegram"), Waiting()
    app = await bootstrap(_config(folder), adapters=[chat], model=model)
    running = asyncio.create_task(app.run())
    try:
        rounds = [await _round(str(number), chat, model) for number in range(ROUNDS)]
    finally:
        running.cancel()
        await asyncio.wait([running])
    return [cut for cut, _ in rounds], [told for _, told in rounds]


async def _round(name: str, chat: RecordingAdapter, model: Waiting) -> tuple[float, float]:
    await chat.say("go", chat=name)
    await model.all_wait()
    began = time.perf_counter()
    await chat.say("/stop", chat=name)
    async with asyncio.timeout(PATIENCE):
        await chat.wait_for(lambda _: "Stopped." in chat.texts(name))
    told = time.perf_counter()
    assert model.waiting == 0
    return model.last_cut - began, told - began


def _config(folder: Path) -> Config:
    return Config.model_validate(
        {
            "storage": {"url": f"sqlite:///{folder / 'bough.db'}"},
            "access": {"owners": ["telegram:*"]},
            "delegation": {"max_spawn_depth": 2, "max_concurrent_children": WIDTH},
        }
    )
