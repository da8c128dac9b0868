"""The stand-ins of the tests with a stopwatch, and bots that are measured through them."""

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from aiohttp import web

from tests.benchmarks.processes import PATIENCE, gateway, running, write_config
from tests.stand_ins.model import ModelServer
from tests.stand_ins.telegram import Call, TelegramServer

PAUSE = 0.02
"""Seconds between two messages, so that what a bot does after its answer is not in the way of the
next."""

RULES = """\
rules:
  - reply: {text: "You said: {last}"}
"""


class Telegram(TelegramServer):
    """Measures turns, one at a time: from an update written to a bot until the bot's sendMessage
    is here."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self._handed_out = 0.0
        self._arrivals: asyncio.Queue[float] = asyncio.Queue()

    async def turn(self, chat: int, text: str, **more: Any) -> float:
        """Seconds. More: what comes with the text."""
        self.say(chat, chat, text, **more)
        async with asyncio.timeout(PATIENCE):
            arrived = await self._arrivals.get()
        return arrived - self._handed_out

    async def polled(self) -> None:
        """Wait until a bot waits for updates."""
        await self.wait_for(
            lambda: any(call.params.get("timeout") for call in self.calls("getUpdates")), PATIENCE
        )

    async def _answer(self, request: web.Request, call: Call) -> web.StreamResponse:
        if call.method == "sendMessage":
            self._arrivals.put_nowait(call.time)
        response = await super()._answer(request, call)
        if call.method == "getUpdates" and call.result:
            await _write(request, response)
            self._handed_out = time.perf_counter()
        return response


class Model(ModelServer):
    """Adds up what it takes, from a request's arrival until its answer is written."""

    spent = 0.0
    """Seconds."""

    async def _chat(self, request: web.Request) -> web.StreamResponse:
        began = time.perf_counter()
        response = await super()._chat(request)
        await _write(request, response)
        self.spent += time.perf_counter() - began
        return response


async def _write(request: web.Request, response: web.StreamResponse) -> None:
    await response.prepare(request)
    await response.write_eof()


def config(folder: Path, telegram: TelegramServer, **model: str) -> Path:
    """A configuration for a gateway on this Telegram; without a model, for a scripted one."""
    rules = folder / "rules.yaml"
    rules.write_text(RULES, encoding="utf-8")
    sections: dict[str, dict[str, Any]] = {
        "storage": {"url": f"sqlite:///{folder / 'bough.db'}"},
        "telegram": {"token": telegram.token, "base_url": telegram.base_url, "paced": False},
        "models.parent": model or {"model": f"scripted:{rules}"},
        "access": {"allow": ["telegram:*"], "owners": ["telegram:1"]},
    }
    return write_config(folder / "bough.toml", sections)


@asynccontextmanager
async def bough(telegram: Telegram, file: Path) -> AsyncIterator[None]:
    """A gateway that runs as long as the block, ready for updates."""
    async with running(*gateway(file)):
        await telegram.polled()
        yield


async def alternate(
    players: Sequence[Callable[[], Awaitable[float]]], *, warm_up: int, rounds: int
) -> list[list[float]]:
    """What each player measured, in the order of the players; they take turns, so that what else
    the machine does is shared."""
    measured: list[list[float]] = [[] for _ in players]
    for round_ in range(warm_up + rounds):
        for player, times in zip(players, measured, strict=True):
            seconds = await player()
            if round_ >= warm_up:
                times.append(seconds)
            await asyncio.sleep(PAUSE)
    return measured
