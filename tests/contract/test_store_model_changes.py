"""The newest change of the model on a path: what `/model` chose there."""

from storage.records.entries import Draft, Entry, Kind, SessionDraft, SessionKind
from storage.store import Store, Transaction
from tests.support.stores import append, compaction, new_session, said


def change(model: str) -> Draft:
    return Draft(Kind.MODEL_CHANGE, {"model": model})


async def chosen(store: Store, leaf: Entry | None) -> str | None:
    place = leaf.id if leaf is not None else None
    found = await store.read(lambda t: t.tree.model_change(place))
    return found.body["model"] if found is not None else None


async def test_where_nothing_was_chosen_there_is_none(store: Store) -> None:
    session = await new_session(store)
    assert await chosen(store, None) is None
    entries = await append(store, session.id, said("1"), said("2"))
    assert await chosen(store, entries[-1]) is None


async def test_the_newest_above_an_entry_counts(store: Store) -> None:
    session = await new_session(store)
    root, one, big, two, small = await append(
        store, session.id, change("first"), said("1"), change("big"), said("2"), change("small")
    )
    assert await chosen(store, root) == "first"
    assert await chosen(store, one) == "first"
    assert await chosen(store, big) == "big"
    assert await chosen(store, two) == "big"
    assert await chosen(store, small) == "small"


async def test_it_is_found_above_compactions(store: Store) -> None:
    session = await new_session(store)
    before = await append(store, session.id, change("big"), said("1"), said("2"))
    after = await append(store, session.id, compaction(before[2].id), said("3"))
    assert await chosen(store, after[-1]) == "big"


async def test_each_branch_has_its_own_and_a_fork_those_of_its_beginning(store: Store) -> None:
    session = await new_session(store)
    one, two = await append(store, session.id, said("1"), said("2"))
    left = await append(store, session.id, change("big"), said("3"))
    await store.run(lambda t: t.tree.move_leaf(session.id, one.id, after=left[1].id, by=""))
    other = await append(store, session.id, said("4"))
    assert await chosen(store, other[0]) is None
    await store.run(lambda t: t.tree.move_leaf(session.id, two.id, after=other[0].id, by=""))
    beside = await append(store, session.id, change("small"), said("5"))
    assert await chosen(store, beside[1]) == "small"
    assert await chosen(store, left[1]) == "big"

    def forked(t: Transaction) -> int:
        draft = SessionDraft(
            SessionKind.CHAT, "", parent_session=session.id, parent_entry=left[1].id
        )
        made = t.tree.create(draft).id
        t.tree.move_leaf(made, left[1].id, after=None, by="")
        return made

    fork = await store.run(forked)
    (own,) = await append(store, fork, said("6"))
    assert await chosen(store, own) == "big"
    (again,) = await append(store, fork, change(""))
    assert await chosen(store, again) == ""
    assert await chosen(store, left[1]) == "big"


async def test_it_is_found_however_many_branches_a_path_takes(store: Store) -> None:
    """More than one question to the database holds."""
    session = await new_session(store)
    (leaf,) = await append(store, session.id, change("big"))
    for _ in range(70):
        _, second = await append(store, session.id, said("left"), said("left"))
        await store.run(
            lambda t, to=leaf.id, at=second.id: t.tree.move_leaf(session.id, to, after=at, by="")  # type: ignore[misc]
        )
        (leaf,) = await append(store, session.id, said("gone on"))
    assert len(await store.read(lambda t: t.tree.route(leaf.id))) > 64
    assert await chosen(store, leaf) == "big"
