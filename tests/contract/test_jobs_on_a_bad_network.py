"""Jobs of a process whose connections to the server break, or whose server is away."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import psycopg
import pytest

from storage.errors import StoreUnavailable
from storage.sql.store import SqlStore
from tests.contract.test_jobs import PATIENCE, arrive, until, until_not_working, working
from tests.contract.test_taken_jobs import arrive_and_take, until_it_takes
from tests.support.proxy import Proxy
from tests.support.stores import new_session

_WAITS_IN_ITS_COMMIT = """
    CREATE FUNCTION wait() RETURNS trigger LANGUAGE plpgsql AS
    $$ BEGIN PERFORM pg_advisory_xact_lock(1); RETURN NULL; END $$;
    CREATE CONSTRAINT TRIGGER wait AFTER INSERT ON inbox DEFERRABLE INITIALLY DEFERRED
    FOR EACH ROW EXECUTE FUNCTION wait()
"""
_IN_ITS_COMMIT = "SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'advisory'"


def _proxy(postgres_url: str) -> Proxy:
    server = psycopg.conninfo.conninfo_to_dict(postgres_url)
    return Proxy(Path(str(server["host"])) / ".s.PGSQL.5432")


@asynccontextmanager
async def _behind(proxy: Proxy, postgres_url: str) -> AsyncIterator[SqlStore]:
    """A process's store, whose connections can be cut without the server's hearing of it."""
    server = psycopg.conninfo.conninfo_to_dict(postgres_url)
    url = f"postgresql://{server['user']}@127.0.0.1:{proxy.port}/{server['dbname']}"
    store = await SqlStore.open(url)
    try:
        yield store
    finally:
        await store.close()


async def test_what_was_taken_by_a_commit_whose_answer_is_lost_is_done(postgres_url: str) -> None:
    done: list[int] = []

    async def advance(session: int) -> None:
        done.append(session)

    with psycopg.connect(postgres_url, autocommit=True) as direct:
        direct.execute("SELECT pg_advisory_lock(1)")
        async with (
            _proxy(postgres_url) as proxy,
            _behind(proxy, postgres_url) as store,
            working(store, advance),
        ):
            await until_it_takes(store)
            session = (await new_session(store)).id
            direct.execute(_WAITS_IN_ITS_COMMIT)
            writing = asyncio.create_task(store.run(arrive_and_take(session, "one")))
            while direct.execute(_IN_ITS_COMMIT).fetchone() != (1,):
                await asyncio.sleep(0.01)
            proxy.reset()
            with pytest.raises(StoreUnavailable, match="connection"):
                await writing
            direct.execute("SELECT pg_advisory_unlock(1)")
            await until(lambda: session in done)
            await until_not_working(store, session)
        direct.execute("DROP FUNCTION wait() CASCADE")
    assert done.count(session) == 1


async def test_who_is_told_to_stop_while_the_server_is_away_stops(postgres_url: str) -> None:
    begun = asyncio.Event()

    async def hang(session: int) -> None:
        begun.set()
        await asyncio.Event().wait()

    proxy = _proxy(postgres_url)
    async with proxy, _behind(proxy, postgres_url) as store:
        assert store.jobs is not None
        at_work = asyncio.create_task(store.jobs.work(hang, {}))
        session = (await new_session(store)).id
        await store.run(arrive(session, "one"))
        await begun.wait()
        await proxy.__aexit__()
        at_work.cancel()
        stopped, _ = await asyncio.wait([at_work], timeout=PATIENCE)
        assert stopped
        assert at_work.cancelled()
