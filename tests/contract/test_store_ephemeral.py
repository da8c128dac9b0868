"""Rows that hold while the process lives that wrote them."""

from storage.ephemeral import PROCESS
from storage.store import Store


async def lives(store: Store, *processes: str, seconds: float = 60) -> None:
    for each in processes:
        await store.run(lambda tx, each=each: tx.leases.take([PROCESS + each], each, seconds))  # type: ignore[misc]


async def keys(store: Store, kind: str, scope: str | None = None) -> list[str]:
    return await store.read(lambda tx: [row.key for row in tx.ephemeral.of(kind, scope)])


async def test_only_what_living_processes_wrote_is_there(store: Store) -> None:
    await lives(store, "one")
    assert await store.run(lambda tx: tx.ephemeral.put("child", "7", "one", {"tool": "x"}, "3"))
    assert await store.run(lambda tx: tx.ephemeral.put("child", "8", "gone", {}, "3"))
    (row,) = await store.read(lambda tx: tx.ephemeral.of("child"))
    assert (row.key, row.owner, row.scope, row.body) == ("7", "one", "3", {"tool": "x"})
    assert 0 <= row.age < 60
    assert await keys(store, "child", "3") == ["7"]
    assert await keys(store, "child", "4") == []
    assert await keys(store, "command") == []
    assert await store.read(lambda tx: tx.ephemeral.living()) == {"one"}
    last = await store.read(lambda tx: tx.ephemeral.last("child", "8"))
    assert last is not None
    assert last.owner == "gone"


async def test_a_row_is_taken_over_from_a_process_that_is_gone_only(store: Store) -> None:
    await lives(store, "one", "two")
    await store.run(lambda tx: tx.ephemeral.put("child", "7", "one", {}))
    assert not await store.run(lambda tx: tx.ephemeral.put("child", "7", "two", {"mine": 1}))
    await lives(store, "one", seconds=-1)
    assert await store.run(lambda tx: tx.ephemeral.put("child", "7", "two", {"mine": 1}))
    await lives(store, "one")  # it stood still, and wakes
    assert not await store.run(lambda tx: tx.ephemeral.put("child", "7", "one", {}))
    await store.run(lambda tx: tx.ephemeral.drop("child", ["7"], "one"))
    (row,) = await store.read(lambda tx: tx.ephemeral.of("child"))
    assert (row.owner, row.body) == ("two", {"mine": 1})


async def test_some_keys_are_looked_up_alone(store: Store) -> None:
    await lives(store, "one")
    for key in "123":
        await store.run(lambda tx, k=key: tx.ephemeral.put("child", k, "one", {}))  # type: ignore[misc]
    found = await store.read(lambda tx: tx.ephemeral.of("child", keys=["1", "3", "4"]))
    assert [row.key for row in found] == ["1", "3"]
    assert await store.read(lambda tx: tx.ephemeral.of("child", keys=[])) == []


async def test_who_ends_leaves_nothing_and_the_dead_are_pruned(store: Store) -> None:
    await lives(store, "one")
    for owner, key in (("one", "1"), ("dead", "2"), ("leaving", "3")):
        await store.run(lambda tx, o=owner, k=key: tx.ephemeral.put("child", k, o, {}))  # type: ignore[misc]
    await store.run(lambda tx: tx.ephemeral.leave("leaving"))
    assert await store.run(lambda tx: tx.ephemeral.prune(60)) == 0
    assert await store.run(lambda tx: tx.ephemeral.prune(-1)) == 1
    assert await keys(store, "child") == ["1"]
