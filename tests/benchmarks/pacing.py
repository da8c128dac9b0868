"""Fifty chats at once on a Telegram that enforces the published rates: how long until all is said,
with how many requests, and how many of them it refuses.

    python -m tests.benchmarks pacing

The floor is what the limits permit: so many messages, 30 a second.
"""

import tempfile
import time
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
PATIENCE = 120.0
RULES = f"""\
rules:
  - when: {{last: long}}
    reply: {{delay: 0.5, text: "{"word " * 1_800}"}}
  - reply: {{delay: 0.5, text: "You said: {{last}}"}}
"""


async def run() -> list[Figure]:
    limits = TelegramLimits()
    with tempfile.TemporaryDirectory() as name:
        async with Telegram(token="1:bench", limits=limits) as telegram:
            seconds = await _talk(telegram, Path(name))
    sent = telegram.calls("sendMessage", "editMessageText", "sendChatAction")
    said = len(CHATS) * MESSAGES
    return [
        Figure("50 chats at once: all said", seconds, "s", bar=said / 30 * 1.5),
        Figure("50 chats at once: messages", float(said), ""),
        Figure("50 chats at once: requests", float(len(sent)), ""),
        Figure("50 chats at once: most in a second", float(limits.peak), "", bar=30.0),
        Figure("50 chats at once: refused (429)", float(len(limits.refused)), "", bar=0.0),
    ]


async def _talk(telegram: Telegram, folder: Path) -> float:
    rules = folder / "rules.yaml"
    rules.write_text(RULES, encoding="utf-8")
    sections: dict[str, dict[str, Any]] = {
        "storage": {"url": f"sqlite:///{folder / 'bough.db'}"},
        "telegram": {"token": telegram.token, "base_url": telegram.base_url},
        "models.parent": {"model": f"scripted:{rules}"},
        "access": {"allow": ["telegram:*"], "owners": ["telegram:1"]},
        "session": {"busy": "queue"},
    }
    async with running(*gateway(write_config(folder / "bough.toml", sections))):
        await telegram.polled()
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
