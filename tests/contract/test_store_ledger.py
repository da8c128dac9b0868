"""What model calls used, added up by whom they were for."""

from functools import partial

import pytest

from storage.errors import StoreError
from storage.records.delegations import DelegationDraft
from storage.records.entries import Usage
from storage.records.ledger import LedgerGroup, LedgerLine, Spending
from storage.store import Store, Transaction
from tests.support.stores import Clock, append, new_session, said

NOON = 1_795_262_400.0
"""2026-11-21, 12:00 UTC."""
DAY = 86_400


async def spend(
    store: Store,
    cost: float | None,
    *,
    tier: str = "parent",
    model: str = "big",
    address: str = "telegram:1",
    person: str = "telegram:1",
) -> None:
    session = await new_session(store)
    usage = Usage(10, 2, 1, cost)
    line = LedgerLine(tier, model, usage, session.id, address, person)
    await store.run(lambda t: t.ledger.add(line))


async def test_a_total_is_of_one_conversation_one_person_or_all(store: Store) -> None:
    await spend(store, 0.25)
    await spend(store, 0.5, person="telegram:2")
    await spend(store, 1.0, address="telegram:7")

    async def total(address: str | None = None, person: str | None = None) -> float:
        found = await store.read(lambda t: t.ledger.total(since=0, address=address, person=person))
        return found.cost

    assert await total() == 1.75
    assert await total(address="telegram:1") == 0.75
    assert await total(person="telegram:1") == 1.25
    assert await total(address="telegram:1", person="telegram:1") == 0.25
    assert await total(address="telegram:9") == 0


async def test_a_total_begins_with_its_first_second(store: Store, clock: Clock) -> None:
    clock.now = NOON
    await spend(store, 1.0)
    clock.now = NOON + 1
    await spend(store, 2.0)
    assert (await store.read(lambda t: t.ledger.total(since=NOON))).cost == 3.0
    assert (await store.read(lambda t: t.ledger.total(since=NOON + 0.5))).cost == 2.0


async def test_what_has_no_known_cost_is_counted_apart(store: Store) -> None:
    await spend(store, 0.5)
    await spend(store, None)
    found = await store.read(lambda t: t.ledger.total(since=0))
    assert found == Spending(input=20, output=4, calls=2, cost=0.5, unpriced=1)


async def test_nothing_spent_is_zero(store: Store) -> None:
    assert await store.read(lambda t: t.ledger.total(since=0)) == Spending()
    assert await store.read(lambda t: t.ledger.grouped("tier", since=0)) == []


@pytest.mark.parametrize(
    ("by", "names"),
    [
        ("tier", ["worker", "parent"]),
        ("model", ["small", "big"]),
        ("person", ["telegram:2", "telegram:1"]),
        ("address", ["discord:3", "telegram:1"]),
        ("day", ["2026-11-22", "2026-11-21"]),
    ],
)
async def test_groups_come_the_dearest_first(
    store: Store, clock: Clock, by: LedgerGroup, names: list[str]
) -> None:
    clock.now = NOON
    await spend(store, 0.5)
    clock.now = NOON + DAY / 2
    await spend(store, 1.0, tier="worker", model="small", address="discord:3", person="telegram:2")
    found = await store.read(lambda t: t.ledger.grouped(by, since=0))
    assert [name for name, _ in found] == names
    assert [spent.cost for _, spent in found] == [1.0, 0.5]


async def test_groups_are_of_one_conversation_where_asked(store: Store) -> None:
    await spend(store, 0.5)
    await spend(store, 0.5)
    await spend(store, 1.0, address="telegram:7", tier="judge")
    found = await store.read(lambda t: t.ledger.grouped("tier", since=0, address="telegram:1"))
    assert found == [("parent", Spending(20, 4, 2, 1.0))]


async def test_a_line_needs_its_session(store: Store) -> None:
    line = LedgerLine("parent", "big", Usage(), 999, "telegram:1", "")
    with pytest.raises(StoreError):
        await store.run(lambda t: t.ledger.add(line))


async def test_what_a_delegation_used_is_told_by_tier(store: Store) -> None:
    session = await new_session(store)
    (entry,) = await append(store, session.id, said("delegate"))
    mine, other = [
        await store.run(partial(create_delegation, session=session.id, entry=entry.id, index=index))
        for index in range(2)
    ]

    async def pays(delegation: int, tier: str, cost: float | None) -> None:
        usage = Usage(10, 2, 1, cost)
        line = LedgerLine(tier, "m", usage, session.id, "telegram:1", "", delegation)
        await store.run(lambda t: t.ledger.add(line))

    await pays(mine, "worker", 0.25)
    await pays(mine, "worker", 0.5)
    await pays(mine, "judge", None)
    await pays(mine, "judge", 0.5)
    await pays(other, "worker", 8.0)
    assert await store.read(lambda t: t.ledger.by_tier(mine)) == {
        "worker": Usage(20, 4, 2, 0.75),
        "judge": Usage(20, 4, 2, None),
    }
    assert await store.read(lambda t: t.ledger.by_tier(99)) == {}


def create_delegation(tx: Transaction, session: int, entry: int, index: int) -> int:
    draft = DelegationDraft(session, "c", entry, index, session, session, "telegram:1", "x", "m")
    return tx.delegations.create(draft).id
