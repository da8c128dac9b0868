"""A database that is deleted, replaced or damaged under a running store."""

import asyncio
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from storage.errors import StoreLost
from storage.sql.store import SqlStore
from tests.support.stores import append, new_session, path_of, said, texts, url_of


def delete(database: Path) -> None:
    database.unlink()


def replace(database: Path) -> None:
    other = Path(shutil.copy(database, database.with_name("other.db")))
    other.replace(database)


def delete_wal(database: Path) -> None:
    database.with_name("bough.db-wal").unlink()


def delete_shared_memory(database: Path) -> None:
    database.with_name("bough.db-shm").unlink()


def delete_all(database: Path) -> None:
    for file in database.parent.glob("bough.db*"):
        file.unlink()


def rename(database: Path) -> None:
    database.rename(database.with_name("moved.db"))


def move_and_link(database: Path) -> None:
    """The link leads to the same file, but not to its WAL."""
    rename(database)
    database.symlink_to(database.with_name("moved.db"))


AWAY = [delete, replace, delete_wal, delete_shared_memory, delete_all, rename, move_and_link]


@pytest.mark.parametrize("away", AWAY)
async def test_what_is_written_after_the_loss_is_not_acknowledged(
    sqlite: SqlStore, database: Path, away: Callable[[Path], None]
) -> None:
    session = await new_session(sqlite)
    await append(sqlite, session.id, said("before"))
    away(database)
    with pytest.raises(
        StoreLost, match=r"bough\.db.*(deleted|replaced|moved).* while it was in use"
    ):
        await append(sqlite, session.id, said("after"))
    with pytest.raises(StoreLost):
        await path_of(sqlite, session.id)


@pytest.mark.parametrize("away", AWAY)
async def test_the_guard_notices_it_though_nobody_writes(
    sqlite: SqlStore, database: Path, away: Callable[[Path], None]
) -> None:
    await new_session(sqlite)
    guard = asyncio.create_task(sqlite.guard())
    await asyncio.sleep(0)
    away(database)
    with pytest.raises(StoreLost, match="while it was in use"):
        await guard


@pytest.mark.parametrize("away", AWAY)
async def test_what_is_still_open_is_saved_and_can_be_put_back(
    sqlite: SqlStore, database: Path, away: Callable[[Path], None]
) -> None:
    session = await new_session(sqlite)
    await append(sqlite, session.id, said("1"), said("2"))
    away(database)
    with pytest.raises(StoreLost):
        await sqlite.read(lambda tx: tx.tree.session(session.id))
    told = await sqlite.rescue()
    await sqlite.close()
    (copy,) = database.parent.glob("*.rescued-*")
    assert str(copy) in told and copy.stat().st_mode & 0o077 == 0
    for left in ("bough.db-wal", "bough.db-shm"):
        if database.exists():
            database.with_name(left).unlink(missing_ok=True)  # as the operator is told to
        assert not database.with_name(left).exists()
    copy.replace(database)
    again = await SqlStore.open(url_of(database))
    assert await again.warning() == ""
    assert texts(await path_of(again, session.id)) == ["1", "2"]
    await again.close()


async def test_our_wal_is_not_taken_for_that_of_the_file_put_in_place(
    sqlite: SqlStore, database: Path
) -> None:
    session = await new_session(sqlite)
    with closing(sqlite3.connect(database)) as one:
        one.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    replace(database)
    with pytest.raises(StoreLost):
        await append(sqlite, session.id, said("only in our WAL"))
    await sqlite.rescue()
    await sqlite.close()
    (copy,) = database.parent.glob("*.rescued-*")
    other = await SqlStore.open(url_of(database))
    warning = await other.warning()
    assert f"{database} is used" in warning and str(copy) in warning
    assert texts(await path_of(other, session.id)) == []
    await other.close()


async def test_a_folder_that_is_gone_is_made_up_for(
    sqlite: SqlStore,
    database: Path,
    tmp_path_factory: pytest.TempPathFactory,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    monkeypatch.setattr("tempfile.tempdir", str(elsewhere))
    session = await new_session(sqlite)
    shutil.rmtree(database.parent)
    with pytest.raises(StoreLost):
        await append(sqlite, session.id, said("nowhere"))
    told = await sqlite.rescue()
    (copy,) = elsewhere.iterdir()
    assert str(copy) in told


async def test_a_link_that_leads_elsewhere_now_is_a_loss(database: Path) -> None:
    link = database.with_name("link.db")
    link.symlink_to(database)
    store = await SqlStore.open(url_of(link))
    link.unlink()
    link.symlink_to(shutil.copy(database, database.with_name("other.db")))
    with pytest.raises(StoreLost, match=r"link\.db was replaced"):
        await new_session(store)
    await store.close()


def zero_a_page(database: Path, page: int) -> None:
    """As a broken disk does it: in the file, past SQLite."""
    with closing(sqlite3.connect(database)) as one:
        one.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        (size,) = one.execute("PRAGMA page_size").fetchone()
    with database.open("r+b") as file:
        file.seek((page - 1) * size)
        file.write(b"\0" * size)


def root_of(database: Path, table: str) -> int:
    with closing(sqlite3.connect(database)) as one:
        query = "SELECT rootpage FROM sqlite_master WHERE name = ?"
        page: int = one.execute(query, (table,)).fetchone()[0]
    return page


async def test_a_page_that_breaks_in_mid_run_is_a_loss_with_a_way_out(database: Path) -> None:
    zero_a_page(database, root_of(database, "entries"))
    store = await SqlStore.open(url_of(database))
    guard = asyncio.create_task(store.guard())
    session = await new_session(store)
    with pytest.raises(StoreLost, match=r"malformed; .*backup.*\.recover"):
        await append(store, session.id, said("nowhere"))
    with pytest.raises(StoreLost, match="malformed"):
        await guard
    with pytest.raises(StoreLost, match="malformed"):
        await new_session(store)
    assert await store.rescue() == ""
    await store.close()


async def test_a_reader_that_meets_a_broken_page_ends_it_too(
    sqlite: SqlStore, database: Path
) -> None:
    session = await new_session(sqlite)
    zero_a_page(database, root_of(database, "sessions"))
    guard = asyncio.create_task(sqlite.guard())
    with pytest.raises(StoreLost):
        await sqlite.read(lambda tx: tx.tree.session(session.id))
    with pytest.raises(StoreLost):
        await guard
