"""How much of a path a context is made of."""

from storage.records.entries import Entry
from storage.store import Store
from tests.support.stores import append, compaction, new_session, said


async def context_path(store: Store, leaf: Entry) -> list[Entry]:
    return list(await store.read(lambda t: t.tree.context_path(leaf.id)))


async def test_without_a_compaction_it_is_the_whole_path(store: Store) -> None:
    session = await new_session(store)
    entries = await append(store, session.id, *[said(str(i)) for i in range(5)])
    assert await context_path(store, entries[-1]) == entries


async def test_with_a_compaction_it_begins_at_the_first_kept_entry(store: Store) -> None:
    session = await new_session(store)
    before = await append(store, session.id, *[said(str(i)) for i in range(6)])
    after = await append(store, session.id, compaction(before[4].id), said("new"))
    assert await context_path(store, after[-1]) == before[4:] + after
    assert await context_path(store, after[0]) == [*before[4:], after[0]]
    assert await context_path(store, before[-1]) == before


async def test_of_many_compactions_the_newest_decides(store: Store) -> None:
    session = await new_session(store)
    a = await append(store, session.id, *[said(str(i)) for i in range(4)])
    b = await append(store, session.id, compaction(a[1].id), said("b"))
    c = await append(store, session.id, compaction(a[2].id), said("c"))
    assert await context_path(store, c[-1]) == a[2:] + b + c
    d = await append(store, session.id, compaction(c[1].id), said("d"))
    assert await context_path(store, d[-1]) == [c[1], *d]


async def test_a_compaction_that_keeps_nothing_stands_first(store: Store) -> None:
    session = await new_session(store)
    await append(store, session.id, said("1"), said("2"))
    entries = await append(store, session.id, compaction(None), said("3"))
    assert await context_path(store, entries[-1]) == entries


async def test_where_the_kept_entry_is_not_on_the_path_the_compaction_stands_first(
    store: Store,
) -> None:
    session = await new_session(store)
    one, two = await append(store, session.id, said("1"), said("2"))
    await store.run(lambda t: t.tree.move_leaf(session.id, one.id, after=two.id, by=""))
    for elsewhere in (two.id, 1_000_000, 0, -1):
        await append(store, session.id, said("between"))
        entries = await append(store, session.id, compaction(elsewhere), said("3"))
        assert await context_path(store, entries[-1]) == entries


async def test_it_reaches_from_a_fork_into_its_source(store: Store) -> None:
    source = await new_session(store)
    entries = await append(store, source.id, said("1"), said("2"), said("3"))
    fork = await new_session(store)
    await store.run(lambda t: t.tree.move_leaf(fork.id, entries[2].id, after=None, by=""))
    forked = await append(store, fork.id, said("4"), compaction(entries[1].id), said("5"))
    assert await context_path(store, forked[-1]) == entries[1:] + forked
