"""Clocks that are wrong, and set right: of the database, which leases and signs of life end by, and
of a process, which makes what is periodic. Nothing waits until they are where they were."""

import asyncio
from collections.abc import AsyncIterator, Iterator

import pytest
from procrastinate import App, PsycopgConnector
from procrastinate.periodic import PeriodicDeferrer
from sqlalchemy import text

from storage.sql.repositories.processes.leases import LONGEST
from storage.sql.shared import jobs as engine
from storage.sql.shared.worker import LatestDeferrer
from storage.sql.store import SqlStore, SqlTransaction
from storage.store import Transaction
from tests.support.servers_clock import ServersClock, servers_clock
from tests.support.stores import new_session

PATIENCE = 60.0
HOUR = 3_600.0


@pytest.fixture
def clock(postgres_url: str) -> Iterator[ServersClock]:
    with servers_clock(postgres_url) as moved:
        yield moved


@pytest.fixture
async def store(clock: ServersClock) -> AsyncIterator[SqlStore]:
    opened = await SqlStore.open(clock.url)
    try:
        yield opened
    finally:
        await opened.close()


def dead(tx: Transaction) -> None:
    """A process is killed with a job begun, right after a sign of life."""
    assert isinstance(tx, SqlTransaction)
    for statement in (
        "INSERT INTO procrastinate_workers (last_heartbeat) VALUES (now())",
        "UPDATE procrastinate_jobs SET status = 'doing', "
        "worker_id = (SELECT max(id) FROM procrastinate_workers)",
    ):
        tx.connection.execute(text(statement))


async def taken_over(store: SqlStore, session: int) -> None:
    begun = asyncio.Event()

    async def advance(which: int) -> None:
        assert which == session
        begun.set()

    assert store.jobs is not None
    working = asyncio.create_task(store.jobs.work(advance, {}))
    try:
        async with asyncio.timeout(PATIENCE):
            await begun.wait()
    finally:
        working.cancel()
        await asyncio.wait([working])


async def test_what_was_left_is_taken_over_at_once_by_whose_clock_is_ahead_of_the_database_s(
    store: SqlStore, clock: ServersClock
) -> None:
    clock.set_ahead(-HOUR)
    assert store.jobs is not None
    session = (await new_session(store)).id
    await store.jobs.wake([session])
    await store.run(dead)
    await taken_over(store, session)


async def test_who_died_before_the_database_s_clock_was_set_back_is_seen_to_be_gone(
    store: SqlStore, clock: ServersClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engine, "STALLED_AFTER", 2.0)
    assert store.jobs is not None
    session = (await new_session(store)).id
    await store.jobs.wake([session])
    await store.run(dead)
    clock.set_ahead(-HOUR)
    await taken_over(store, session)


async def test_a_lease_of_who_is_gone_does_not_last_until_a_clock_that_was_set_back_is_there_again(
    store: SqlStore, clock: ServersClock
) -> None:
    await store.run(lambda tx: tx.leases.take(["duty", "kept"], "one", 8))
    clock.set_ahead(-HOUR)
    await store.run(lambda tx: tx.leases.renew(["kept"], "one", 8))
    held = await store.run(lambda tx: tx.leases.renew(["duty"], "two", 8))
    assert held == {"duty": "one", "kept": "one"}, "who has it may live, and is about to renew it"
    await store.run(lambda tx: tx.leases.renew(["other"], "three", 8))
    clock.set_ahead(-HOUR + LONGEST)
    held = await store.run(lambda tx: tx.leases.renew(["duty"], "two", 8))
    assert held == {"duty": "two"}


def deferrers() -> tuple[LatestDeferrer, PeriodicDeferrer]:
    """Of a task at each half minute; the second is procrastinate's own."""
    app = App(connector=PsycopgConnector())
    task = app.task(name="look")(lambda timestamp: None)
    app.periodic(cron="* * * * * 0,30", periodic_id="look")(task)
    return LatestDeferrer(app.periodic_registry), PeriodicDeferrer(app.periodic_registry)


def made(deferrer: PeriodicDeferrer, at: float) -> list[int]:
    return [timestamp for _, timestamp in deferrer.get_previous_tasks(at)]


def test_what_is_periodic_goes_on_where_a_clock_was_ahead_and_is_set_back() -> None:
    ours, engines = deferrers()
    now = 1_800_000_010.0
    for deferrer in (ours, engines):
        assert made(deferrer, now + HOUR) == [1_800_003_600]
    assert made(ours, now) == [1_800_000_000]
    assert made(ours, now + 2) == []
    assert made(ours, now + 21) == [1_800_000_030]
    assert made(engines, now + 21) == [], "where that changes, LatestDeferrer is not needed"


def test_what_is_periodic_is_done_once_however_far_a_clock_was_set_forward() -> None:
    ours, _ = deferrers()
    times = [1_800_000_010.0, 1_800_000_040.0, 1_800_000_040.0 + 365 * 24 * HOUR]
    assert [len(made(ours, at)) for at in times] == [1, 1, 1]
