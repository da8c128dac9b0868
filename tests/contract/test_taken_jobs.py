"""A job that a process takes in the transaction that makes it."""

import asyncio
from collections.abc import Callable
from functools import partial

import pytest

from storage.jobs import TakenJob
from storage.news import Committed
from storage.records.inbox_outbox import Arrival, InboxKind
from storage.sql.shared import worker
from storage.sql.store import SqlStore
from storage.store import Store, Transaction
from tests.contract.test_jobs import arrive, until, until_not_working, working
from tests.support.processes import listening
from tests.support.stores import new_session


def arrive_and_take(session: int, key: str) -> Callable[[Transaction], TakenJob | None]:
    def work(tx: Transaction) -> TakenJob | None:
        tx.inbox.receive(Arrival(key, InboxKind.MESSAGE, "a:1", {}, session))
        return tx.take(session)

    return work


async def nothing(session: int) -> None:
    pass


async def until_it_takes(store: Store) -> None:
    """Its worker is known to the database."""
    async with asyncio.timeout(60):
        session = (await new_session(store)).id
        while await store.run(lambda tx: tx.take(session)) is None:
            await asyncio.sleep(0.02)
        await until_not_working(store, session)


async def test_a_process_does_what_it_took_and_no_other_is_told(
    here: SqlStore, there: SqlStore
) -> None:
    heard: list[Committed] = []
    done_here: list[int] = []
    done_there: list[int] = []

    async def advance(session: int) -> None:
        done_here.append(session)

    async def elsewhere(session: int) -> None:
        done_there.append(session)

    there.watch(heard.append)
    async with working(here, advance), working(there, elsewhere), listening(there):
        await until_it_takes(here)
        one, two = (await new_session(here)).id, (await new_session(here)).id
        done_here.clear()
        assert await here.run(arrive_and_take(one, "one")) is not None
        await until(lambda: done_here == [one])
        await here.run(lambda tx: tx.signal("next", {}))
        await until(lambda: any(news.signals for news in heard))
        assert one not in frozenset[int]().union(*(news.sessions for news in heard))
        await here.run(arrive(two, "two"))
        await until(lambda: two in done_here + done_there)
    assert one not in done_there


async def test_what_is_given_along_is_done_instead(here: SqlStore) -> None:
    done: list[str] = []

    async def begun() -> None:
        done.append("begun")

    async def advance(session: int) -> None:
        done.append("looked")

    def work(tx: Transaction) -> None:
        taken = tx.take(session)
        assert taken is not None
        taken.work = begun

    session = (await new_session(here)).id
    async with working(here, advance):
        await until_it_takes(here)
        done.clear()
        await here.run(work)
        await until_not_working(here, session)
        assert done == ["begun"]


async def test_what_comes_while_a_taken_job_runs_is_seen_after_it(
    here: SqlStore, there: SqlStore
) -> None:
    at_work = most = 0
    seen: set[str] = set()
    session = (await new_session(here)).id

    async def advance(store: Store, session: int) -> None:
        nonlocal at_work, most
        at_work += 1
        most = max(most, at_work)
        rows = await store.read(lambda tx: tx.inbox.unfinished(session))
        seen.update(row.key for row in rows)
        await asyncio.sleep(0.01)
        at_work -= 1

    async with working(here, partial(advance, here)), working(there, partial(advance, there)):
        await until_it_takes(here)
        await until_it_takes(there)
        at_work = most = 0
        keys = {f"key {number}" for number in range(30)}
        for number, key in enumerate(sorted(keys)):
            await (here, there)[number % 2].run(arrive_and_take(session, key))
            await asyncio.sleep(0.005)
        assert here.jobs is not None
        await here.jobs.wake([session])
        await until(lambda: seen == keys)
    assert most == 1


async def test_one_that_does_not_work_takes_nothing(here: SqlStore, there: SqlStore) -> None:
    session = (await new_session(here)).id
    done: list[int] = []

    async def advance(session: int) -> None:
        done.append(session)

    assert await here.run(arrive_and_take(session, "one")) is None
    async with working(there, advance):
        await until(lambda: done == [session])
        await until_it_takes(there)
        assert there.jobs is not None
        there.jobs.fetch_no_more()
        assert await there.run(arrive_and_take(session, "two")) is None


async def test_what_a_process_took_and_did_not_end_is_done_by_another(
    here: SqlStore, there: SqlStore
) -> None:
    begun, done = asyncio.Event(), asyncio.Event()

    async def hang(session: int) -> None:
        if begun_in == session:
            begun.set()
            await asyncio.Event().wait()

    async def finish(session: int) -> None:
        done.set()

    begun_in = (await new_session(here)).id
    async with working(here, hang):
        await until_it_takes(here)
        await here.run(arrive_and_take(begun_in, "one"))
        await begun.wait()
    async with working(there, finish), asyncio.timeout(60):
        await done.wait()


async def test_a_job_that_ends_while_a_sign_of_life_is_late_is_over(
    here: SqlStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    runs: list[int] = []

    async def advance(session: int) -> None:
        runs.append(session)
        if session == late:
            monkeypatch.setattr(worker, "STALLED_AFTER", -1.0)

    monkeypatch.setattr(worker, "BEAT_EVERY", 6.0)  # none meanwhile: it would end the worker
    late, next_one = (await new_session(here)).id, (await new_session(here)).id
    async with working(here, advance):
        await here.run(arrive(late, "one"))
        await until(lambda: late in runs)
        await until_not_working(here, late)
        monkeypatch.setattr(worker, "STALLED_AFTER", 8.0)
        await here.run(arrive(next_one, "two"))
        await until(lambda: next_one in runs)
    assert runs == [late, next_one]


async def test_signs_of_life_are_in_no_taken_jobs_way(here: SqlStore) -> None:
    done: set[int] = set()

    async def advance(session: int) -> None:
        done.add(session)

    sessions = [(await new_session(here)).id for _ in range(40)]
    async with working(here, advance):
        await until_it_takes(here)
        works = (here.run(arrive_and_take(one, f"{one}")) for one in sessions)
        taken = await asyncio.gather(*works)
        assert None not in taken
        await until(lambda: done >= set(sessions))
