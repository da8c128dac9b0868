"""Leases: a duty is one process's at a time."""

from storage.store import Store


async def test_a_lease_is_had_by_one_at_a_time_and_renewed_by_who_has_it(store: Store) -> None:
    assert await store.run(lambda tx: tx.leases.take(["a", "b"], "one", 60)) == {"a", "b"}
    assert await store.run(lambda tx: tx.leases.take(["b", "c"], "two", 60)) == {"c"}
    assert await store.run(lambda tx: tx.leases.take(["a", "b"], "one", 60)) == {"a", "b"}
    held = await store.read(lambda tx: tx.leases.holders(""))
    assert held == {"a": "one", "b": "one", "c": "two"}


async def test_a_lease_whose_time_is_over_is_anybodys(store: Store) -> None:
    await store.run(lambda tx: tx.leases.take(["a"], "one", -1))
    assert await store.read(lambda tx: tx.leases.holders("")) == {}
    assert await store.run(lambda tx: tx.leases.take(["a"], "two", 60)) == {"a"}
    assert await store.run(lambda tx: tx.leases.take(["a"], "one", 60)) == frozenset()


async def test_a_lease_that_is_let_go_of_is_free_and_those_of_others_stay(store: Store) -> None:
    await store.run(lambda tx: tx.leases.take(["a", "b"], "one", 60))
    await store.run(lambda tx: tx.leases.take(["c"], "two", 60))
    await store.run(lambda tx: tx.leases.release("one", ["a", "c"]))
    assert await store.read(lambda tx: tx.leases.holders("")) == {"b": "one", "c": "two"}
    await store.run(lambda tx: tx.leases.release("one"))
    assert await store.read(lambda tx: tx.leases.holders("")) == {"c": "two"}


async def test_who_has_what_is_found_by_how_it_begins(store: Store) -> None:
    await store.run(lambda tx: tx.leases.take(["poll:a", "poll_b", "send:1"], "one", 60))
    assert await store.read(lambda tx: tx.leases.holders("poll:")) == {"poll:a": "one"}
    assert await store.run(lambda tx: tx.leases.take([], "one", 60)) == frozenset()


async def test_leases_that_ended_long_ago_are_forgotten_and_no_others(store: Store) -> None:
    await store.run(lambda tx: tx.leases.take(["gone"], "one", -3_700))
    await store.run(lambda tx: tx.leases.take(["over"], "one", -60))
    await store.run(lambda tx: tx.leases.take(["had"], "one", 60))
    await store.run(lambda tx: tx.leases.tidy())
    assert await store.read(lambda tx: tx.leases.holders("")) == {"had": "one"}
    assert await store.run(lambda tx: tx.leases.take(["gone", "over"], "two", 60)) == {
        "gone",
        "over",
    }


async def test_a_renewal_says_who_has_what_from_then_on(store: Store) -> None:
    await store.run(lambda tx: tx.leases.take(["a", "b"], "one", 60))
    await store.run(lambda tx: tx.leases.take(["over"], "one", -1))
    await store.run(lambda tx: tx.leases.take(["c", "mine"], "two", 60))
    renewed = await store.run(lambda tx: tx.leases.renew(["a", "c", "new", "over"], "two", 60))
    assert renewed == {
        "a": "one",
        "b": "one",
        "c": "two",
        "mine": "two",
        "new": "two",
        "over": "two",
    }
    assert await store.read(lambda tx: tx.leases.holders("")) == renewed
