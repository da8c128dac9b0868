"""Wake-ups as jobs: what one process makes due, one of many does."""

import asyncio
import logging
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path

import psycopg
import pytest
from sqlalchemy import func, select, text

from storage.jobs import Periodic
from storage.news import Committed
from storage.records.inbox_outbox import Arrival, InboxKind
from storage.sql.shared import jobs as engine
from storage.sql.shared import worker
from storage.sql.shared.announcing import CHANNEL
from storage.sql.shared.listening import ANYTHING
from storage.sql.store import SqlStore, SqlTransaction
from storage.store import Store, Transaction
from tests.support.postgres import PostgresServer
from tests.support.processes import listening
from tests.support.stores import new_session

PATIENCE = 60.0
ROOT = Path(__file__).parents[2]
HANGS = """
import asyncio, sys
from storage.sql.store import SqlStore

async def hang(session):
    print(session, flush=True)
    await asyncio.Event().wait()

async def main():
    store = await SqlStore.open(sys.argv[1])
    await store.jobs.work(hang, {})

asyncio.run(main())
"""


def arrive(session: int, key: str) -> Callable[[Transaction], None]:
    def work(tx: Transaction) -> None:
        tx.inbox.receive(Arrival(key, InboxKind.MESSAGE, "a:1", {}, session))

    return work


@asynccontextmanager
async def working(
    store: Store, advance: Callable[[int], Awaitable[None]], **periodic: Periodic
) -> AsyncIterator[None]:
    assert store.jobs is not None
    task = asyncio.create_task(store.jobs.work(advance, periodic))
    try:
        yield
    finally:
        task.cancel()
        await asyncio.wait([task])
        assert task.cancelled()


async def until(holds: Callable[[], bool]) -> None:
    async with asyncio.timeout(PATIENCE):
        while not holds():
            await asyncio.sleep(0.02)


async def test_a_job_that_is_gone_when_it_ends_is_over(
    here: SqlStore, postgres_url: str, caplog: pytest.LogCaptureFixture
) -> None:
    ran: list[int] = []
    one, two = (await new_session(here)).id, (await new_session(here)).id

    async def lose(session: int) -> None:
        with psycopg.connect(postgres_url) as other:
            other.execute("DELETE FROM procrastinate_jobs WHERE task_name = 'advance'")
        ran.append(session)

    assert here.jobs is not None
    async with working(here, lose):
        await here.jobs.wake([one])
        await until(lambda: ran == [one])
        await here.jobs.wake([two])
        await until(lambda: ran == [one, two])
    assert not [record for record in caplog.records if record.levelno >= logging.WARNING]


async def test_what_a_commit_makes_due_is_done_by_another_process(
    here: Store, there: Store
) -> None:
    seen: list[int] = []

    async def advance(session: int) -> None:
        seen.append(session)

    session = (await new_session(here)).id
    async with working(there, advance):
        await here.run(arrive(session, "one"))
        await until(lambda: seen == [session])


async def test_what_is_not_committed_wakes_nobody(here: Store, there: Store) -> None:
    seen: list[int] = []

    async def advance(session: int) -> None:
        seen.append(session)

    def fail(tx: Transaction) -> None:
        arrive(one, "one")(tx)
        raise ValueError

    one, two = (await new_session(here)).id, (await new_session(here)).id
    async with working(there, advance):
        with pytest.raises(ValueError):
            await here.run(fail)
        await here.run(arrive(two, "two"))
        await until(lambda: bool(seen))
        assert seen == [two]


async def test_a_session_is_worked_on_by_one_process_at_a_time_and_looked_at_after_each_commit(
    here: Store, there: Store
) -> None:
    at_work = most = 0
    seen: set[str] = set()
    session = (await new_session(here)).id

    def look(store: Store) -> Callable[[int], Awaitable[None]]:
        async def advance(session: int) -> None:
            nonlocal at_work, most
            at_work += 1
            most = max(most, at_work)
            try:
                rows = await store.read(lambda tx: tx.inbox.unfinished(session))
                seen.update(row.key for row in rows)
                await asyncio.sleep(0.02)
            finally:
                at_work -= 1

        return advance

    async with working(here, look(here)), working(there, look(there)):
        keys = {f"key {number}" for number in range(30)}
        for key in sorted(keys):
            await here.run(arrive(session, key))
            await asyncio.sleep(0.01)
        # A wake-up that found one in the queue is made up for after its commit, as a gateway does.
        assert here.jobs is not None
        await here.jobs.wake([session])
        await until(lambda: seen == keys)
    assert most == 1


async def test_a_commit_says_which_sessions_somebody_is_on_the_way_to(here: Store) -> None:
    queued: list[frozenset[int]] = []
    here.watch(lambda news: queued.append(news.queued))
    session = (await new_session(here)).id
    await here.run(arrive(session, "one"))
    await here.run(arrive(session, "two"))
    assert queued == [frozenset({session}), frozenset()], "the second found the job of the first"


async def test_what_a_killed_process_left_is_taken_over(
    here: Store, postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engine, "STALLED_AFTER", 4.0)
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-c", HANGS, postgres_url, stdout=asyncio.subprocess.PIPE, cwd=ROOT
    )
    assert process.stdout is not None
    session = (await new_session(here)).id
    await here.run(arrive(session, "one"))
    async with asyncio.timeout(PATIENCE):
        assert int(await process.stdout.readline()) == session
    assert here.jobs is not None
    assert await here.jobs.working(session)
    process.kill()
    await process.wait()
    seen: list[int] = []

    async def advance(session: int) -> None:
        seen.append(session)

    async with working(here, advance):
        await until(lambda: seen == [session])
        await until_not_working(here, session)


async def until_not_working(store: Store, session: int) -> None:
    assert store.jobs is not None
    async with asyncio.timeout(PATIENCE):
        while await store.jobs.working(session):
            await asyncio.sleep(0.02)


async def test_what_was_begun_when_a_process_ends_is_done_by_another(
    here: Store, there: Store
) -> None:
    begun, done = asyncio.Event(), asyncio.Event()

    async def hang(session: int) -> None:
        begun.set()
        await asyncio.Event().wait()

    async def finish(session: int) -> None:
        done.set()

    session = (await new_session(here)).id
    async with working(here, hang):
        await here.run(arrive(session, "one"))
        await begun.wait()
    async with working(there, finish), asyncio.timeout(PATIENCE):
        await done.wait()


async def test_a_process_that_stood_still_gives_up_what_others_have_taken_over(
    here: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    cut = asyncio.Event()
    runs: list[int] = []

    async def advance(session: int) -> None:
        runs.append(session)
        if len(runs) == 1:
            monkeypatch.setattr(worker, "STALLED_AFTER", -1.0)  # as if a sign of life came late
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                monkeypatch.setattr(worker, "STALLED_AFTER", 8.0)
                cut.set()
                raise

    session = (await new_session(here)).id
    async with working(here, advance):
        await here.run(arrive(session, "one"))
        async with asyncio.timeout(PATIENCE):
            await cut.wait()
        await until(lambda: len(runs) == 2)


async def test_what_is_periodic_is_done_by_one_of_them(here: Store, there: Store) -> None:
    ticks: list[float] = []

    async def tick() -> None:
        ticks.append(time.time())

    async def advance(session: int) -> None:
        raise AssertionError("no session is due")

    each = Periodic("* * * * * *", tick)
    begun = time.time()
    async with working(here, advance, tick=each), working(there, advance, tick=each):
        await until(lambda: len(ticks) >= 7)
    # One for each second since that in which they began, however late it came. Were each to do
    # them, there would be two.
    assert len(ticks) <= int(ticks[-1]) - int(begun) + 1


async def test_processes_hear_each_other_and_not_themselves(
    here: SqlStore, there: SqlStore
) -> None:
    heard: dict[str, list[tuple[bool, str]]] = {"here": [], "there": []}
    here.watch(lambda news: heard["here"].extend((news.elsewhere, s.topic) for s in news.signals))
    there.watch(lambda news: heard["there"].extend((news.elsewhere, s.topic) for s in news.signals))
    async with listening(here, there):
        long = "ü" * 30_000
        await here.run(lambda tx: tx.signal("long", {"text": long}))
        await until(lambda: bool(heard["there"]))
    assert heard == {"here": [(False, "long")], "there": [(True, "long")]}


@pytest.mark.parametrize(
    "said", ["hello", "[]", "{}", '["another", "a", 0, 1, "{}"]', '["another", "a", 0, 1, 5]']
)
async def test_what_cannot_be_understood_may_mean_anything_and_the_next_is_heard(
    here: SqlStore, there: SqlStore, said: str
) -> None:
    heard: list[Committed] = []
    topics: list[str] = []
    async with listening(here, there):
        there.watch(heard.append)
        there.watch(lambda news: topics.extend(signal.topic for signal in news.signals))
        await here.run(partial(_notify, said=said))
        await until(lambda: ANYTHING in heard)
        await here.run(lambda tx: tx.signal("next", {}))
        await until(lambda: topics == ["next"])


def _notify(tx: Transaction, said: str) -> None:
    """As another version of the program might, or another program."""
    assert isinstance(tx, SqlTransaction)
    tx.connection.execute(select(func.pg_notify(CHANNEL, said)))


async def test_two_that_take_over_at_once_are_in_nobody_s_way(
    here: SqlStore, there: SqlStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun: list[int] = []

    async def hang(session: int) -> None:
        begun.append(session)
        await asyncio.Event().wait()

    assert isinstance(here.jobs, engine.ProcrastinateJobs)
    assert isinstance(there.jobs, engine.ProcrastinateJobs)
    sessions = [(await new_session(here)).id for _ in range(5)]
    async with working(there, hang):
        await here.jobs.wake(sessions)
        await until(lambda: len(begun) == len(sessions))
        monkeypatch.setattr(engine, "STALLED_AFTER", 0.0)
        both = (here.jobs._take_over(), here.jobs._take_over(), there.jobs._take_over())
        await asyncio.gather(*both)
        # The worker, which looks by itself too, may have taken them over once more.
        await until(lambda: all(begun.count(session) >= 2 for session in sessions))


async def test_connections_that_were_ended_while_nobody_used_them_are_passed_over(
    here: Store, postgres_server: PostgresServer, postgres_url: str
) -> None:
    jobs = here.jobs
    assert jobs is not None
    session = (await new_session(here)).id
    for _ in range(2):
        await asyncio.gather(*(jobs.working(session) for _ in range(engine.CONNECTIONS)))
        await asyncio.to_thread(postgres_server.cut, postgres_url)
        assert not await jobs.working(session)
        await asyncio.to_thread(postgres_server.cut, postgres_url)
        await jobs.wake([session])


async def test_connections_that_are_cut_end_nothing_that_runs_and_are_told_of_without_tracebacks(
    here: Store,
    there: Store,
    postgres_server: PostgresServer,
    postgres_url: str,
    caplog: pytest.LogCaptureFixture,
) -> None:
    begun, go_on = asyncio.Event(), asyncio.Event()
    ended: list[int] = []

    async def advance(session: int) -> None:
        begun.set()
        await go_on.wait()
        ended.append(session)

    one, two = (await new_session(here)).id, (await new_session(here)).id
    async with working(there, advance):
        await here.run(arrive(one, "one"))
        await begun.wait()
        await asyncio.to_thread(postgres_server.cut, postgres_url)
        await until(lambda: "database" in caplog.text)
        go_on.set()
        await until(lambda: ended == [one])
        await here.run(arrive(two, "two"))
        await until(lambda: ended == [one, two])
    assert not [record for record in caplog.records if record.exc_info]


async def test_a_process_that_is_killed_while_it_takes_over_keeps_nobody_from_doing_so(
    here: SqlStore, there: Store
) -> None:
    seen: list[int] = []

    async def advance(session: int) -> None:
        seen.append(session)

    def leave(tx: Transaction) -> None:
        """As a process that was killed with both jobs begun."""
        assert isinstance(tx, SqlTransaction)
        for lock in (f"session:{session}", engine.TAKE_OVER):
            doing = "UPDATE procrastinate_jobs SET status = 'doing' WHERE lock = :lock"
            tx.connection.execute(text(doing), {"lock": lock})

    session = (await new_session(here)).id
    await here.run(arrive(session, "one"))
    jobs = here.jobs
    assert isinstance(jobs, engine.ProcrastinateJobs)
    assert not await jobs.working(session)
    await jobs.have_taken_over()
    await here.run(leave)
    assert await jobs.working(session)
    async with working(here, advance), working(there, advance):
        await until(lambda: seen == [session])
        await until_not_working(here, session)


@pytest.mark.parametrize("steps", range(1, 30, 4))
async def test_who_is_cut_off_while_it_connects_leaves_nothing_that_runs(
    postgres_url: str, steps: int
) -> None:
    """A pool that stays open keeps the loop, and so the process, from ending."""
    store = await SqlStore.open(postgres_url)
    assert store.jobs is not None
    waking = asyncio.create_task(store.jobs.wake([1]))
    for _ in range(steps):
        await asyncio.sleep(0)
    waking.cancel()
    await asyncio.wait([waking])
    await store.close()
    assert [task for task in asyncio.all_tasks() if task.get_name().startswith("pool-")] == []
