"""Gateways under load: in this process, on either database, with people who write to them."""

import asyncio
import sys
import time
from collections import defaultdict
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

from adapters.base import Outgoing, Post
from adapters.recording import RecordingAdapter
from agent.models.base import Model
from agent.models.scripted import Answer, Rule, ScriptedModel
from gateway.app import bootstrap
from gateway.configuration.config import Config
from gateway.running.service import App
from tests.benchmarks.processes import PATIENCE
from tests.support.postgres import MISSING, PostgresServer, programs

SAFE = {
    "fsync": "on",
    "full_page_writes": "on",
    "synchronous_commit": "on",
    "autovacuum": "on",
    "shared_buffers": "512MB",
}
"""What a PostgreSQL is set to whose commits last, as SQLite's do."""
SAID = "How long does the crossing take in winter, and must one book a cabin for it? "
ANSWER = "You asked: {last}\n\n" + "\n\n".join(
    [
        "In winter the crossing takes eleven hours, two more than in summer, because of the ice. A "
        "cabin need not be booked, but most people do: the ferry leaves in the evening and arrives "
        "at six in the morning, and the seats on deck five do not recline."
    ]
    * 5
)
"""About as long as what models write."""


def scripted() -> ScriptedModel:
    return ScriptedModel([Rule(reply=Answer(text=ANSWER))])


@contextmanager
def postgres() -> Iterator[PostgresServer | None]:
    """A server whose commits last; None, and a word about it, where there is none."""
    if programs() is None:
        print(f"PostgreSQL is left out: {MISSING}", file=sys.stderr)
        yield None
        return
    with PostgresServer(SAFE) as server:
        yield server


@contextmanager
def databases(folder: Path) -> Iterator[dict[str, str]]:
    """Name → URL of an empty database of each kind that is there."""
    urls = {"SQLite": f"sqlite:///{folder / 'bough.db'}"}
    with postgres() as server:
        if server is not None:
            urls["PostgreSQL"] = server.create()
        yield urls


class People:
    """They write, each in a chat of their own, once the bot has answered what they wrote."""

    def __init__(self) -> None:
        self.adapter = RecordingAdapter("telegram", before_delivery=self._sees)
        self.taken: list[float] = []
        """Seconds from each message to its answer."""
        self._answered: defaultdict[str, asyncio.Event] = defaultdict(asyncio.Event)

    async def talk(self, chats: int, messages: int) -> float:
        """So many messages in each chat; seconds."""
        began = time.perf_counter()
        async with asyncio.TaskGroup() as group:
            for chat in range(1, chats + 1):
                group.create_task(self._talk(str(chat), messages))
        return time.perf_counter() - began

    async def _talk(self, chat: str, messages: int) -> None:
        for number in range(messages):
            await self.ask(chat, f"{SAID}({number})")

    async def ask(self, chat: str, text: str, **more: Any) -> float:
        """Seconds until the next thing is said in that chat. `more`: as for `say`."""
        answered = self._answered[chat]
        answered.clear()
        began = time.perf_counter()
        await self.adapter.say(text, chat=chat, user=chat, **more)
        async with asyncio.timeout(10 * PATIENCE):
            await answered.wait()
        taken = time.perf_counter() - began
        self.taken.append(taken)
        return taken

    def forget(self) -> None:
        """What was shown, so that this process does not grow by it."""
        self.adapter.shown.clear()
        self.adapter.outgoing.clear()
        self.adapter.contents.clear()

    def _sees(self, outgoing: Outgoing) -> None:
        if isinstance(outgoing, Post):
            self._answered[outgoing.conversation.chat].set()


def config_of(url: str, more: Mapping[str, Any] | None = None) -> Config:
    return Config.model_validate(
        {
            "storage": {"url": url},
            "access": {"allow": ["telegram:*"], "owners": ["telegram:1"]},
            **(more or {}),
        }
    )


@asynccontextmanager
async def served(config: Config, people: People, model: Model | None = None) -> AsyncIterator[App]:
    """A gateway that runs in this process as long as the block."""
    model = model if model is not None else scripted()
    app = await bootstrap(config, adapters=[people.adapter], model=model)
    ready = asyncio.Event()
    running = asyncio.create_task(app.run(ready=ready))
    await ready.wait()
    try:
        yield app
    finally:
        running.cancel()
        await asyncio.wait([running])
    if not running.cancelled():
        running.result()
