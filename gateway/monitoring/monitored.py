"""A gateway that operators can ask how it is."""

import asyncio
import logging
import time
from collections.abc import Callable, Iterable, Mapping
from http import HTTPStatus

from adapters.serving.listening import Listen
from gateway.monitoring.cached import Cached
from gateway.monitoring.gauges import Gauges, Look
from gateway.monitoring.labels import PLATFORM
from gateway.monitoring.metrics import Metrics
from gateway.monitoring.monitor import Check
from gateway.monitoring.observer import Observer
from gateway.monitoring.readiness import Readiness
from gateway.monitoring.server import MonitoringServer, Page, as_json
from storage.errors import StoreError
from storage.records.figures.backlog import Backlog
from storage.store import Store

log = logging.getLogger(__name__)

KEPT = 1.0
"""Seconds for which what was read of the database is shown again: however often it is asked for,
the database is asked once in that time."""
PATIENCE = 2.0
"""Seconds that the database has; then the page says that it did not answer."""
EVERY = 1.0
"""Seconds between looks at the event loop."""


class Monitored:
    """A Monitor that serves at `listen`."""

    def __init__(self, listen: Listen, store: Store, metrics: Metrics) -> None:
        self._store = store
        self._metrics = metrics
        self._children: Callable[[], int] = int
        self._gauges = Gauges()
        metrics.add(self._gauges)
        self._readiness = Readiness(store)
        self._backlog = Cached(self._read, kept=KEPT, patience=PATIENCE)
        self._tasks: tuple[asyncio.Task[None], ...] = ()
        pages = {"/healthz": self._health, "/readyz": self._ready, "/metrics": self._numbers}
        self._server = MonitoringServer(listen, pages)

    @property
    def observer(self) -> Observer:
        return self._metrics

    @property
    def port(self) -> int:
        """The one that it listens at, also where the system chose it."""
        return self._server.port

    async def open(self, parts: Mapping[str, Check], children: Callable[[], int]) -> None:
        self._children = children
        self._readiness.consists_of(parts)
        self._store.watch(self._metrics.committed)
        await self._server.open()

    def depends_on(self, tasks: Iterable["asyncio.Task[None]"]) -> None:
        self._tasks = tuple(tasks)

    async def run(self) -> None:
        loop = asyncio.get_running_loop()
        try:
            while True:
                due = loop.time() + EVERY
                await asyncio.sleep(EVERY)
                self._metrics.lagged(max(loop.time() - due, 0.0))
        finally:
            self.drain()

    def drain(self) -> None:
        self._readiness.draining = True

    async def close(self) -> None:
        await self._server.close()
        await self._backlog.close()
        await self._readiness.close()

    async def _health(self, _: str) -> Page:
        """That it answers says that the event loop turns. The database is not asked: one that is
        away must not have the process killed."""
        dead = [task.get_name() for task in self._tasks if _is_dead(task)]
        if dead and not self._readiness.draining:
            return as_json(HTTPStatus.SERVICE_UNAVAILABLE, {"alive": False, "ended": sorted(dead)})
        return as_json(HTTPStatus.OK, {"alive": True})

    async def _ready(self, _: str) -> Page:
        found = await self._readiness.look()
        unready = {part: why for part, why in found.items() if why}
        ready = sorted(part for part, why in found.items() if not why)
        status = HTTPStatus.SERVICE_UNAVAILABLE if unready else HTTPStatus.OK
        content = {"ready": not unready, "not_ready": unready, "ready_parts": ready}
        return as_json(status, content)

    async def _numbers(self, accept: str) -> Page:
        ready = await self._readiness.look()
        try:
            backlog, took = await self._backlog.get()
            look = Look(ready, backlog, took, self._children())
        except (StoreError, TimeoutError) as error:
            log.debug("what waits in the database cannot be shown: %r", error)
            look = Look(ready, children=self._children())
        self._gauges.show(look)
        body, content_type = await asyncio.to_thread(self._metrics.render, accept)
        return Page(HTTPStatus.OK, body, content_type)

    async def _read(self) -> tuple[Backlog, float]:
        begun = time.perf_counter()
        # What is of none of these is counted as of another platform.
        backlog = await self._store.read(lambda tx: tx.backlog.look(PLATFORM[:-1]))
        return backlog, time.perf_counter() - begun


def _is_dead(task: "asyncio.Task[None]") -> bool:
    """Ended by anything but its own end."""
    return task.done() and (task.cancelled() or task.exception() is not None)
