"""How many turns one gateway does on SQLite as it is run: through the wire of Telegram and, by
litellm, of a model; and what a turn costs its process.

The stand-ins and the people are this process, on the same cores, so turns a second are a lower
bound; the CPU is the gateway's alone.
"""

import asyncio
import time
from functools import partial

import psutil

from tests.benchmarks.figures import Figure
from tests.benchmarks.processes import PATIENCE, scratch
from tests.benchmarks.wire import RULES, Model, Telegram, bough, config
from tests.stand_ins.telegram_world import words

CHATS = range(2001, 2101)
ROUNDS = 3
RUNS = 3
"""Of which the best counts: what else a machine does costs time, and CPU too."""


async def run() -> list[Figure]:
    with scratch() as folder:
        rules = folder / "model.yaml"
        rules.write_text(RULES, encoding="utf-8")
        async with Model(rules) as model, Telegram() as telegram:
            remote = {"model": "openai/any", "api_base": model.url, "api_key": "none"}
            async with bough(telegram, config(folder, telegram, **remote)):
                (gateway,) = psutil.Process().children()
                for chat in CHATS:
                    telegram.person(chat)
                await _talk(telegram, "warm up")
                measured = [await _measured(telegram, gateway, number) for number in range(RUNS)]
    rate, cpu = max(rate for rate, _ in measured), min(cpu for _, cpu in measured)
    return [
        Figure("wire, litellm, SQLite: turns, 100 chats", rate, "1/s", "at least"),
        Figure("wire, litellm, SQLite: CPU of a turn", cpu, "ms"),
    ]


async def _measured(
    telegram: Telegram, gateway: psutil.Process, number: int
) -> tuple[float, float]:
    """Turns a second, and milliseconds of the gateway's CPU for each."""
    turns = len(CHATS) * ROUNDS
    began, cpu = time.perf_counter(), _cpu(gateway)
    for round_ in range(ROUNDS):
        await _talk(telegram, f"run {number}, round {round_}")
    return turns / (time.perf_counter() - began), 1e3 * (_cpu(gateway) - cpu) / turns


def _cpu(process: psutil.Process) -> float:
    """Seconds."""
    times = process.cpu_times()
    return times.user + times.system


async def _talk(telegram: Telegram, text: str) -> None:
    """One message in each chat; returns once all are answered."""

    async def talk(chat: int) -> None:
        telegram.say(chat, chat, text)
        await telegram.wait_for(partial(_answered, telegram, chat, text), 4 * PATIENCE)

    await asyncio.gather(*map(talk, CHATS))


def _answered(telegram: Telegram, chat: int, text: str) -> bool:
    shown = telegram.messages(chat)
    return bool(shown) and f"You said: {text}" in words(shown[-1])
