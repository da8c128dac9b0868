"""A queue in which many sessions wait."""

import psycopg

from storage.sql.shared.jobs import configure_fetches
from storage.sql.store import SqlStore

WAITING = 400


async def test_the_next_job_is_found_without_reading_all_that_wait(postgres_url: str) -> None:
    """Also where the server counted the rows of the queue while it was empty."""
    store = await SqlStore.open(postgres_url)
    async with await psycopg.AsyncConnection.connect(postgres_url) as connection:
        await configure_fetches(connection)
        await connection.execute("VACUUM ANALYZE procrastinate_jobs")
        assert store.jobs is not None
        await store.jobs.wake(range(1, WAITING + 1))
        async with connection.transaction():
            await connection.execute("SELECT procrastinate_fetch_job_v2(ARRAY['sessions'], NULL)")
            counted = await connection.execute(
                "SELECT seq_tup_read + idx_tup_fetch FROM pg_stat_xact_user_tables "
                "WHERE relname = 'procrastinate_jobs'"
            )
            (read,) = await counted.fetchone() or (WAITING,)
        assert read < WAITING / 10
    await store.close()
