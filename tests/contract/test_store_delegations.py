"""Delegations as people list them."""

import pytest

from storage.errors import NotFound
from storage.records.delegations import Delegation, DelegationDraft
from storage.records.entries import Usage
from storage.store import Store
from tests.support.stores import Clock, append, new_session, said


async def delegate(
    store: Store, session: int, call_entry: int, *, index: int = 0, call_id: str = "call_1"
) -> Delegation:
    journal = await new_session(store)
    draft = DelegationDraft(
        session=session,
        call_id=call_id,
        call_entry=call_entry,
        index=index,
        journal=journal.id,
        root=session,
        address="telegram:1",
        goal="look",
        model="cheap",
    )
    return await store.run(lambda t: t.delegations.create(draft))


async def calling(store: Store) -> tuple[int, int]:
    session = await new_session(store)
    (entry,) = await append(store, session.id, said("delegate"))
    return session.id, entry.id


async def test_a_new_delegation_runs_with_the_worker(store: Store, clock: Clock) -> None:
    session, entry = await calling(store)
    delegation = await delegate(store, session, entry, index=2)
    assert delegation == Delegation(
        id=delegation.id,
        session=session,
        call_id="call_1",
        call_entry=entry,
        index=2,
        journal=delegation.journal,
        root=session,
        top=None,
        background=False,
        person="",
        address="telegram:1",
        goal="look",
        state="running",
        tier="worker",
        model="cheap",
        usage=Usage(),
        result="",
        created=clock.now,
        updated=clock.now,
    )
    assert await store.read(lambda t: t.delegations.get(delegation.id)) == delegation


async def test_an_update_changes_what_is_given_and_nothing_else(store: Store, clock: Clock) -> None:
    session, entry = await calling(store)
    delegation = await delegate(store, session, entry)
    clock.now += 5
    await store.run(lambda t: t.delegations.update(delegation.id, state="waiting", tier="human"))
    waiting = await store.read(lambda t: t.delegations.get(delegation.id))
    assert (waiting.state, waiting.tier, waiting.model, waiting.result) == (
        "waiting",
        "human",
        "cheap",
        "",
    )
    assert (waiting.created, waiting.updated) == (1_000.0, 1_005.0)
    await store.run(lambda t: t.delegations.update(delegation.id, model="dear", result='{"a": 1}'))
    after = await store.read(lambda t: t.delegations.get(delegation.id))
    assert (after.state, after.tier, after.model, after.result) == (
        "waiting",
        "human",
        "dear",
        '{"a": 1}',
    )


async def test_usage_adds_up_and_an_unknown_cost_stays_unknown(store: Store) -> None:
    session, entry = await calling(store)
    delegation = await delegate(store, session, entry)

    async def used(usage: Usage) -> Usage:
        await store.run(lambda t: t.delegations.update(delegation.id, usage=usage))
        return (await store.read(lambda t: t.delegations.get(delegation.id))).usage

    assert await used(Usage(10, 2, 1, 0.25)) == Usage(10, 2, 1, 0.25)
    assert await used(Usage(1, 1, 1, 0.5)) == Usage(11, 3, 2, 0.75)
    assert await used(Usage(1, 1, 1, None)) == Usage(12, 4, 3, None)
    assert await used(Usage(1, 1, 1, 0.5)) == Usage(13, 5, 4, None)


async def test_delegations_of_a_call_come_by_index(store: Store) -> None:
    session, entry = await calling(store)
    second = await delegate(store, session, entry, index=1)
    first = await delegate(store, session, entry, index=0)
    await delegate(store, session, entry, call_id="call_2")
    (later,) = await append(store, session, said("again"))
    await delegate(store, session, later.id)
    found = await store.read(lambda t: t.delegations.of_call(session, entry, "call_1"))
    assert found == [first, second]


async def test_recent_ones_come_newest_first_and_no_more_than_asked(store: Store) -> None:
    session, entry = await calling(store)
    other, other_entry = await calling(store)
    a = await delegate(store, session, entry)
    await delegate(store, other, other_entry)
    b = await delegate(store, session, entry)
    c = await delegate(store, session, entry)
    assert await store.read(lambda t: t.delegations.recent(session)) == [c, b, a]
    assert await store.read(lambda t: t.delegations.recent(session, 2)) == [c, b]


async def test_unfinished_ones_are_running_or_waiting_oldest_first(store: Store) -> None:
    session, entry = await calling(store)
    made = {
        state: await delegate(store, session, entry)
        for state in ("waiting", "completed", "failed", "interrupted", "running")
    }

    async def set_state(delegation: int, state: str) -> None:
        await store.run(lambda t: t.delegations.update(delegation, state=state))

    for state, delegation in made.items():
        await set_state(delegation.id, state)
    unfinished = await store.read(lambda t: t.delegations.unfinished(session))
    assert [d.id for d in unfinished] == [made["waiting"].id, made["running"].id]


async def test_delegations_refer_only_to_what_is_there(store: Store) -> None:
    session, entry = await calling(store)

    def draft(session: int, entry: int, journal: int) -> DelegationDraft:
        return DelegationDraft(session, "c", entry, 0, journal, session, "telegram:1", "goal", "m")

    for work in (
        lambda t: t.delegations.get(99),
        lambda t: t.delegations.update(99, state="failed"),
        lambda t: t.delegations.update(99),
        lambda t: t.delegations.create(draft(99, entry, session)),
        lambda t: t.delegations.create(draft(session, 99, session)),
        lambda t: t.delegations.create(draft(session, entry, 99)),
    ):
        with pytest.raises(NotFound):
            await store.run(work)
    assert await store.read(lambda t: t.delegations.recent(session)) == []
