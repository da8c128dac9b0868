"""What is scheduled: whose it is, what is due, and compare-and-set."""

import asyncio
from dataclasses import replace
from functools import partial

import pytest

from storage.errors import NotFound
from storage.news import Committed
from storage.records.tools.schedules import Schedule, ScheduleDraft, ScheduleState
from storage.store import Store, Transaction
from tests.support.stores import Clock, new_session


async def scheduled(
    store: Store,
    at: float,
    *,
    address: str = "telegram:1",
    person: str = "telegram:1",
    text: str = "tea",
) -> Schedule:
    session = (await new_session(store)).id
    draft = ScheduleDraft(session, address, person, text, f"once {at!r}", "UTC", at)
    return await store.run(lambda tx: tx.schedules.create(draft))


async def again(store: Store, schedule: Schedule) -> Schedule:
    return await store.read(lambda tx: tx.schedules.get(schedule.id))


async def test_a_schedule_is_kept_as_it_was_made(store: Store, clock: Clock) -> None:
    made = await scheduled(store, 2_000.25, text="tea \N{HOT BEVERAGE}\0")
    assert made.state is ScheduleState.ACTIVE
    assert (made.created, made.fired, made.reason) == (clock.now, None, "")
    kept = await again(store, made)
    assert kept == replace(made, text=kept.text)
    assert kept.text.startswith("tea \N{HOT BEVERAGE}")
    with pytest.raises(NotFound):
        await store.read(lambda tx: tx.schedules.get(99))


async def test_what_is_due_comes_oldest_first_and_only_what_is_active(store: Store) -> None:
    later, first, second = [await scheduled(store, at) for at in (3_000.0, 1_000.0, 2_000.0)]
    paused = await scheduled(store, 500.0)
    await store.run(lambda tx: tx.schedules.change(paused, state=ScheduleState.PAUSED))
    assert await store.read(lambda tx: tx.schedules.next_due()) == 1_000
    assert await store.read(lambda tx: tx.schedules.due(2_000.0, 9)) == [first, second]
    assert await store.read(lambda tx: tx.schedules.due(9_000.0, 2)) == [first, second]
    assert await store.read(lambda tx: tx.schedules.due(999.0, 9)) == []
    for each in (first, second, later):
        await store.run(partial(_end, seen=each))
    assert await store.read(lambda tx: tx.schedules.next_due()) is None


async def test_a_change_is_made_only_to_what_was_seen(store: Store) -> None:
    made = await scheduled(store, 1_000.1)
    change = partial(_fire, seen=made, at=2_000.2)
    assert await store.run(change)
    assert not await store.run(change)
    fired = await again(store, made)
    assert (fired.next, fired.fired, fired.state) == (2_000.2, 1_000.1, ScheduleState.ACTIVE)
    assert await store.run(lambda tx: tx.schedules.change(fired, state=ScheduleState.PAUSED))
    assert not await store.run(lambda tx: tx.schedules.change(fired, next=1.0))


def _end(tx: Transaction, seen: Schedule) -> bool:
    return tx.schedules.change(seen, state=ScheduleState.DONE)


def _live_in(tx: Transaction, zone: str) -> None:
    tx.schedules.set_zone("telegram:1", zone)


def _fire(tx: Transaction, seen: Schedule, at: float) -> bool:
    return tx.schedules.change(seen, next=at, fired=seen.next)


async def test_of_many_who_fire_at_once_one_does(store: Store) -> None:
    made = await scheduled(store, 1_000.0)
    change = partial(_fire, seen=made, at=2_000.0)
    done = await asyncio.gather(*(store.run(change) for _ in range(8)))
    assert sorted(done) == [False] * 7 + [True]


async def test_what_is_deleted_loses_its_text_and_keeps_its_number(store: Store) -> None:
    made = await scheduled(store, 1_000.0)
    await store.run(lambda tx: tx.schedules.change(made, state=ScheduleState.DELETED))
    assert (await again(store, made)).text == ""
    assert (await scheduled(store, 1_000.0)).id > made.id


async def test_a_conversation_sees_its_own_with_those_that_are_paused(store: Store) -> None:
    paused, active, done = [await scheduled(store, at) for at in (3.0, 2.0, 1.0)]
    await scheduled(store, 1.0, address="telegram:2")
    await store.run(lambda tx: tx.schedules.change(paused, state=ScheduleState.PAUSED))
    await store.run(lambda tx: tx.schedules.change(done, state=ScheduleState.DONE))
    found = await store.read(lambda tx: tx.schedules.of_conversation("telegram:1"))
    assert [each.id for each in found] == [active.id, paused.id]


async def test_what_is_active_is_counted_by_place_and_by_person(store: Store, clock: Clock) -> None:
    await scheduled(store, 1.0)
    await scheduled(store, 2.0, address="telegram:2")
    clock.now += 100
    await scheduled(store, 3.0, person="telegram:3")
    gone = await scheduled(store, 4.0)
    await store.run(lambda tx: tx.schedules.change(gone, state=ScheduleState.DELETED))

    async def active(address: str | None = None, person: str | None = None) -> int:
        return await store.read(lambda tx: tx.schedules.active(address=address, person=person))

    assert await active() == 3
    assert await active(address="telegram:1") == 2
    assert await active(person="telegram:1") == 2
    assert await active(address="telegram:1", person="telegram:1") == 1
    made = await store.read(lambda tx: tx.schedules.made_since("telegram:1", clock.now - 50))
    assert made == 2


async def test_all_of_a_person_is_paused_at_once(store: Store) -> None:
    mine = [await scheduled(store, at) for at in (1.0, 2.0)]
    other = await scheduled(store, 3.0, person="telegram:2")
    assert await store.run(lambda tx: tx.schedules.pause_all("telegram:1", "gone")) == 2
    assert await store.run(lambda tx: tx.schedules.pause_all("telegram:1", "gone")) == 0
    assert {(await again(store, each)).reason for each in mine} == {"gone"}
    assert (await again(store, other)).state is ScheduleState.ACTIVE


async def test_what_was_done_in_a_conversation_before_is_paused(store: Store) -> None:
    done, later = await scheduled(store, 1.0), await scheduled(store, 2.0)
    other = await scheduled(store, 3.0, address="telegram:2")
    for each in (done, other):
        await store.run(partial(_fire, seen=each, at=5.0))
    assert await store.run(lambda tx: tx.schedules.pause_fired("telegram:1", "gone")) == 1
    states = [(await again(store, each)).state for each in (done, later, other)]
    assert states == [ScheduleState.PAUSED, ScheduleState.ACTIVE, ScheduleState.ACTIVE]


async def test_what_was_fired_later_than_now_is_found(store: Store) -> None:
    made = await scheduled(store, 1_000.0)
    await store.run(partial(_fire, seen=made, at=5_000.0))
    assert await store.read(lambda tx: tx.schedules.ahead(1_000.0)) == []
    assert [s.id for s in await store.read(lambda tx: tx.schedules.ahead(900.0))] == [made.id]


async def test_people_have_the_zone_that_they_said_last(store: Store) -> None:
    assert await store.read(lambda tx: tx.schedules.zone("telegram:1")) == ""
    for zone in ("Europe/Berlin", "Asia/Tokyo"):
        await store.run(partial(_live_in, zone=zone))
    assert await store.read(lambda tx: tx.schedules.zone("telegram:1")) == "Asia/Tokyo"
    assert await store.read(lambda tx: tx.schedules.zone("telegram:2")) == ""


async def test_who_watches_hears_of_each_change_and_of_nothing_else(store: Store) -> None:
    made = await scheduled(store, 1_000.0)
    heard: asyncio.Queue[Committed] = asyncio.Queue()
    store.watch(heard.put_nowait)
    await store.run(lambda tx: tx.schedules.set_zone("telegram:1", "UTC"))
    await store.run(lambda tx: tx.schedules.change(made, next=2_000.0))
    assert await heard.get() == Committed(frozenset(), outbox=False, schedules=True)
    assert heard.empty()
