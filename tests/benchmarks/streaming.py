"""Answers that grow: how soon their first words are seen, what requests one costs, and what
streaming costs an answer that is whole at once."""

from collections.abc import Mapping
from pathlib import Path
from statistics import median
from typing import Any

from tests.benchmarks.figures import Figure
from tests.benchmarks.processes import PATIENCE, scratch, write_config
from tests.benchmarks.wire import RULES, Telegram, alternate, bough

WARM_UP = 30
ROUNDS = 200
CHAT, GROUP = 1001, -100
WORDS = 120
PACE = 0.05
"""Seconds between two words of an answer that grows: it takes 6 s."""
BAR_FIRST = 1.0
BAR_TIMES = 1.2
TEXT = " ".join(f"word{n}" for n in range(WORDS)) + "."


async def run() -> list[Figure]:
    return [*await _growing(), await _quick()]


async def _growing() -> list[Figure]:
    rules = f'rules:\n  - reply: {{text: "{TEXT}", pace: {PACE}}}\n'
    with scratch() as folder:
        async with Telegram("1000:bough") as telegram:
            telegram.group(GROUP, "Friends")
            async with bough(telegram, _config(folder, telegram, rules, stream=True)):
                private = await _answer(telegram, CHAT, "go", "sendMessageDraft")
                group = await _answer(telegram, GROUP, "@bough_bot go", "sendMessage")
    return [
        Figure("first words after the first token, private", private[0], "s", bar=BAR_FIRST),
        Figure("first words after the first token, group", group[0], "s", bar=BAR_FIRST),
        Figure(f"requests of an answer of {WORDS * PACE:g} s, private", private[1], ""),
        Figure(f"requests of an answer of {WORDS * PACE:g} s, group", group[1], ""),
    ]


async def _answer(telegram: Telegram, chat: int, text: str, first: str) -> tuple[float, int]:
    """Seconds from the update on, which the first token follows at once; requests in all."""
    shown = ("sendMessage", "sendMessageDraft", "editMessageText")
    before = len(telegram.calls(*shown))
    telegram.say(chat, CHAT, text)
    call = await telegram.wait_for(lambda: telegram.calls(*shown)[before:][:1], PATIENCE)
    assert call[0].method == first
    seconds = call[0].time - telegram._handed_out
    await telegram.wait_for_message(chat, TEXT)
    return seconds, len(telegram.calls(*shown)) - before


async def _quick() -> Figure:
    with scratch() as one, scratch() as other:
        async with Telegram("1000:bough") as streams, Telegram("2000:bough") as does_not:
            with_it = _config(one, streams, RULES, stream=True)
            without = _config(other, does_not, RULES, stream=False)
            async with bough(streams, with_it), bough(does_not, without):
                players = [
                    lambda: streams.turn(CHAT, "How are you?"),
                    lambda: does_not.turn(CHAT, "How are you?"),
                ]
                ours, plain = await alternate(players, warm_up=WARM_UP, rounds=ROUNDS)
    value, peer = 1e3 * median(ours), 1e3 * median(plain)
    bar = BAR_TIMES * peer
    return Figure("turn p50, streaming", value, "ms", bar=bar, peer=peer, peer_name="without")


def _config(folder: Path, telegram: Telegram, rules: str, *, stream: bool) -> Path:
    file = folder / "rules.yaml"
    file.write_text(rules, encoding="utf-8")
    sections: Mapping[str, dict[str, Any]] = {
        "storage": {"url": f"sqlite:///{folder / 'bough.db'}"},
        "telegram": {"token": telegram.token, "base_url": telegram.base_url, "paced": False},
        "models.parent": {"model": f"scripted:{file}"},
        "access": {"allow": ["telegram:*"], "owners": ["telegram:1"]},
        "session": {"stream": stream},
    }
    return write_config(folder / "bough.toml", dict(sections))
