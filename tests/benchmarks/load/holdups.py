"""How long somebody in another chat waits, at the worst, while something large is done: an import
and an export of 100,000 entries, in a chat and on the command line, a search in them, and /stop and
a message on a path of as many.

Somebody writes all the time, and each of their turns is timed. What is told is by how much the
slowest one took longer than one takes when nothing else is done, in the median; and the same in CPU
of this process, which says how long the interpreter was kept from them whatever else the machine
does: what runs in another process is not in it.
"""

import asyncio
import json
import sys
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from agent.models.base import Reply, Request
from agent.models.scripted import ScriptedModel
from storage.records.entries import Json
from storage.sql.store import SqlStore
from storage.store import Transaction
from tests.benchmarks.figures import Figure
from tests.benchmarks.fill import fill
from tests.benchmarks.load.gateways import People, config_of, databases, scripted, served
from tests.benchmarks.processes import PROJECT, environment, scratch, write_config

ENTRIES = 100_000
BAR_MS = 100.0
QUIET_SECONDS = 3.0
GAP_SECONDS = 0.001
LONG, OTHER = "1", "2"
_INDEXED_AT_ONCE = 1_000
STAMP = "2026-01-01T00:00:00Z"


class Waits:
    """A scripted model that does not answer whoever says "wait", however long the path is."""

    def __init__(self) -> None:
        self._scripted: ScriptedModel = scripted()
        self.asked = asyncio.Event()

    async def complete(self, request: Request) -> Reply:
        if "wait!" in str(request.messages[-1]["content"]):
            self.asked.set()
            await asyncio.Future[Reply]()
        few = request.messages[-20:]
        return await self._scripted.complete(
            Request(request.spec, few, request.tools, request.purpose)
        )


@dataclass(frozen=True, slots=True)
class Cost:
    """Seconds that passed, and seconds of CPU of this process in them: others on the same cores
    make the one larger, but not the other."""

    wall: float
    cpu: float

    @classmethod
    def now(cls) -> "Cost":
        return cls(time.perf_counter(), time.process_time())

    def since(self) -> "Cost":
        now = self.now()
        return Cost(now.wall - self.wall, now.cpu - self.cpu)


@dataclass(slots=True)
class Beside:
    """Somebody who writes all the time, in a chat of their own."""

    people: People

    async def during(self, work: Awaitable[object]) -> tuple[list[Cost], Cost]:
        """Each turn, while something is done and until it is; and the longest time in which the
        event loop came to nothing else."""
        task, looking = asyncio.ensure_future(work), asyncio.create_task(_longest_gap())
        taken = []
        while not task.done():
            began = Cost.now()
            await self.people.ask(OTHER, "And in summer?")
            taken.append(began.since())
        await task
        looking.cancel()
        return taken, await looking


async def _longest_gap() -> Cost:
    """Until it is cancelled."""
    wall = cpu = 0.0
    with suppress(asyncio.CancelledError):
        while True:
            began = Cost.now()
            await asyncio.sleep(GAP_SECONDS)
            gap = began.since()
            wall, cpu = max(wall, gap.wall), max(cpu, gap.cpu)
    return Cost(wall, cpu)


async def run() -> list[Figure]:
    figures: list[Figure] = []
    with scratch() as folder, databases(folder) as urls:
        file = folder / "session.jsonl"
        file.write_bytes(session_file(ENTRIES))
        for name, url in urls.items():
            for what, wait in (await _measure(folder, url, file)).items():
                title = f"{name}: wait beside {what}"
                figures.append(Figure(title, 1e3 * wait.wall, "ms", bar=BAR_MS))
                figures.append(Figure(f"{title}, CPU", 1e3 * wait.cpu, "ms", bar=BAR_MS))
    return figures


async def _measure(folder: Path, url: str, file: Path) -> dict[str, Cost]:
    """What was done → the longest wait."""
    await _prepare(url)
    people, model = People(), Waits()
    config = config_of(url, {"session": {"max_depth": 10 * ENTRIES}})
    async with served(config, people, model):
        beside = Beside(people)
        await people.ask(OTHER, "Hello")
        turns, _ = await beside.during(asyncio.sleep(QUIET_SECONDS))
        quiet = Cost(median(each.wall for each in turns), median(each.cpu for each in turns))
        print(f"  quiet: {_told(quiet)}", file=sys.stderr)
        waits = {}
        for what, work in _works(folder, url, file, people, model).items():
            began = Cost.now()
            turns, gap = await beside.during(work())
            waits[what] = Cost(
                max(each.wall for each in turns) - quiet.wall,
                max(each.cpu for each in turns) - quiet.cpu,
            )
            print(
                f"  {what}: {_told(began.since())}; {len(turns)} turns beside it, the longest wait "
                f"{_told(waits[what])}; the event loop stood for {_told(gap)}",
                file=sys.stderr,
            )
    return waits


def _told(cost: Cost) -> str:
    return f"{1e3 * cost.wall:.0f} ms ({1e3 * cost.cpu:.0f} ms CPU)"


def _works(
    folder: Path, url: str, file: Path, people: People, model: Waits
) -> dict[str, Callable[[], Awaitable[object]]]:
    async def stop() -> None:
        model.asked.clear()
        await people.adapter.say("wait!", chat=LONG, user=LONG)
        await model.asked.wait()
        await people.ask(LONG, "/stop")

    toml = write_config(folder / f"{url.partition(':')[0]}.toml", {"storage": {"url": url}})
    export = str(folder / "exported.jsonl")
    return {
        "a message on a long path": lambda: people.ask(LONG, "How are you?"),
        "/stop on a long path": stop,
        "/import": lambda: people.ask(LONG, "/import", files={file.name: file.read_bytes()}),
        "/export": lambda: people.ask(LONG, "/export"),
        "/search": lambda: people.ask(LONG, "/search summer crossing"),
        "`sessions import`": lambda: _command(toml, "import", str(file)),
        "`sessions export`": lambda: _command(toml, "export", "1", "--output", export),
    }


async def _command(toml: Path, *words: str) -> None:
    command = (sys.executable, "-m", "gateway", "sessions", "--config", str(toml), *words)
    process = await asyncio.create_subprocess_exec(
        *command,
        cwd=PROJECT,
        env=environment(),
        stdout=asyncio.subprocess.DEVNULL,
    )
    if await process.wait():
        raise RuntimeError(f"sessions {words[0]} failed")


async def _prepare(url: str) -> None:
    """A long path, in a chat."""
    store = await SqlStore.open(url)
    session = await fill(store, ENTRIES)

    def bind(tx: Transaction) -> None:
        tx.directory.bind(f"telegram:{LONG}", session)
        tx.directory.join(session, f"telegram:{LONG}")

    await store.run(bind)
    while await store.run(lambda tx: tx.search.follow(_INDEXED_AT_ONCE)):
        pass  # or it would be done beside what is measured
    await store.close()


def session_file(entries: int) -> bytes:
    """Questions and answers in turn, as Pi writes them, in less than what a chat takes in."""
    header: Json = {"type": "session", "version": 3, "id": "load", "timestamp": STAMP, "cwd": "/"}
    lines = (header, *map(_line, range(entries)))
    return "\n".join(json.dumps(line, separators=(",", ":")) for line in lines).encode()


def _line(place: int) -> Json:
    role, text = ("assistant", "Eleven hours") if place % 2 else ("user", "And in summer")
    content: object = [{"type": "text", "text": f"{text}, {place}."}] if place % 2 else text
    return {
        "type": "message",
        "id": f"{place:x}",
        "parentId": f"{place - 1:x}" if place else None,
        "timestamp": STAMP,
        "message": {"role": role, "content": content},
    }
