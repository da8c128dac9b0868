"""How fast people are answered on a Telegram that lets bursts through, on one that refuses nothing,
and on one that enforces 30 a second: how long, with how many requests, and how many are refused.

    python -m tests.benchmarks pacing

The floor of what fifty chats are told at once is what the limits permit: so many messages, 30 a
second.
"""

import asyncio
import tempfile
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from tests.benchmarks.figures import Figure
from tests.benchmarks.processes import gateway, running, write_config
from tests.benchmarks.wire import Telegram
from tests.stand_ins.rates import TelegramLimits
from tests.stand_ins.telegram_world import words

CHATS = range(5001, 5051)
SAID = ("long", "one", "two")
MESSAGES = 5
"""Of the bot's in each chat: three of the long answer, and one each."""
TURNS = 20
"""Of each chat, each as soon as the one before is answered."""
PATIENCE = 120.0
QUICK = """\
rules:
  - reply: {text: "You said: {last}"}
"""
RULES = f"""\
rules:
  - when: {{last: long}}
    reply: {{delay: 0.5, text: "{"word " * 1_800}"}}
  - reply: {{delay: 0.5, text: "You said: {{last}}"}}
"""


async def run() -> list[Figure]:
    return [*await _in_a_row(), *await _unlimited(), *await _enforced(), *await _at_once()]


async def _in_a_row() -> list[Figure]:
    """Who writes again as soon as they are answered."""
    with tempfile.TemporaryDirectory() as name:
        async with _gateway(TelegramLimits(burst=3), Path(name), QUICK) as telegram:
            await _answers(telegram, 5000, 1)  # what is loaded at the first turn
            times = [await _answers(telegram, CHATS[0], turn) for turn in range(1, 4)]
    ratio = max(times) / times[0]
    return [
        Figure("answer to the first of three in a row", times[0] * 1000, "ms"),
        Figure("slowest of the three, times the first", ratio, "", bar=1.5),
    ]


async def _unlimited() -> list[Figure]:
    rate, _ = await _turns(None)
    return [Figure("50 chats, nothing refused", rate, "turns/s", "at least", bar=60.0)]


async def _enforced() -> list[Figure]:
    limits = TelegramLimits(burst=3)
    rate, sent = await _turns(limits)
    refused = len(limits.refused) / sent * 100
    return [
        Figure("50 chats, 30 a second enforced", rate, "turns/s"),
        Figure("50 chats, 30 a second enforced: refused", refused, "%", bar=1.0),
    ]


async def _turns(limits: TelegramLimits | None) -> tuple[float, int]:
    """Turns a second, and requests that were to show something."""
    with tempfile.TemporaryDirectory() as name:
        async with _gateway(limits, Path(name), QUICK) as telegram:
            await _answers(telegram, 5000, 1)
            began = time.perf_counter()
            async with asyncio.TaskGroup() as group:
                for chat in CHATS:
                    group.create_task(_converse(telegram, chat))
            seconds = time.perf_counter() - began
        sent = len(telegram.calls("sendMessage", "editMessageText", "sendMessageDraft"))
    return len(CHATS) * TURNS / seconds, sent


async def _converse(telegram: Telegram, chat: int) -> None:
    for turn in range(1, TURNS + 1):
        await _answers(telegram, chat, turn)


async def _answers(telegram: Telegram, chat: int, turn: int) -> float:
    """Seconds until the answer to this turn of a chat is there."""
    telegram.person(chat)
    began = time.perf_counter()
    telegram.say(chat, chat, f"number {turn}")
    await telegram.wait_for(lambda: len(telegram.messages(chat)) >= turn, PATIENCE)
    return time.perf_counter() - began


async def _at_once() -> list[Figure]:
    limits = TelegramLimits(burst=3)
    with tempfile.TemporaryDirectory() as name:
        async with _gateway(limits, Path(name), RULES) as telegram:
            seconds = await _talk(telegram)
    sent = telegram.calls("sendMessage", "editMessageText", "sendChatAction")
    said = len(CHATS) * MESSAGES
    return [
        Figure("50 chats at once: all said", seconds, "s", bar=said / 30 * 1.5),
        Figure("50 chats at once: messages", float(said), ""),
        Figure("50 chats at once: requests", float(len(sent)), ""),
        Figure("50 chats at once: most in a second", float(limits.peak), "", bar=30.0),
        Figure("50 chats at once: refused (429)", float(len(limits.refused)), ""),
    ]


@asynccontextmanager
async def _gateway(
    limits: TelegramLimits | None, folder: Path, said: str
) -> AsyncIterator[Telegram]:
    rules = folder / "rules.yaml"
    rules.write_text(said, encoding="utf-8")
    async with Telegram(token="1:bench", limits=limits) as telegram:
        sections: dict[str, dict[str, Any]] = {
            "storage": {"url": f"sqlite:///{folder / 'bough.db'}"},
            "telegram": {"token": telegram.token, "base_url": telegram.base_url},
            "models.parent": {"model": f"scripted:{rules}"},
            "access": {"allow": ["telegram:*"], "owners": ["telegram:1"]},
            "session": {"busy": "queue"},
        }
        async with running(*gateway(write_config(folder / "bough.toml", sections))):
            await telegram.polled()
            yield telegram


async def _talk(telegram: Telegram) -> float:
    for chat in CHATS:
        telegram.person(chat)
    began = time.perf_counter()
    for said in SAID:
        for chat in CHATS:
            telegram.say(chat, chat, said)
    await telegram.wait_for(lambda: all(_answered(telegram, chat) for chat in CHATS), PATIENCE)
    return time.perf_counter() - began


def _answered(telegram: Telegram, chat: int) -> bool:
    shown = telegram.messages(chat)
    return bool(shown) and "two" in words(shown[-1])
