"""The search index stays close behind what is written."""

import asyncio
import logging
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import TypeVar

import pytest

from storage.errors import StoreUnavailable
from storage.records.entries import Draft, Entry, Kind, SessionDraft, SessionKind, message
from storage.search import indexer
from storage.search.indexer import AT_ONCE, follow
from storage.sql.search import repository as search
from storage.sql.store import SqlStore
from storage.store import Transaction
from tests.support.stores import fresh_url

T = TypeVar("T")


class Store(SqlStore):
    """Fails as often as it is told."""

    failures = 0

    async def run(self, work: Callable[[Transaction], T]) -> T:
        if self.failures:
            self.failures -= 1
            raise StoreUnavailable("the disk is full")
        return await super().run(work)


@pytest.fixture
async def store() -> AsyncIterator[Store]:
    store = await Store.open(fresh_url())
    yield store
    await store.close()


@asynccontextmanager
async def followed(store: Store) -> AsyncIterator[None]:
    task = asyncio.create_task(follow(store))
    yield
    task.cancel()
    await asyncio.wait([task])
    assert task.cancelled()


async def say(store: Store, *lines: str) -> int:
    def work(tx: Transaction) -> int:
        session = tx.tree.create(SessionDraft(SessionKind.CHAT)).id
        leaf: int | None = None
        for line in lines:
            leaf = tx.tree.append(
                session, Draft(Kind.MESSAGE, message("user", line)), after=leaf
            ).id
        return session

    return await store.run(work)


async def finds(store: Store, words: str, session: int, count: int) -> list[Entry]:
    """So many hits, once there are as many."""
    async with asyncio.timeout(60):
        while True:
            hits = await store.read(lambda tx: tx.search.find(words, [session], limit=count))
            if len(hits) == count:
                return hits
            await asyncio.sleep(0.005)


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(indexer, "EVERY", 0.01)


async def test_what_was_there_and_what_comes_is_found(store: Store) -> None:
    session = await say(store, *["an old ferry"] * (2 * AT_ONCE + 1))
    async with followed(store):
        await finds(store, "ferry", session, 2 * AT_ONCE + 1)
        session = await say(store, "a new ferry")
        assert len(await finds(store, "ferry", session, 1)) == 1


async def test_what_another_process_left_is_found_too(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(indexer, "LOOK_EVERY", 0.01)

    async def nothing_written(seconds: float) -> None:
        await asyncio.sleep(seconds)

    monkeypatch.setattr(store, "grown", nothing_written)
    async with followed(store):
        session = await say(store, "a ferry")
        assert len(await finds(store, "ferry", session, 1)) == 1


async def test_a_store_that_fails_is_tried_again(
    store: Store, caplog: pytest.LogCaptureFixture
) -> None:
    session = await say(store, "a ferry")
    store.failures = 3
    with caplog.at_level(logging.ERROR):
        async with followed(store):
            await finds(store, "ferry", session, 1)
    assert caplog.messages == ["the search index cannot be filled: the disk is full"]


async def test_an_entry_that_cannot_be_indexed_keeps_no_other_from_being_found(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    def choosy(entry: Entry) -> str:
        if entry.body["content"] == "poison":
            raise ValueError("no text")
        return str(entry.body["content"])

    monkeypatch.setattr(search, "text_of", choosy)
    lines = ["a ferry", "poison", "a ferry", "poison", "poison", "a ferry"]
    session = await say(store, *lines)
    async with followed(store):
        await finds(store, "ferry", session, 3)
