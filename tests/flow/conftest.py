import asyncio
import tempfile
import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Any

import pytest

from adapters.recording import RecordingAdapter, Shown
from agent.models.base import Reply, Request
from agent.models.scripted import Rule, ScriptedModel
from agent.tools.base import Tool
from gateway.app import bootstrap
from gateway.configuration.config import Config
from gateway.running.service import App
from storage.sql.store import SqlStore
from storage.store import Store
from tests.support.undated import undated_request

PATIENCE = 90.0
"""Seconds until a test that waits for something is a failure."""


class SpyModel:
    """A scripted model that keeps the requests it got: as they came, and undated."""

    def __init__(self, rules: Sequence[dict[str, Any]]) -> None:
        self._model = ScriptedModel([Rule.model_validate(rule) for rule in rules])
        self.requests: list[Request] = []
        self.dated: list[Request] = []
        self._asked = asyncio.Condition()

    async def complete(self, request: Request) -> Reply:
        self.dated.append(request)
        self.requests.append(undated_request(request))
        async with self._asked:
            self._asked.notify_all()
        return await self.answer(request)

    async def answer(self, request: Request) -> Reply:
        return await self._model.complete(request)

    def of(self, tier: str, *, dated: bool = False) -> list[Request]:
        requests = self.dated if dated else self.requests
        return [request for request in requests if request.spec.name == tier]

    async def called(self, tier: str, count: int = 1) -> None:
        """Returns once a tier was asked so often."""
        async with asyncio.timeout(PATIENCE), self._asked:
            await self._asked.wait_for(lambda: len(self.of(tier)) >= count)


class Gateway:
    """A whole gateway on a recording adapter and a scripted model."""

    def __init__(self, app: App, chat: RecordingAdapter, model: SpyModel) -> None:
        self.app = app
        self.chat = chat
        self.model = model

    async def hears(self, text: str, *, chat: str = "1", count: int = 1) -> Shown:
        """The newest message of a chat that holds a text, once there are so many."""

        def holding(shown: list[Shown]) -> list[Shown]:
            return [s for s in shown if text in s.text and s.conversation.chat == chat]

        async with asyncio.timeout(PATIENCE):
            shown = await self.chat.wait_for(lambda shown: len(holding(shown)) >= count)
        return holding(shown)[-1]

    async def settled(self) -> None:
        """Nothing runs and nothing is to be sent."""
        async with asyncio.timeout(PATIENCE):
            while not await self.app.pipeline.settled():
                await asyncio.sleep(0.01)


@asynccontextmanager
async def gateway(
    rules: Sequence[dict[str, Any]] = (),
    *,
    store: Store,
    config: dict[str, Any] | None = None,
    chat: RecordingAdapter | None = None,
    model: SpyModel | None = None,
    tools: Sequence[Tool] = (),
) -> AsyncIterator[Gateway]:
    chat = chat or RecordingAdapter(name="telegram")
    model = model or SpyModel(rules)
    access = {"access": {"allow": ["telegram:*"], "owners": ["telegram:1"]}}
    folder = tempfile.TemporaryDirectory(prefix="bough-flow-")  # where pictures are kept
    place = {"storage": {"url": f"sqlite:///{folder.name}/bough.db"}}
    app = await bootstrap(
        Config.model_validate(access | place | (config or {})),
        adapters=[chat],
        store=store,
        model=model,
        tools=tools,
    )
    ready = asyncio.Event()
    task = asyncio.create_task(app.run(ready=ready))
    try:
        await ready.wait()
        yield Gateway(app, chat, model)
    finally:
        task.cancel()
        await asyncio.wait([task])
        folder.cleanup()
    if not task.cancelled():
        task.result()


ON_BOTH = pytest.mark.parametrize("database", ["sqlite", "postgres"], indirect=True)
"""For tests that are to run on each database."""


@pytest.fixture
def database(request: pytest.FixtureRequest) -> str:
    """The URL of an empty database: a file, where a test does not ask for another kind."""
    url: str = request.getfixturevalue(f"{getattr(request, 'param', 'sqlite')}_url")
    return url


@pytest.fixture
def clock() -> Callable[[], float]:
    """The store's. Tests of texts that say how old something is have one that stands still."""
    return time.time


@pytest.fixture
async def store(database: str, clock: Callable[[], float]) -> Store:
    return await SqlStore.open(database, clock)
