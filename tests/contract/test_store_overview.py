"""Sessions as lists of them show them."""

import pytest

from storage.errors import NotFound
from storage.records.entries import Draft, Kind, Session, SessionDraft, SessionKind, message, record
from storage.store import Store, Transaction
from tests.support.stores import Clock, append, new_session, said


def answer(text: str) -> Draft:
    return Draft(Kind.MESSAGE, message("assistant", text))


async def join(store: Store, session: int, *members: str) -> None:
    def work(tx: Transaction) -> None:
        for member in members:
            tx.directory.join(session, member)

    await store.run(work)


async def recent(store: Store, *members: str, limit: int = 10, skip: int = 0) -> list[int]:
    return await store.read(lambda tx: tx.directory.recent(members, limit=limit, skip=skip))


async def fork(store: Store, source: int, entry: int) -> Session:
    def work(tx: Transaction) -> Session:
        draft = SessionDraft(SessionKind.CHAT, parent_session=source, parent_entry=entry)
        made = tx.tree.create(draft)
        return tx.tree.move_leaf(made.id, entry, after=None, by="x:1", why="fork")

    return await store.run(work)


async def test_what_was_written_to_last_comes_first_page_by_page(
    store: Store, clock: Clock
) -> None:
    ids = []
    for _ in range(4):
        clock.now += 1
        ids.append((await new_session(store)).id)
        await append(store, ids[-1], said("hi"))
        await join(store, ids[-1], "x:1")
    clock.now += 1
    await append(store, ids[1], said("again"))
    assert await recent(store, "x:1") == [ids[1], ids[3], ids[2], ids[0]]
    assert await recent(store, "x:1", limit=2, skip=1) == [ids[3], ids[2]]
    assert await recent(store, "x:1", limit=2, skip=4) == []


async def test_a_session_just_made_counts_as_written_to_whatever_its_entries_say(
    store: Store, clock: Clock
) -> None:
    old = await new_session(store)
    await append(store, old.id, said("hi"))
    clock.now += 10
    imported = await new_session(store)
    await append(store, imported.id, Draft(Kind.MESSAGE, message("user", "once"), time=5.0))
    for session in (old, imported):
        await join(store, session.id, "x:1")
    assert await recent(store, "x:1") == [imported.id, old.id]


async def test_only_what_one_of_them_joined_is_listed_and_once(store: Store) -> None:
    mine, ours, theirs = [(await new_session(store, "named")).id for _ in range(3)]
    await join(store, mine, "x:1")
    await join(store, ours, "x:1", "x:9")
    await join(store, theirs, "x:2")
    assert await recent(store, "x:1", "x:9") == [ours, mine]
    assert await recent(store, "x:9") == [ours]
    assert await recent(store) == []


async def test_empty_sessions_without_a_title_and_transcripts_are_not_listed(
    store: Store,
) -> None:
    empty, named = await new_session(store), await new_session(store, "a plan")
    transcript = await store.run(
        lambda tx: tx.tree.create(SessionDraft(SessionKind.SUBAGENT, "errand"))
    )
    for session in (empty, named, transcript):
        await join(store, session.id, "x:1")
    assert await recent(store, "x:1") == [named.id]


async def test_an_overview_counts_what_was_said(store: Store, clock: Clock) -> None:
    session = await new_session(store, "trip")
    empty = await store.read(lambda tx: tx.directory.overview(session.id))
    assert (empty.title, empty.messages, empty.first) == ("trip", 0, None)
    assert empty.active == session.created
    clock.now += 7
    entries = await append(
        store,
        session.id,
        Draft(Kind.RECORD, record("stopped")),
        answer("hello"),
        said("to Rome"),
        answer("in May?"),
    )
    found = await store.read(lambda tx: tx.directory.overview(session.id))
    assert (found.session, found.messages, found.first) == (session.id, 3, entries[2])
    assert found.active == clock.now


async def test_a_fork_counts_the_path_it_begins_with(store: Store) -> None:
    source = await new_session(store)
    entries = await append(store, source.id, said("one"), answer("two"), said("three"))
    await append(store, source.id, answer("four"))
    once = await fork(store, source.id, entries[2].id)
    await append(store, once.id, answer("other"), said("more"))
    twice = await fork(store, once.id, entries[1].id)
    first, second = await store.read(
        lambda tx: (tx.directory.overview(once.id), tx.directory.overview(twice.id))
    )
    assert (first.messages, first.first) == (5, entries[0])
    assert (second.messages, second.first) == (2, entries[0])


async def test_forks_of_sessions_that_nobody_of_them_joined_are_foreign(store: Store) -> None:
    source = await new_session(store)
    (entry,) = await append(store, source.id, said("one"))
    forked = await fork(store, source.id, entry.id)
    again = await fork(store, forked.id, entry.id)
    await join(store, source.id, "x:1")
    for session in (forked, again):
        await join(store, session.id, "x:9")

    async def foreign(*members: str) -> list[int]:
        return await store.read(lambda tx: tx.directory.foreign_forks(members))

    assert await foreign("x:9") == [forked.id]
    assert await foreign("x:1", "x:9") == []
    assert await foreign("x:1") == []


async def test_there_is_no_overview_of_what_is_not_there(store: Store) -> None:
    with pytest.raises(NotFound):
        await store.read(lambda tx: tx.directory.overview(99))
