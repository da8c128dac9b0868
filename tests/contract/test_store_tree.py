"""Sessions, entries, the leaf, forks."""

import asyncio

import pytest

from storage.errors import EpochLost, LeafMoved, NotFound
from storage.records.entries import (
    Draft,
    Entry,
    Kind,
    Run,
    RunRole,
    Session,
    SessionDraft,
    SessionKind,
    record,
)
from storage.store import Store
from tests.support.stores import Clock, append, leaf_of, new_session, path_of, said, texts


async def test_a_new_session_is_empty_and_can_be_read_back(store: Store, clock: Clock) -> None:
    parent = await new_session(store)
    (entry,) = await append(store, parent.id, said("hi"))
    run = Run(RunRole.OVERSEER, 3)
    draft = SessionDraft(SessionKind.SUBAGENT, "errand", parent.id, entry.id, run)
    created = await store.run(lambda t: t.tree.create(draft))
    assert created == Session(
        id=created.id,
        kind=SessionKind.SUBAGENT,
        leaf=None,
        epoch=0,
        title="errand",
        parent_session=parent.id,
        parent_entry=entry.id,
        created=clock.now,
        run=run,
    )
    assert await store.read(lambda t: t.tree.session(created.id)) == created


@pytest.mark.parametrize(
    "draft",
    [
        SessionDraft(SessionKind.SUBAGENT, parent_session=99),
        SessionDraft(SessionKind.SUBAGENT, parent_entry=99),
    ],
)
async def test_a_session_cannot_have_a_parent_that_is_not_there(
    store: Store, draft: SessionDraft
) -> None:
    with pytest.raises(NotFound):
        await store.run(lambda t: t.tree.create(draft))


async def test_children_come_oldest_first(store: Store) -> None:
    parent = await new_session(store)
    other = await new_session(store)

    def child(of: int) -> SessionDraft:
        return SessionDraft(SessionKind.SUBAGENT, parent_session=of)

    first = await store.run(lambda t: t.tree.create(child(parent.id)))
    await store.run(lambda t: t.tree.create(child(other.id)))
    second = await store.run(lambda t: t.tree.create(child(parent.id)))
    assert await store.read(lambda t: t.tree.children(parent.id)) == [first, second]
    assert await store.read(lambda t: t.tree.children(first.id)) == []


async def test_what_is_not_there_is_not_found(store: Store) -> None:
    for work in (
        lambda t: t.tree.session(7),
        lambda t: t.tree.claim(7),
        lambda t: t.tree.append(7, said("hi"), after=None),
        lambda t: t.tree.move_leaf(7, None, after=None, by=""),
        lambda t: t.tree.entry(7),
        lambda t: t.tree.path(7),
        lambda t: t.tree.context_path(7),
    ):
        with pytest.raises(NotFound):
            await store.run(work)


async def test_an_entry_goes_below_the_leaf_and_becomes_it(store: Store, clock: Clock) -> None:
    session = await new_session(store)
    first = await store.run(lambda t: t.tree.append(session.id, said("one"), after=None))
    draft = Draft(Kind.RECORD, record("step", of=1), author="worker", tokens=12, time=5.5)
    second = await store.run(lambda t: t.tree.append(session.id, draft, after=first.id))
    body = {"role": "user", "content": "one"}
    assert first == Entry(first.id, session.id, None, 1, 0, Kind.MESSAGE, body, "", 0, clock.now)
    assert second == Entry(
        second.id,
        session.id,
        first.id,
        2,
        1,
        Kind.RECORD,
        {"record": "step", "of": 1},
        "worker",
        12,
        5.5,
    )
    assert await leaf_of(store, session.id) == second.id
    assert await store.read(lambda t: t.tree.entry(second.id)) == second
    assert await path_of(store, session.id) == (first, second)


async def test_an_append_below_what_is_not_the_leaf_changes_nothing(store: Store) -> None:
    session = await new_session(store)
    first, second = await append(store, session.id, said("one"), said("two"))

    async def append_below(after: int | None) -> None:
        await store.run(lambda t: t.tree.append(session.id, said("three"), after=after))

    for after in (None, first.id, 99):
        with pytest.raises(LeafMoved):
            await append_below(after)
    assert await path_of(store, session.id) == (first, second)


async def test_a_claim_shuts_out_who_held_the_session_before(store: Store) -> None:
    session = await new_session(store)
    old = await store.run(lambda t: t.tree.claim(session.id))
    new = await store.run(lambda t: t.tree.claim(session.id))
    assert (old.epoch, new.epoch) == (1, 2)
    with pytest.raises(EpochLost):
        await store.run(
            lambda t: t.tree.append(session.id, said("late"), after=None, epoch=old.epoch)
        )
    await store.run(lambda t: t.tree.append(session.id, said("mine"), after=None, epoch=new.epoch))
    with pytest.raises(EpochLost):  # a lost epoch is told before a moved leaf
        await store.run(
            lambda t: t.tree.append(session.id, said("late"), after=None, epoch=old.epoch)
        )
    assert texts(await path_of(store, session.id)) == ["mine"]


async def test_who_held_a_session_before_holds_it_no_more(store: Store) -> None:
    session = await new_session(store)
    old = await store.run(lambda t: t.tree.claim(session.id))
    await store.run(lambda t: t.tree.hold(session.id, old.epoch))
    await store.run(lambda t: t.tree.claim(session.id))
    with pytest.raises(EpochLost):
        await store.run(lambda t: t.tree.hold(session.id, old.epoch))


async def test_numbers_go_on_after_a_step_back_and_depth_does_not(store: Store) -> None:
    session = await new_session(store)
    one, _, three = await append(store, session.id, said("1"), said("2"), said("3"))
    moved = await store.run(
        lambda t: t.tree.move_leaf(session.id, one.id, after=three.id, by="telegram:1")
    )
    assert moved.leaf == one.id
    (four,) = await append(store, session.id, said("4"))
    assert (four.number, four.depth, four.parent) == (4, 1, one.id)
    assert texts(await path_of(store, session.id)) == ["1", "4"]


async def test_leaf_moves_are_recorded_and_appends_are_not(store: Store) -> None:
    session = await new_session(store)
    one, two = await append(store, session.id, said("1"), said("2"))
    await store.run(lambda t: t.tree.move_leaf(session.id, one.id, after=two.id, by="a"))
    await store.run(lambda t: t.tree.move_leaf(session.id, None, after=one.id, by="b"))
    await append(store, session.id, said("3"))
    other = await new_session(store)
    await store.run(lambda t: t.tree.move_leaf(other.id, one.id, after=None, by="c"))
    moves = await store.read(lambda t: t.tree.leaf_moves(session.id))
    assert [(move.source, move.target, move.by) for move in moves] == [
        (two.id, one.id, "a"),
        (one.id, None, "b"),
    ]


async def test_a_leaf_that_is_elsewhere_is_not_moved(store: Store) -> None:
    session = await new_session(store)
    one, two = await append(store, session.id, said("1"), said("2"))
    with pytest.raises(LeafMoved):
        await store.run(lambda t: t.tree.move_leaf(session.id, None, after=one.id, by=""))
    with pytest.raises(NotFound):
        await store.run(lambda t: t.tree.move_leaf(session.id, 99, after=two.id, by=""))
    assert await leaf_of(store, session.id) == two.id
    assert await store.read(lambda t: t.tree.leaf_moves(session.id)) == []


async def test_a_fork_hangs_below_an_entry_of_its_source_and_counts_on_from_it(
    store: Store,
) -> None:
    source = await new_session(store)
    one, two, three = await append(store, source.id, said("1"), said("2"), said("3"))
    fork = await new_session(store)
    await store.run(lambda t: t.tree.move_leaf(fork.id, two.id, after=None, by="telegram:1"))
    (entry,) = await append(store, fork.id, said("other"))
    assert (entry.session, entry.parent, entry.number, entry.depth) == (fork.id, two.id, 3, 2)
    assert await path_of(store, fork.id) == (one, two, entry)
    assert await path_of(store, source.id) == (one, two, three)


async def test_numbers_of_a_fork_never_go_back(store: Store) -> None:
    source = await new_session(store)
    one, two = await append(store, source.id, said("1"), said("2"))
    fork = await new_session(store)
    await store.run(lambda t: t.tree.move_leaf(fork.id, two.id, after=None, by=""))
    (three,) = await append(store, fork.id, said("3"))
    await store.run(lambda t: t.tree.move_leaf(fork.id, one.id, after=three.id, by=""))
    (four,) = await append(store, fork.id, said("4"))
    assert (four.number, four.depth) == (4, 1)


async def test_the_path_to_nothing_is_empty(store: Store) -> None:
    assert await store.read(lambda t: t.tree.path(None)) == ()
    assert await store.read(lambda t: t.tree.context_path(None)) == ()


async def test_bodies_come_back_as_they_were(store: Store) -> None:
    body = {
        "role": "user",
        "content": "NUL \0, emoji 🌳, עברית, a lone surrogate \ud83d, \u2028, quote ' and \"",
        "nested": {"list": [1, 2.5, True, None, "ß"], "big": 2**80},
    }
    session = await new_session(store)
    (entry,) = await append(store, session.id, Draft(Kind.MESSAGE, body))
    assert (await store.read(lambda t: t.tree.entry(entry.id))).body == body


async def test_who_changes_a_body_it_was_given_changes_nothing(store: Store) -> None:
    session = await new_session(store)
    draft = said("as it was")
    (entry,) = await append(store, session.id, draft)
    draft.body["content"] = entry.body["content"] = "changed"
    (read,) = await path_of(store, session.id)
    read.body["content"] = "changed"
    assert texts(await path_of(store, session.id)) == ["as it was"]


async def test_fifty_writers_that_try_again_all_get_their_entry_in(store: Store) -> None:
    session = await new_session(store)

    async def attempt(text: str) -> Entry:
        leaf = await leaf_of(store, session.id)
        return await store.run(lambda t: t.tree.append(session.id, said(text), after=leaf))

    async def write(text: str) -> Entry:
        while True:
            try:
                return await attempt(text)
            except LeafMoved:
                continue

    await asyncio.gather(*(write(str(i)) for i in range(50)))
    path = await path_of(store, session.id)
    assert sorted(texts(path), key=int) == [str(i) for i in range(50)]
    assert [entry.number for entry in path] == list(range(1, 51))
