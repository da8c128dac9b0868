"""Allowances of strangers, over processes and restarts."""

from gateway.access.stored_limits import (
    FACT,
    MOST_ANSWERED,
    admits,
    answered,
    renew,
    was_answered,
)
from gateway.access.strangers import Allowance
from storage.sql.store import SqlStore
from storage.store import Store, Transaction
from tests.support.processes import two_processes
from tests.support.stores import Clock

FEW = Allowance(each=(2, 10.0), total=(3, 10.0))


async def ask(store: Store, who: str) -> bool:
    return await store.run(lambda tx: admits(tx, "answers", FEW, who))


async def test_each_and_all_have_so_many_and_get_one_more_in_time(
    store: Store, clock: Clock
) -> None:
    assert [await ask(store, who) for who in ("a", "a", "a", "b", "b")] == [
        *(True, True, False),
        *(True, False),
    ]
    clock.now += 10
    assert [await ask(store, who) for who in ("b", "a")] == [True, False]
    assert await store.run(lambda tx: admits(tx, "another", FEW, "a"))


async def test_a_restart_gives_nobody_more(url: str, clock: Clock) -> None:
    for expected in (True, False):
        store = await SqlStore.open(url, clock)
        assert [await ask(store, "a") for _ in range(2)] == [expected] * 2
        await store.close()


async def test_two_processes_have_one_allowance(postgres_url: str, clock: Clock) -> None:
    async with two_processes(postgres_url, clock) as stores:
        admitted = [await ask(store, who) for who in "ab" for store in stores * 2]
    assert sum(admitted) == 3


async def test_who_has_the_whole_allowance_again_is_forgotten(store: Store, clock: Clock) -> None:
    for number in range(50):
        assert await ask(store, f"stranger {number}")
        clock.now += 10
    kept = await store.read(lambda tx: tx.directory.fact(FACT.format("answers")))
    assert len(kept["each"]) <= 2


async def test_a_clock_that_is_set_back_gives_nobody_more(store: Store, clock: Clock) -> None:
    assert [await ask(store, "a") for _ in range(2)] == [True, True]
    clock.now -= 500
    assert not await ask(store, "a")
    clock.now += 10
    assert await ask(store, "a")


TWO = Allowance(each=(2, 60.0), total=(3, 60.0))


async def test_an_event_is_answered_once_it_was_and_forgotten_behind_many_others(
    store: Store,
) -> None:
    def look(tx: Transaction, key: str) -> bool:
        return was_answered(tx, "strangers", key)

    assert not await store.read(lambda tx: look(tx, "telegram:5:1"))
    await store.run(lambda tx: answered(tx, "strangers", "telegram:5:1"))
    assert await store.read(lambda tx: look(tx, "telegram:5:1"))
    assert not await store.read(lambda tx: look(tx, "telegram:5:2"))
    assert not await store.read(lambda tx: was_answered(tx, "others", "telegram:5:1"))

    def many(tx: Transaction) -> None:
        for number in range(MOST_ANSWERED):
            answered(tx, "strangers", f"telegram:6:{number}")

    await store.run(many)
    assert not await store.read(lambda tx: look(tx, "telegram:5:1"))
    assert await store.read(lambda tx: look(tx, "telegram:6:0"))
    kept = await store.read(lambda tx: tx.directory.fact("answered:strangers"))
    assert len(kept) == MOST_ANSWERED
    assert "telegram" not in str(kept)


async def test_who_used_up_an_allowance_has_it_again_once_it_is_renewed(store: Store) -> None:
    def used(tx: Transaction) -> list[bool]:
        return [admits(tx, "guesses", TWO, who) for who in ("ann", "ann", "ann", "ben", "cleo")]

    assert await store.run(used) == [True, True, False, True, False]
    await store.run(lambda tx: renew(tx, "guesses"))
    assert await store.run(used) == [True, True, False, True, False]
