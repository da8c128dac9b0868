"""What is left of an import that broke off, and what a file says of its times, in each database."""

import time
from collections.abc import AsyncIterator

import pytest

from storage.errors import InterchangeError
from storage.interchange.api import prepared, take_in
from storage.interchange.arriving import PART, Arriving, Entries, Head, at_hand
from storage.interchange.pi.read import Imported
from storage.records.entries import Draft, ImportedEntry, Kind, SessionKind, message
from storage.records.retention.tombstones import is_tombstone
from storage.store import Store, Transaction
from storage.transfer.checking import check
from tests.contract.test_pruning import CHAT, DAY, pruning
from tests.support.stores import Clock

COUNT = 2 * PART + 1
MARK = "qwvunfinished"


@pytest.fixture
def clock() -> Clock:
    clock = Clock()
    clock.now = time.time() // DAY * DAY
    return clock


def entry(place: int, at: float | None = None) -> ImportedEntry:
    body = message("user", f"{MARK} {place}")
    return ImportedEntry(
        Draft(Kind.MESSAGE, body, time=at), place - 1 if place else None, f"o{place}"
    )


def whole() -> Arriving:
    entries = tuple(map(entry, range(COUNT)))
    return at_hand(Imported("whole", entries, COUNT - 1, None, ()))


def cut_off() -> Arriving:
    async def parts() -> AsyncIterator[Entries]:
        yield tuple(map(entry, range(PART)))
        raise InterchangeError("no more")

    return Arriving(Head("half", COUNT, COUNT - 1, None, ()), parts())


async def breaks_off(store: Store) -> None:
    with pytest.raises(InterchangeError):
        await prepared(store, cut_off())
    while await store.run(lambda tx: tx.search.follow(100)):
        pass


async def test_what_is_left_of_an_import_is_seen_by_nobody_and_goes_after_a_day(
    store: Store, url: str, clock: Clock
) -> None:
    await breaks_off(store)
    ((left, count),) = await store.read(lambda tx: tx.tree.sessions(SessionKind.IMPORT))
    assert count == PART
    assert await store.read(lambda tx: tx.tree.sessions(SessionKind.CHAT)) == []
    assert (await pruning(store).run())["imports"] == 0
    clock.now += DAY + 1
    assert (await pruning(store).run())["imports"] == PART
    entries = await store.read(lambda tx: tx.tree.entries(left.id))
    assert all(is_tombstone(one.body) for one in entries)
    assert await store.read(lambda tx: tx.search.find(MARK, [left.id])) == []
    assert await store.read(lambda tx: tx.tree.originals(left.id)) == {}
    assert (await pruning(store).run())["imports"] == 0
    assert check(url) == []


async def test_what_came_to_its_end_stays_beside_it(store: Store, clock: Clock) -> None:
    await breaks_off(store)
    take = await prepared(store, whole())
    made = (await store.run(take)).id
    clock.now += 2 * DAY
    assert (await pruning(store).run())["imports"] == PART
    session = await store.read(lambda tx: tx.tree.session(made))
    assert (session.kind, session.title) == (SessionKind.CHAT, "whole")
    entries = await store.read(lambda tx: tx.tree.entries(made))
    assert [one.body["content"] for one in entries] == [f"{MARK} {n}" for n in range(COUNT)]
    assert len(await store.read(lambda tx: tx.tree.originals(made))) == COUNT


async def test_an_entry_that_claims_to_be_of_the_future_is_kept_no_longer_than_its_session(
    store: Store, clock: Clock
) -> None:
    def plant(tx: Transaction) -> int:
        one = entry(0, at=clock.now + 10_000 * DAY)
        return prepared_now(tx, one)

    made = await store.run(plant)
    rules = {"retention": {"messages": "30d"}}
    clock.now += 29 * DAY
    assert (await pruning(store, **rules).run())["messages"] == 0
    clock.now += 2 * DAY
    assert (await pruning(store, **rules).run())["messages"] == 1
    assert is_tombstone((await store.read(lambda tx: tx.tree.entries(made)))[0].body)


def prepared_now(tx: Transaction, one: ImportedEntry) -> int:
    session = take_in(tx, Imported("later", (one,), 0, None, ())).id
    tx.directory.bind(CHAT, session)
    return session
