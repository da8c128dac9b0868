"""Labels in forks: those that held when the fork was made, of what it begins with."""

from storage.records.entries import Draft, Entry, Kind, SessionDraft, SessionKind
from storage.store import Store, Transaction
from tests.support.stores import Clock, append, new_session, said


async def _label(store: Store, session: int, name: str, target: Entry) -> None:
    await append(store, session, Draft(Kind.LABEL, {"label": name, "target": target.id}))


async def _fork(store: Store, session: int, end: Entry) -> int:
    draft = SessionDraft(SessionKind.CHAT, "", session, end.id)

    def work(t: Transaction) -> int:
        made = t.tree.create(draft).id
        t.tree.move_leaf(made, end.id, after=None, by="")
        return made

    return await store.run(work)


async def _labels(store: Store, session: int) -> list[tuple[str, int]]:
    labels = await store.read(lambda t: t.tree.labels(session))
    return [(label.name, label.target) for label in labels]


async def test_a_name_that_went_to_another_branch_is_not_in_the_fork(store: Store) -> None:
    session = (await new_session(store)).id
    one, two, three = await append(store, session, said("one"), said("two"), said("three"))
    await _label(store, session, "here", one)
    await _label(store, session, "here", three)
    fork = await _fork(store, session, two)
    assert await _labels(store, session) == [("here", three.id)]
    assert await _labels(store, fork) == []


async def test_a_label_from_before_holds_and_one_from_after_does_not(
    store: Store, clock: Clock
) -> None:
    session = (await new_session(store)).id
    one, two, three = await append(store, session, said("one"), said("two"), said("three"))
    await _label(store, session, "start", one)
    await _label(store, session, "beyond", three)
    fork = await _fork(store, session, two)
    clock.now += 1
    await _label(store, session, "late", two)
    assert await _labels(store, fork) == [("start", one.id)]


async def test_a_fork_gives_names_of_its_own(store: Store) -> None:
    session = (await new_session(store)).id
    one, two, three = await append(store, session, said("one"), said("two"), said("three"))
    await _label(store, session, "start", one)
    await _label(store, session, "beyond", three)
    fork = await _fork(store, session, two)
    (own,) = await append(store, fork, said("own"))
    await _label(store, fork, "beyond", own)
    await _label(store, fork, "start", two)
    assert await _labels(store, fork) == [("beyond", own.id), ("start", two.id)]
    assert await _labels(store, session) == [("start", one.id), ("beyond", three.id)]
    of_fork = await _fork(store, fork, own)
    assert await _labels(store, of_fork) == [("beyond", own.id), ("start", two.id)]
