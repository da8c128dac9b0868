"""One and two processes on one PostgreSQL, as they are run: real processes, the stand-in of
Telegram, a scripted model. How many turns they do together, what a message costs where it is taken
in by one process, answered by a second and sent by a third, and how long the chats of a worker that
was killed wait for another one.
"""

import asyncio
import time
from contextlib import AsyncExitStack
from functools import partial
from itertools import count
from pathlib import Path
from statistics import quantiles
from typing import Any

import psycopg

from tests.benchmarks.figures import Figure
from tests.benchmarks.load.gateways import postgres
from tests.benchmarks.processes import (
    PATIENCE,
    PROJECT,
    environment,
    gateway,
    running,
    scratch,
    write_config,
)
from tests.benchmarks.wire import RULES, Telegram
from tests.stand_ins.telegram_world import words

CHATS = range(2001, 2101)
ROUNDS = 3
ALONE = 100
BAR_TIMES_ONE = 1.5
BAR_PER_SECOND = 250.0
BAR_TAKEN_OVER = 15.0
BAR_WOKEN = 50.0
SLOW = 3.0
"""Seconds that a model takes whose process is killed meanwhile."""


async def run() -> list[Figure]:
    with scratch() as folder, postgres() as server:
        if server is None:
            return []
        one, _ = await _rate(folder, server.create(), 1)
        two, ours = await _rate(folder, server.create(), 2)
        apart, woken = await _apart(folder, server.create())
        over = await _taken_over(folder, server.create())
    cuts = quantiles((1e3 * each for each in apart), n=20)
    woken_cuts = quantiles((1e3 * each for each in woken), n=20)
    bar = max(BAR_PER_SECOND, BAR_TIMES_ONE * one)
    return [
        Figure("PostgreSQL: turns, a process", one, "1/s", "at least"),
        Figure("PostgreSQL: turns, two processes", two, "1/s", "at least", bar, one, "one"),
        Figure("PostgreSQL: CPU of a turn, of the stand-in and who talks to it", ours, "ms"),
        Figure("PostgreSQL: turn over three roles, p50", cuts[9], "ms"),
        Figure("PostgreSQL: turn over three roles, p95", cuts[18], "ms"),
        Figure("PostgreSQL: a worker is woken by ingress, p50", woken_cuts[9], "ms"),
        Figure(
            "PostgreSQL: a worker is woken by ingress, p95", woken_cuts[18], "ms", bar=BAR_WOKEN
        ),
        Figure("PostgreSQL: a killed worker's turn, answered", over, "s", bar=BAR_TAKEN_OVER),
    ]


async def _rate(folder: Path, url: str, processes: int) -> tuple[float, float]:
    """Turns a second, and the milliseconds of CPU for each that are this process's own: it has the
    stand-in and the people, on the same cores."""
    async with Telegram() as telegram, AsyncExitStack() as stack:
        file = _config(folder, telegram, url)
        for _ in range(processes):
            await stack.enter_async_context(running(*gateway(file)))
        await telegram.polled()
        for chat in CHATS:
            telegram.person(chat)
        await _talk(telegram, 1)
        began, cpu, turns = time.perf_counter(), time.process_time(), len(CHATS) * ROUNDS
        await _talk(telegram, ROUNDS)
        ours = 1e3 * (time.process_time() - cpu) / turns
        return turns / (time.perf_counter() - began), ours


async def _talk(telegram: Telegram, messages: int) -> None:
    """So many in each chat, each once the one before is answered."""
    numbers = count()

    async def talk(chat: int) -> None:
        for _ in range(messages):
            text = f"How are you, {next(numbers)}?"
            telegram.say(chat, chat, text)
            await telegram.wait_for(partial(_said, telegram, chat, text), 4 * PATIENCE)

    await asyncio.gather(*map(talk, CHATS))


def _said(telegram: Telegram, chat: int, text: str) -> bool:
    shown = telegram.messages(chat)
    return bool(shown) and f"You said: {text}" in words(shown[-1])


async def _apart(folder: Path, url: str) -> tuple[list[float], list[float]]:
    """Seconds of turns, one after the other, with a process for each role; and of them those until
    the worker begins."""
    async with Telegram() as telegram, AsyncExitStack() as stack:
        file = _config(folder, telegram, url)
        for role in ("ingress", "worker", "delivery"):
            await stack.enter_async_context(running(*gateway(file), "--role", role))
        await telegram.polled()
        chat = CHATS[0]
        for _ in range(5):
            await telegram.turn(chat, "Hello")
        taken = []
        for _ in range(ALONE):
            taken.append(await telegram.turn(chat, "How are you?"))
            await asyncio.sleep(0.02)
        return taken, await asyncio.to_thread(_woken, url)


def _woken(url: str) -> list[float]:
    """Seconds from the transaction in which ingress took a message in, its commit included, to that
    of the worker's first step, which makes an entry of it."""
    with psycopg.connect(url) as connection:
        rows = connection.execute(
            "SELECT entries.time - inbox.time FROM inbox JOIN entries ON entries.id = inbox.entry "
            "ORDER BY inbox.id DESC LIMIT %s",
            (ALONE,),
        ).fetchall()
    assert len(rows) == ALONE
    return [float(seconds) for (seconds,) in rows]


async def _taken_over(folder: Path, url: str) -> float:
    """Seconds from the kill of a worker in the midst of a turn until another one's answer."""
    async with Telegram() as telegram, AsyncExitStack() as stack:
        file = _config(folder, telegram, url)
        for role in ("ingress", "delivery"):
            await stack.enter_async_context(running(*gateway(file), "--role", role))
        first = await asyncio.create_subprocess_exec(
            *gateway(file),
            "--role",
            "worker",
            cwd=PROJECT,
            env=environment(),
            stderr=asyncio.subprocess.DEVNULL,
        )
        await telegram.polled()
        chat = CHATS[0]
        await telegram.turn(chat, "Hello")
        telegram.say(chat, chat, "slow")
        await asyncio.sleep(SLOW / 2)
        await stack.enter_async_context(running(*gateway(file), "--role", "worker"))
        first.kill()
        began = time.perf_counter()
        await first.wait()
        await telegram.wait_for(lambda: _said(telegram, chat, "slow"), 2 * PATIENCE)
        return time.perf_counter() - began - SLOW


def _config(folder: Path, telegram: Telegram, url: str) -> Path:
    rules = folder / "rules.yaml"
    slow = f'  - when: {{last: "^slow"}}\n    reply: {{delay: {SLOW}, text: "You said: slow"}}'
    rules.write_text(RULES.replace("rules:", f"rules:\n{slow}"), encoding="utf-8")
    sections: dict[str, dict[str, Any]] = {
        "storage": {"url": url},
        "telegram": {"token": telegram.token, "base_url": telegram.base_url, "paced": False},
        "models.parent": {"model": f"scripted:{rules}"},
        "access": {"allow": ["telegram:*"], "owners": ["telegram:1"]},
    }
    return write_config(folder / "bough.toml", sections)
