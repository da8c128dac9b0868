"""A gateway in the long run: whether its memory, and what a turn takes, grow with the turns done.

    python -m tests.benchmarks soak 100000

Chats write all the time, on SQLite, and begin a new conversation now and then, as a compaction
would; after each tenth of the turns it is noted what is resident. The growth is from the first
tenth, after which all that is kept in memory is full (with 100,000 turns), to the last.
"""

import asyncio
import gc
import sys
import time
from pathlib import Path

from tests.benchmarks.figures import Figure
from tests.benchmarks.load.gateways import People, config_of, served
from tests.benchmarks.load.size import size_of
from tests.benchmarks.processes import scratch

CHATS = 200
PARTS = 10
ANEW = 40
"""Turns after which a conversation begins anew."""
BAR_GROWTH = 5.0


async def run(turns: int) -> list[Figure]:
    people = People()
    resident, rates = [], []
    with scratch() as folder:
        url = f"sqlite:///{folder / 'bough.db'}"
        async with served(config_of(url), people):
            for part in range(PARTS):
                began, each = time.perf_counter(), max(turns // PARTS // CHATS, 1)
                await _talk(people, each)
                rates.append(CHATS * each / (time.perf_counter() - began))
                _forget(people)
                resident.append(megabytes())
                print(
                    f"  {(part + 1) * CHATS * each:,} turns: {resident[-1]:.1f} MB, "
                    f"{rates[-1]:.0f}/s, {size_of(url) / 2**20:.0f} MB on the disk",
                    file=sys.stderr,
                    flush=True,
                )
    growth = 100 * (resident[-1] / resident[0] - 1)
    return [
        Figure(f"soak, {turns:,} turns: memory grown", growth, "%", bar=BAR_GROWTH),
        Figure("soak: memory at the end", resident[-1], "MB"),
        Figure("soak: turns, first tenth", rates[0], "1/s", "at least"),
        Figure("soak: turns, last tenth", rates[-1], "1/s", "at least"),
    ]


async def _talk(people: People, messages: int) -> None:
    """So many in each chat."""
    while messages > 0:
        await people.talk(CHATS, min(messages, ANEW))
        messages -= ANEW
        await asyncio.gather(*(people.ask(str(chat), "/new") for chat in range(1, CHATS + 1)))


def _forget(people: People) -> None:
    """What the people here keep of what was said is no part of a gateway."""
    people.forget()
    people.taken.clear()
    gc.collect()


def megabytes() -> float:
    """What is resident now."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * 4096 / 2**20
