"""What the tests of monitoring share: asking a gateway as Prometheus does."""

import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass

import aiohttp
from prometheus_client.parser import text_string_to_metric_families

from gateway.monitoring.monitored import Monitored
from gateway.running.service import App
from storage.records.entries import Json

SERVER: Json = {"listen": "127.0.0.1:0"}


@dataclass(frozen=True, slots=True)
class Answer:
    status: int
    headers: dict[str, str]
    text: str

    @property
    def json(self) -> Json:
        found: Json = json.loads(self.text)
        return found


Ask = Callable[..., Awaitable[Answer]]


@asynccontextmanager
async def asking(app: App | None) -> AsyncIterator[Ask]:
    """Asks a gateway that has begun for a path, by a method."""
    assert app is not None
    assert isinstance(app.monitor, Monitored)
    async with asking_at(app.monitor.port) as ask:
        yield ask


@asynccontextmanager
async def asking_at(port: int) -> AsyncIterator[Ask]:
    async with aiohttp.ClientSession(f"http://127.0.0.1:{port}") as http:

        async def ask(path: str, method: str = "GET") -> Answer:
            async with http.request(method, path) as response:
                return Answer(response.status, dict(response.headers), await response.text())

        yield ask


Numbers = dict[tuple[str, tuple[str, ...]], float]
"""By the name and the values of the labels, in the order of the labels' names."""


async def scraped(ask: Ask) -> Numbers:
    answer = await ask("/metrics")
    assert answer.status == 200
    return {
        (sample.name, tuple(value for _, value in sorted(sample.labels.items()))): sample.value
        for family in text_string_to_metric_families(answer.text)
        for sample in family.samples
    }
