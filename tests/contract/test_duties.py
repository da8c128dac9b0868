"""Duties of processes on one database: who has which, and from when on nobody may be sure of it."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

import pytest

from gateway.processes.duties import Duties, Lapsed
from gateway.processes.leased_duties import EVERY, LASTS, LeasedDuties, duties_of
from gateway.processes.shares import BUCKETS, DELIVERY, Share, receiving
from gateway.processes.switchboard import Switchboard
from storage.sql.store import SqlStore
from storage.store import Store

POLL = receiving("telegram", ("poll:telegram:1",))


class Clock:
    now = 1000.0

    def __call__(self) -> float:
        return self.now


class Process:
    """One of several on a database, whose heart beats when it is told to."""

    def __init__(self, store: SqlStore) -> None:
        self.store = store
        self.clock = Clock()
        self.duties = LeasedDuties(store, Switchboard(store), self.clock)
        self.busy: set[str] = set()

    def want(self, *shares: Share) -> None:
        for share in shares:
            self.duties.want(share, lambda name: name not in self.busy)

    @property
    def buckets(self) -> list[str]:
        return sorted(self.duties.mine(DELIVERY))


@asynccontextmanager
async def processes(url: str, count: int) -> AsyncIterator[Sequence[Process]]:
    stores = [await SqlStore.open(url) for _ in range(count)]
    try:
        yield [Process(store) for store in stores]
    finally:
        for store in stores:
            await store.close()


async def beat(*some: Process, times: int = 1) -> None:
    for _ in range(times):
        for one in some:
            await one.duties.beat()


def divided(*some: Process) -> list[int]:
    """How many buckets each has; none is two processes'."""
    had = [name for one in some for name in one.buckets]
    assert len(had) == len(set(had))
    return [len(one.buckets) for one in some]


@pytest.mark.parametrize(("count", "fair"), [(1, [32]), (2, [16, 16]), (3, [10, 11, 11])])
async def test_chats_are_divided_among_those_who_deliver(
    postgres_url: str, count: int, fair: list[int]
) -> None:
    async with processes(postgres_url, count) as started:
        for one in started:
            one.want(DELIVERY)
            await beat(one)
        await beat(*started, times=4)
        assert sorted(divided(*started)) == fair
        assert sorted(name for one in started for name in one.buckets) == sorted(BUCKETS)


async def test_who_does_not_deliver_gets_no_chats_and_is_seen_to_live(postgres_url: str) -> None:
    async with processes(postgres_url, 2) as (one, other):
        one.want(DELIVERY)
        await beat(one, other, one)
        assert divided(one, other) == [32, 0]
        assert one.duties.living == {other.store.process}
        assert one.duties.alive() and other.duties.alive()


async def test_one_polls_and_the_next_one_does_when_it_lets_go(postgres_url: str) -> None:
    async with processes(postgres_url, 2) as (one, other):
        one.want(POLL)
        other.want(POLL)
        await beat(one, other, one, other, times=6)
        assert list(one.duties.mine(POLL)) == list(POLL.names)
        assert not other.duties.mine(POLL)
        await one.duties.end()
        assert not one.duties.mine(POLL)
        await beat(other)
        assert list(other.duties.mine(POLL)) == list(POLL.names)


async def test_a_duty_is_nobodys_surely_before_it_is_anybody_elses(postgres_url: str) -> None:
    async with processes(postgres_url, 1) as (one,):
        one.want(POLL)
        await beat(one)
        first = one.duties.tenure(POLL.names[0])
        one.clock.now += LASTS - 2.0
        assert one.duties.tenure(POLL.names[0]) == first is not None
        one.clock.now += 1.0
        assert one.duties.tenure(POLL.names[0]) is None
        assert not one.duties.alive()
        await beat(one)
        again = one.duties.tenure(POLL.names[0])
        assert again not in (None, first), "it may have been another's in between"


async def test_a_renewal_counts_from_before_it_was_asked_for(postgres_url: str) -> None:
    async with processes(postgres_url, 1) as (one,):
        one.want(POLL)
        run = one.store.run

        async def slow(work: object) -> object:
            one.clock.now += LASTS
            return await run(work)  # type: ignore[arg-type]

        one.store.run = slow  # type: ignore[method-assign, assignment]
        await beat(one)
        assert not one.duties.has(POLL.names[0])


async def test_what_is_under_way_is_not_let_go_of_until_it_has_ended(postgres_url: str) -> None:
    async with processes(postgres_url, 2) as (one, other):
        one.want(DELIVERY)
        await beat(one)
        one.busy = set(BUCKETS[:20])
        other.want(DELIVERY)
        await beat(other, one, one, other)
        assert divided(one, other) == [20, 12]
        await beat(one, times=4)
        assert divided(one, other) == [16, 12], "nothing more is begun there"
        await beat(other)
        assert divided(one, other) == [16, 12], "but it is not over yet"
        one.busy = set()
        await beat(one, other)
        assert divided(one, other) == [16, 16]


async def test_work_is_cut_off_when_its_duty_may_be_anothers(postgres_url: str) -> None:
    async with processes(postgres_url, 1) as (one,):
        one.want(POLL)
        await beat(one)
        (name, tenure), *_ = one.duties.mine(POLL).items()
        async with one.duties.hold(name, tenure):
            pass
        one.clock.now += LASTS - 1.1
        with pytest.raises(Lapsed):
            async with one.duties.hold(name, tenure):
                await asyncio.Event().wait()
        one.clock.now += 1.0
        with pytest.raises(Lapsed):
            async with one.duties.hold(name, tenure):
                raise AssertionError("nothing is begun")


async def test_work_goes_on_while_its_duty_is_renewed(postgres_url: str) -> None:
    async with processes(postgres_url, 1) as (one,):
        one.want(POLL)
        await beat(one)
        (name, tenure), *_ = one.duties.mine(POLL).items()
        one.clock.now += LASTS - 1.1
        async with one.duties.hold(name, tenure):
            await beat(one)
            await asyncio.sleep(0.3)
        assert one.duties.tenure(name) == tenure


async def test_who_waits_hears_at_once_that_a_duty_came_and_that_it_went(
    postgres_url: str,
) -> None:
    async with processes(postgres_url, 2) as (one, other):
        for each in (one, other):
            each.want(POLL)
        await beat(one, other)
        had = one.duties.mine(POLL)
        coming = asyncio.create_task(other.duties.other_than(POLL, {}))
        going = asyncio.create_task(one.duties.other_than(POLL, had))
        await asyncio.sleep(0)
        assert not (coming.done() or going.done())
        await one.duties.end()
        assert await going == {}
        await beat(other)
        assert list(await coming) == list(POLL.names)


async def test_a_stopped_owner_is_late_and_another_has_its_duty(postgres_url: str) -> None:
    """Ours is a clock that stands still with nobody: the database's lease ends by its own."""
    async with processes(postgres_url, 2) as (one, other):
        one.want(POLL)
        await beat(one)
        await one.store.run(lambda tx: tx.leases.take(POLL.names, one.store.process, -1))
        one.clock.now += 20.0
        other.want(POLL)
        await beat(other)
        assert list(other.duties.mine(POLL)) == list(POLL.names)
        assert not one.duties.mine(POLL)
        await beat(one)
        assert not one.duties.mine(POLL)


async def test_two_processes_whose_hearts_beat_by_themselves_divide_and_hand_over(
    postgres_url: str,
) -> None:
    async with processes(postgres_url, 2) as (one, other):
        listening = [asyncio.create_task(each.store.listen()) for each in (one, other)]
        duties = [LeasedDuties(each.store, Switchboard(each.store)) for each in (one, other)]
        beating = []
        for each in duties:
            each.want(DELIVERY, lambda _: True)
            await each.begin()
            beating.append(asyncio.create_task(each.run()))
        async with asyncio.timeout(60):
            while [len(each.mine(DELIVERY)) for each in duties] != [16, 16]:
                await asyncio.sleep(0.05)
            beating[0].cancel()
            await duties[0].end()
            while len(duties[1].mine(DELIVERY)) != 32:
                await asyncio.sleep(0.05)
        for task in (*beating, *listening):
            task.cancel()
        await asyncio.wait((*beating, *listening))


async def test_without_other_processes_every_duty_is_ours(sqlite: Store) -> None:
    duties: Duties = duties_of(sqlite, Switchboard(sqlite))
    duties.want(DELIVERY, lambda _: True)
    assert type(duties) is Duties
    assert duties.has(BUCKETS[0]) and duties.part(DELIVERY) == 1.0
    async with duties.hold(BUCKETS[0], 0):
        pass
    assert EVERY < LASTS
    await duties.begin()
    await duties.end()
