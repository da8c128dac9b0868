"""Opening a PostgreSQL database: what is refused, how it is migrated, what is told."""

import asyncio
import logging
import subprocess
import sys
import traceback

import psycopg
import pytest
from alembic.autogenerate import compare_metadata
from alembic.runtime.migration import MigrationContext
from sqlalchemy import create_engine

from storage.errors import StoreUnavailable
from storage.lock import hold_lock
from storage.sql.dialect import database_of
from storage.sql.schema import HEAD, metadata
from storage.sql.store import SqlStore
from tests.contract.test_sqlite_opening import OPEN, start
from tests.support.postgres import PostgresServer
from tests.support.stores import append, new_session, path_of, said

PASSWORD = "hunter2-%40"


def _is_ours(name: str | None, _type: str, _parents: object) -> bool:
    """All but the search index, which is each database's own, and what processes have in common."""
    ours = name not in ("search_index", "search_queue", "leases", "ephemeral")
    return ours and not (name or "").startswith("procrastinate")


def test_the_migrations_make_what_the_schema_says(postgres_url: str) -> None:
    engine = create_engine(postgres_url)
    with engine.connect() as connection:
        opts = {"target_metadata": metadata, "include_name": _is_ours, "compare_type": True}
        context = MigrationContext.configure(connection, opts=opts)
        assert compare_metadata(context, metadata) == []
        assert context.get_current_heads() == (HEAD,)
    engine.dispose()


def test_processes_that_start_at_once_on_a_new_database_all_succeed(
    postgres_server: PostgresServer,
) -> None:
    url = postgres_server.create_bare()
    processes = [start(OPEN, url) for _ in range(3)]
    for process in processes:
        assert process.stdin is not None
        process.stdin.write("\n")
        process.stdin.flush()
    ends = [process.communicate() for process in processes]
    assert [process.returncode for process in processes] == [0, 0, 0], ends
    assert "True\n" in [out for out, _ in ends]


async def test_several_stores_that_open_a_new_database_at_once_all_succeed(
    postgres_server: PostgresServer,
) -> None:
    url = postgres_server.create_bare()
    stores = await asyncio.gather(*(SqlStore.open(url) for _ in range(4)))
    for store in stores:
        await store.close()


def test_alembic_is_not_imported_where_there_is_nothing_to_migrate(postgres_url: str) -> None:
    out, err = start(OPEN, postgres_url).communicate("\n")
    assert (out, err) == ("False\n", "")


async def test_the_short_name_that_hosts_hand_out_is_taken_too(postgres_url: str) -> None:
    store = await SqlStore.open(postgres_url.replace("postgresql://", "postgres://"))
    session = await new_session(store)
    await append(store, session.id, said("1"), said("2"))
    path = await path_of(store, session.id)
    await store.close()
    again = await SqlStore.open(postgres_url)
    assert await path_of(again, session.id) == path
    await again.close()


async def test_a_database_of_a_newer_bough_is_refused(postgres_server: PostgresServer) -> None:
    url = postgres_server.create_bare()
    await (await SqlStore.open(url)).close()
    with psycopg.connect(url) as connection:
        connection.execute("UPDATE alembic_version SET version_num = '9999'")
    with pytest.raises(StoreUnavailable, match=r"newer Bough.*9999"):
        await SqlStore.open(url)


async def test_a_database_in_another_encoding_is_refused(postgres_server: PostgresServer) -> None:
    url = postgres_server.create_bare("ENCODING 'LATIN1' TEMPLATE template0")
    with pytest.raises(StoreUnavailable, match=r"LATIN1.*ENCODING 'UTF8'"):
        await SqlStore.open(url)


async def test_a_user_who_may_not_create_tables_is_told_so(
    postgres_server: PostgresServer,
) -> None:
    url = postgres_server.create_bare()
    with psycopg.connect(url) as connection:
        connection.execute("DROP ROLE IF EXISTS guest")
        connection.execute("CREATE ROLE guest LOGIN")
        connection.execute("REVOKE CREATE ON SCHEMA public FROM PUBLIC")
    with pytest.raises(StoreUnavailable, match=r"permission denied.*owner"):
        await SqlStore.open(url.replace("bough@", "guest@"))


@pytest.mark.parametrize(
    "url",
    [
        f"postgresql://me:{PASSWORD}@127.0.0.1:1/bough",
        f"postgresql://me@127.0.0.1:1/bough?password={PASSWORD}",
        f"postgresql://me:{PASSWORD}@no-such-host.invalid/bough?connect_timeout=3",
        f"postgresql://me:{PASSWORD}@127.0.0.1:1/bough?nonsense=1",
        f"postgresql://me:{PASSWORD}@127.0.0.1:port/bough",
        f"postgresql://me:{PASSWORD}/x@127.0.0.1/bough",
        f"mysql://me:{PASSWORD}@host/bough",
        f"nonsense://me:{PASSWORD}@host/bough",
    ],
)
async def test_no_error_and_no_log_tells_the_password(
    url: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    with pytest.raises(StoreUnavailable, match=r"\[storage\] url") as caught:
        await SqlStore.open(url)
    assert "hunter2" not in "".join(traceback.format_exception(caught.value))
    assert "hunter2" not in caplog.text


def test_an_at_sign_in_a_password_shows_none_of_it() -> None:
    with pytest.raises(StoreUnavailable) as refused:
        database_of("postgresql://bough:hid@den@localhost/bough")
    assert "den" not in str(refused.value).replace("hidden", "")
    assert "%40" in str(refused.value)


async def test_a_store_says_which_database_it_is_and_not_its_password(postgres_url: str) -> None:
    store = await SqlStore.open(postgres_url.replace("bough@", f"bough:{PASSWORD}@"))
    assert store.description.startswith("PostgreSQL database bough_")
    assert "hunter2" not in store.description
    await store.close()


WITHOUT_DRIVER = """
import asyncio, sys
sys.modules["psycopg"] = None
from storage.sql.store import SqlStore
from storage.errors import StoreUnavailable
try:
    asyncio.run(SqlStore.open("postgresql://me:hunter2@host/bough"))
except StoreUnavailable as error:
    print(error)
"""


def test_where_the_driver_is_missing_it_is_said_what_to_install() -> None:
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT_DRIVER], capture_output=True, text=True, check=True
    )
    assert "install bough[postgres]" in done.stdout
    assert "hunter2" not in done.stdout


async def test_the_lock_of_a_gateway_is_only_for_files(postgres_url: str) -> None:
    with hold_lock(postgres_url), hold_lock(postgres_url):
        pass
