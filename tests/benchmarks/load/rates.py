"""Turns of one process on each database: how many a second, what they take, and what is left of
them in memory and on the disk. No network; the model is scripted.

Run as a program it is the process that is measured; it prints what it measured as JSON.
"""

import asyncio
import json
import resource
import sys
import time
from dataclasses import asdict, dataclass
from statistics import quantiles

from tests.benchmarks.figures import Figure
from tests.benchmarks.load.gateways import ANSWER, SAID, People, config_of, databases, served
from tests.benchmarks.load.size import size_of
from tests.benchmarks.processes import PATIENCE, PROJECT, environment, scratch
from tests.benchmarks.throughput import peak_megabytes

BUSY = 200
MANY = 1_000
"""Chats at once."""
ROUNDS = 5
"""Messages of each of the busy chats; of the many, as many in all."""
ALONE = 200
"""Turns of one chat while no other writes."""
IDLE_SECONDS = 10.0
BARS_PER_SECOND = {"SQLite": 400.0}
BARS_P50_MS = {"SQLite": 10.0, "PostgreSQL": 20.0}
BAR_IDLE = 1.0
BAR_TEXT = 4.0


@dataclass(frozen=True, slots=True)
class Measured:
    busy: float
    """Turns a second, of BUSY chats."""
    cpu: float
    """Milliseconds of the process's CPU for a turn then."""
    many: float
    """Turns a second, of MANY chats."""
    busy_ms: list[float]
    many_ms: list[float]
    alone_ms: list[float]
    """50th, 95th and 99th percentile of what a turn takes."""
    megabytes: float
    """The most that was resident."""
    idle: float
    """Percent of a core, while nobody writes."""
    turns: int
    grown: int
    """Bytes that the database has grown by."""


async def run() -> list[Figure]:
    figures: list[Figure] = []
    with scratch() as folder, databases(folder) as urls:
        for name, url in urls.items():
            figures += _figures(name, await _in_a_process(url))
    return figures


async def _in_a_process(url: str) -> Measured:
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "tests.benchmarks.load.rates",
        url,
        stdout=asyncio.subprocess.PIPE,
        cwd=PROJECT,
        env=environment(),
    )
    async with asyncio.timeout(5 * PATIENCE):
        output, _ = await process.communicate()
    return Measured(**json.loads(output))


def _figures(name: str, measured: Measured) -> list[Figure]:
    text = measured.turns * (2 * len(SAID) + len(ANSWER))
    figures = [
        Figure(f"turns, {BUSY} chats", measured.busy, "1/s", "at least", BARS_PER_SECOND.get(name)),
        Figure(f"CPU of a turn, {BUSY} chats", measured.cpu, "ms"),
        Figure(f"turns, {MANY:,} chats", measured.many, "1/s", "at least"),
    ]
    for what, taken, bar in (
        ("alone", measured.alone_ms, BARS_P50_MS.get(name)),
        (f"of {BUSY} chats", measured.busy_ms, None),
        (f"of {MANY:,} chats", measured.many_ms, None),
    ):
        for percent, each in zip((50, 95, 99), taken, strict=True):
            here = bar if percent == 50 else None
            figures.append(Figure(f"turn {what}, p{percent}", each, "ms", bar=here))
    figures += [
        Figure("memory, peak", measured.megabytes, "MB"),
        Figure("idle", measured.idle, "% CPU", bar=BAR_IDLE),
        Figure("database, a turn", measured.grown / measured.turns, "B"),
        Figure("database, of its text", measured.grown / text, "×", bar=BAR_TEXT),
    ]
    return [
        Figure(f"{name}: {each.name}", each.value, each.unit, each.goal, each.bar)
        for each in figures
    ]


async def measure(url: str) -> Measured:
    people = People()
    config = config_of(url)
    async with served(config, people):
        await people.talk(BUSY, 1)  # connections, statements and caches are there afterwards
        before, turns = await asyncio.to_thread(size_of, url), 0
        people.taken.clear()
        cpu = time.process_time()
        busy = BUSY * ROUNDS / await people.talk(BUSY, ROUNDS)
        cpu = 1e3 * (time.process_time() - cpu) / (BUSY * ROUNDS)
        busy_ms = _percentiles(people)
        many = MANY / await people.talk(MANY, 1)
        many_ms = _percentiles(people)
        for number in range(ALONE):
            await people.ask("1", f"{SAID}({number})")
        alone_ms = _percentiles(people)
        turns = BUSY * ROUNDS + MANY + ALONE
        idle = await _idle()
        grown = await asyncio.to_thread(size_of, url) - before
    megabytes = peak_megabytes()
    return Measured(busy, cpu, many, busy_ms, many_ms, alone_ms, megabytes, idle, turns, grown)


def _percentiles(people: People) -> list[float]:
    """50th, 95th and 99th, in milliseconds; forgets what was taken."""
    cuts = quantiles((1e3 * each for each in people.taken), n=100)
    people.taken.clear()
    return [cuts[49], cuts[94], cuts[98]]


async def _idle() -> float:
    await asyncio.sleep(3)  # the search index has caught up, and what is new was looked through
    began, cpu = time.perf_counter(), _cpu()
    await asyncio.sleep(IDLE_SECONDS)
    return 100 * (_cpu() - cpu) / (time.perf_counter() - began)


def _cpu() -> float:
    """Seconds of this process."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


if __name__ == "__main__":
    print(json.dumps(asdict(asyncio.run(measure(sys.argv[1])))))
