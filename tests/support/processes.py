"""Two processes of one gateway, as the parts see them: two stores on one PostgreSQL, which hear
each other and show that they live."""

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from storage.ephemeral import PROCESS
from storage.sql.store import SqlStore

LIVES = 600.0
"""Seconds."""


@asynccontextmanager
async def two_processes(
    url: str, clock: Callable[[], float] = time.time
) -> AsyncIterator[tuple[SqlStore, SqlStore]]:
    stores = await SqlStore.open(url, clock), await SqlStore.open(url, clock)
    try:
        async with listening(*stores):
            for store in stores:
                await shows_that_it_lives(store)
            yield stores
    finally:
        for store in stores:
            await store.close()


@asynccontextmanager
async def listening(*stores: SqlStore) -> AsyncIterator[None]:
    """Within the block each of them hears the others."""
    tasks = []
    for store in stores:
        hears = asyncio.Event()
        # The first that it is told of others is that it missed something until now.
        store.watch(lambda news, hears=hears: hears.set() if news.elsewhere else None)  # type: ignore[misc]
        tasks.append(asyncio.create_task(store.listen()))
        await hears.wait()
    try:
        yield
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks)


async def shows_that_it_lives(store: SqlStore, seconds: float = LIVES) -> None:
    """Below 0 seconds: it is dead by now."""
    name, process = PROCESS + store.process, store.process
    await store.run(lambda tx: tx.leases.take([name], process, seconds))
