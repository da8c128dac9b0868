"""Opening a database: what is refused, how it is migrated, who holds it."""

import asyncio
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest
from alembic.autogenerate import compare_metadata
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import create_engine

from storage.errors import StoreInUse, StoreUnavailable
from storage.lock import hold_lock
from storage.sql.migrate import upgrade
from storage.sql.schema import HEAD, metadata
from storage.sql.store import SqlStore
from tests.support.stores import append, new_session, path_of, said, texts, url_of


@pytest.mark.parametrize(
    ("url", "says"),
    [
        ("bough.db", "sqlite:///bough.db"),
        ("", "sqlite:///bough.db"),
        ("nonsense://x/y", "sqlite:///bough.db"),
        ("mysql://me:secret@host/bough", "SQLite or PostgreSQL"),
        ("sqlite://", "names no file"),
        ("sqlite:///:memory:", "names no file"),
    ],
)
async def test_a_url_we_cannot_use_is_refused_and_no_password_is_told(url: str, says: str) -> None:
    with pytest.raises(StoreUnavailable, match=says) as caught:
        await SqlStore.open(url)
    assert "secret" not in str(caught.value)


async def test_a_folder_that_is_not_there_is_named(tmp_path: Path) -> None:
    file = tmp_path / "nowhere" / "bough.db"
    for attempt in (SqlStore.open(url_of(file)), asyncio.to_thread(hold_lock, url_of(file))):
        with pytest.raises(StoreUnavailable, match=r"nowhere.*create"):
            await attempt


async def test_a_folder_in_place_of_the_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(StoreUnavailable, match="set \\[storage\\] url"):
        await SqlStore.open(url_of(tmp_path))


async def test_a_file_that_is_no_database_is_refused_and_stays_as_it_is(tmp_path: Path) -> None:
    file = tmp_path / "bough.db"
    file.write_text("Dear diary, " * 100)
    with pytest.raises(StoreUnavailable, match="damaged or no SQLite database"):
        await SqlStore.open(url_of(file))
    assert file.read_text() == "Dear diary, " * 100


async def test_a_damaged_database_is_refused_in_words(database: Path) -> None:
    content = bytearray(database.read_bytes())
    content[100:4096] = b"\xff" * 3996  # the root of the schema
    database.write_bytes(content)
    with pytest.raises(StoreUnavailable, match="damaged"):
        await SqlStore.open(url_of(database))


async def test_a_database_that_cannot_be_written_is_refused(database: Path) -> None:
    frozen = f"sqlite:///file:{database}?mode=ro&uri=true"
    with pytest.raises(StoreUnavailable, match="write access"):
        await SqlStore.open(frozen)


async def test_a_database_of_a_newer_bough_is_refused_and_stays_as_it_is(database: Path) -> None:
    with sqlite3.connect(database) as connection:
        connection.execute("UPDATE alembic_version SET version_num = '9999'")
    connection.close()
    with pytest.raises(StoreUnavailable, match=r"newer Bough.*9999"):
        await SqlStore.open(url_of(database))
    with sqlite3.connect(database) as connection:
        rows = connection.execute("SELECT version_num FROM alembic_version").fetchall()
    connection.close()
    assert rows == [("9999",)]


def _schema(file: Path) -> list[tuple[str, str]]:
    connection = sqlite3.connect(file)
    rows = connection.execute("SELECT name, sql FROM sqlite_master ORDER BY name").fetchall()
    connection.close()
    return rows


def _is_ours(name: str | None, _type: str, _parents: object) -> bool:
    """All but the search index, which is SQLite's own, and what processes have in common."""
    shared = ("leases", "ephemeral", "ix_ephemeral")
    return not str(name).startswith(("search_index", *shared))


def test_the_migrations_make_what_the_schema_says(database: Path) -> None:
    engine = create_engine(url_of(database))
    with engine.connect() as connection:
        opts = {"target_metadata": metadata, "include_name": _is_ours}
        context = MigrationContext.configure(connection, opts=opts)
        assert compare_metadata(context, metadata) == []
        assert context.get_current_heads() == (HEAD,)
        assert context.opts  # else the comparison would have had nothing to compare with
    engine.dispose()


def test_the_newest_migration_is_the_one_the_program_looks_for() -> None:
    folder = Path(sys.modules["storage.sql.migrate"].__file__ or "").parent / "migrations"
    assert ScriptDirectory(str(folder)).get_heads() == [HEAD]


def test_a_second_upgrade_changes_nothing(database: Path) -> None:
    before = _schema(database)
    upgrade(url_of(database))
    assert _schema(database) == before


async def test_a_new_file_is_made_and_what_is_written_is_there_next_time(tmp_path: Path) -> None:
    url = url_of(tmp_path / "new 100%.db")
    store = await SqlStore.open(url)
    session = await new_session(store)
    await append(store, session.id, said("1"), said("2"))
    path = await path_of(store, session.id)
    await store.close()
    again = await SqlStore.open(url)
    assert await path_of(again, session.id) == path
    await again.close()


OPEN = """
import asyncio, sys
from storage.sql.store import SqlStore

async def main():
    store = await SqlStore.open(sys.argv[1])
    print("alembic" in sys.modules)
    await store.close()

sys.stdin.readline()
asyncio.run(main())
"""


def start(program: str, *arguments: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", program, *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def test_processes_that_start_at_once_on_a_new_file_all_succeed(tmp_path: Path) -> None:
    url = url_of(tmp_path / "bough.db")
    processes = [start(OPEN, url) for _ in range(3)]
    for process in processes:
        assert process.stdin is not None
        process.stdin.write("\n")
        process.stdin.flush()
    ends = [process.communicate() for process in processes]
    assert [process.returncode for process in processes] == [0, 0, 0], ends
    assert "True\n" in [out for out, _ in ends]


async def test_several_stores_that_open_a_new_file_at_once_all_succeed(tmp_path: Path) -> None:
    url = url_of(tmp_path / "bough.db")
    stores = await asyncio.gather(*(SqlStore.open(url) for _ in range(4)))
    for store in stores:
        await store.close()


def test_alembic_is_not_imported_where_there_is_nothing_to_migrate(database: Path) -> None:
    out, err = start(OPEN, url_of(database)).communicate("\n")
    assert (out, err) == ("False\n", "")


LOCK = """
import sys, time
from storage.lock import hold_lock

lock = hold_lock(sys.argv[1])
print("held", flush=True)
sys.stdin.readline()
"""


@pytest.mark.crash
def test_a_lock_keeps_others_out_until_its_process_is_gone(database: Path) -> None:
    holder = start(LOCK, url_of(database))
    assert holder.stdout is not None
    assert holder.stdout.readline() == "held\n"
    with pytest.raises(StoreInUse, match=rf"pid {holder.pid}\); stop it, set \[storage\] url"):
        hold_lock(url_of(database))
    os.kill(holder.pid, signal.SIGKILL)
    holder.communicate()
    with hold_lock(url_of(database)), pytest.raises(StoreInUse, match=f"pid {os.getpid()}"):
        hold_lock(url_of(database))
    hold_lock(url_of(database)).close()


async def test_who_does_not_ask_for_the_lock_is_not_kept_out(database: Path) -> None:
    with hold_lock(url_of(database)):
        store = await SqlStore.open(url_of(database))
        session = await new_session(store)
        await append(store, session.id, said("beside"))
        assert texts(await path_of(store, session.id)) == ["beside"]
        await store.close()


def test_locks_of_two_databases_have_nothing_to_do_with_each_other(
    database: Path, tmp_path: Path
) -> None:
    other = Path(shutil.copy(database, tmp_path / "other.db"))
    with hold_lock(url_of(database)), hold_lock(url_of(other)) as lock:
        lock.close()
        hold_lock(url_of(other)).close()
