"""Whole databases from one to another, of either kind."""

import os
import re
import sqlite3
import stat
from collections.abc import Callable
from pathlib import Path

import pytest
from sqlalchemy import text

from storage.errors import StoreInUse, StoreUnavailable
from storage.lock import hold_lock
from storage.records.entries import Draft, Kind, SessionDraft, SessionKind, message
from storage.records.inbox_outbox import OutboxDraft, StoredFile
from storage.sql.dialect import database_of
from storage.sql.store import SqlStore
from storage.store import Transaction
from storage.transfer.checking import check
from storage.transfer.contents import tally
from storage.transfer.copying import back_up, copy, restore
from tests.support.postgres import PostgresServer

SAID = "A\0b \ud83c\udf33 \ud800 ünïcode"


def fill(tx: Transaction) -> None:
    """Something of everything that is hard to carry over."""
    session = tx.tree.create(SessionDraft(SessionKind.CHAT, "a title"))
    first = tx.tree.append(session.id, Draft(Kind.MESSAGE, message("user", SAID)), after=None)
    tx.tree.append(session.id, Draft(Kind.MESSAGE, message("assistant", "x")), after=first.id)
    posted = tx.outbox.enqueue(
        OutboxDraft("telegram:1", "post", {"a": 1e-9}, first.id, file=StoredFile("f", b"\0\xff"))
    )
    tx.outbox.enqueue(OutboxDraft("telegram:1", "edit", {}, edits=posted.id))
    tx.directory.greet("telegram:1", "Ann")
    tx.directory.audit("looked", "telegram:1", {"x": None})


async def filled(url: str) -> None:
    store = await SqlStore.open(url, lambda: 1234.5678901234567)
    await store.run(fill)
    while await store.run(lambda tx: tx.search.follow(100)):
        continue
    await store.close()


async def found_in(url: str, words: str) -> int:
    store = await SqlStore.open(url)
    while await store.run(lambda tx: tx.search.follow(100)):
        continue
    found = await store.read(lambda tx: tx.search.find(words, [1]))
    await store.close()
    return len(found)


def tallies(url: str) -> dict[str, tuple[int, str]]:
    engine = database_of(url).reader_engine()
    with engine.begin() as connection:
        found = {name: (one.rows, one.checksum) for name, one in tally(connection).items()}
    engine.dispose()
    return found


def execute(url: str, statement: str) -> None:
    with database_of(url).migrating() as connection:
        connection.execute(text(statement))


@pytest.fixture
def empty(request: pytest.FixtureRequest, tmp_path: Path) -> Callable[[str], str]:
    """The URL of a database with nothing in it, of a kind."""

    def made(kind: str) -> str:
        if kind == "sqlite":
            return f"sqlite:///{tmp_path}/target.db"
        server: PostgresServer = request.getfixturevalue("postgres_server")
        return server.create_bare()

    return made


@pytest.mark.parametrize("kind", ["sqlite", "postgres"])
async def test_everything_arrives_and_is_counted_and_goes_on_there(
    url: str, kind: str, empty: Callable[[str], str]
) -> None:
    await filled(url)
    target = empty(kind)
    copied = copy(url, target)
    assert {
        name: (one.rows, one.checksum) for name, one in copied.items() if name != "blobs"
    } == tallies(target)
    assert tallies(url) == tallies(target)
    assert copied["entries"].rows == 2
    assert copied["files"].rows == 1
    assert check(target) == []
    assert await found_in(target, "ünïcode") == 1
    await filled(target)  # ids go on where they were
    assert tallies(target)["sessions"][0] == 2


@pytest.mark.parametrize("kind", ["sqlite", "postgres"])
async def test_ids_that_were_given_out_once_are_not_given_out_again(
    url: str, kind: str, empty: Callable[[str], str]
) -> None:
    columns = "scope, owner, text, by_whom, address, time"
    row = f"INSERT INTO notes ({columns}) VALUES ('chat', 'a', 'b', '', 'a', 0)"
    for statement in (row, row, "DELETE FROM notes WHERE id = 2"):
        execute(url, statement)
    target = empty(kind)
    copy(url, target)
    execute(target, row)
    assert tallies(target)["notes"][0] == 2
    with database_of(target).migrating() as connection:
        assert connection.scalar(text("SELECT max(id) FROM notes")) == 3


async def test_a_target_that_holds_something_is_left_alone(url: str, tmp_path: Path) -> None:
    await filled(url)
    target = f"sqlite:///{tmp_path}/target.db"
    await filled(target)
    before = tallies(target)
    with pytest.raises(StoreUnavailable, match="is not empty"):
        copy(url, target)
    assert tallies(target) == before


async def test_a_source_in_use_is_refused(url: str, tmp_path: Path) -> None:
    await filled(url)
    with hold_lock(url):
        store = await SqlStore.open(url)
        try:
            with pytest.raises(StoreInUse):
                copy(url, f"sqlite:///{tmp_path}/target.db")
        finally:
            await store.close()


def test_what_is_not_there_is_not_made(tmp_path: Path) -> None:
    with pytest.raises(StoreUnavailable, match=r"there is no source database .*none\.db"):
        copy(f"sqlite:///{tmp_path}/none.db", f"sqlite:///{tmp_path}/target.db")
    with pytest.raises(StoreUnavailable, match="is not there"):
        restore(tmp_path / "none.db", f"sqlite:///{tmp_path}/target.db")
    assert list(tmp_path.glob("*.db")) == []


async def test_a_database_is_not_copied_to_itself(database: Path) -> None:
    link = database.with_name("link.db")
    link.symlink_to(database)
    with pytest.raises(StoreUnavailable, match="the same database"):
        copy(f"sqlite:///{database}", f"sqlite:///{link}")


async def test_a_backup_is_made_beside_a_running_gateway_and_restored(
    url: str, tmp_path: Path, empty: Callable[[str], str]
) -> None:
    await filled(url)
    os.umask(0o077)
    file = tmp_path / "saved.db"
    with hold_lock(url):
        store = await SqlStore.open(url)
        back_up(url, file)
        await store.close()
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert [path.name for path in tmp_path.iterdir() if "saved" in path.name] == ["saved.db"]
    with pytest.raises(StoreUnavailable, match="is there already"):
        back_up(url, file)
    target = empty("sqlite")
    restore(file, target)
    assert tallies(target) == tallies(url)
    with pytest.raises(StoreUnavailable, match="is not empty"):
        restore(file, target)


def test_a_file_that_is_no_backup_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "other.db"
    sqlite3.connect(file).execute("CREATE TABLE x (y)").connection.close()
    with pytest.raises(StoreUnavailable, match="is no backup"):
        restore(file, f"sqlite:///{tmp_path}/target.db")
    file.write_bytes(b"no database at all" * 100)
    with pytest.raises(StoreUnavailable, match=f"^{re.escape(str(file))}: "):
        restore(file, f"sqlite:///{tmp_path}/target2.db")


async def test_what_is_torn_is_named(database: Path) -> None:
    url = f"sqlite:///{database}"
    await filled(url)
    assert check(url) == []
    with sqlite3.connect(database) as connection:
        for statement in (
            "DROP TRIGGER IF EXISTS entries_append_only_update",
            "UPDATE sessions SET leaf = 77",
            "UPDATE inbox SET payload = '{'",
            "UPDATE outbox SET entry = 99, payload = 'x' WHERE id = 1",
        ):
            connection.execute(statement)
    connection.close()
    faults = "\n".join(check(url))
    assert "session 1: its leaf is no entry of it" in faults
    assert "outbox.entry: 1 rows refer to a row of entries that is not there" in faults
    assert "outbox.payload: the row 1 holds no JSON" in faults


async def test_forks_hang_on_what_they_were_forked_from_and_are_not_torn(url: str) -> None:
    await filled(url)
    store = await SqlStore.open(url)

    def fork(tx: Transaction, source: int, end: int) -> int:
        made = tx.tree.create(SessionDraft(SessionKind.CHAT, "", source, end))
        tx.tree.move_leaf(made.id, end, after=None, by="")
        return made.id

    def forks(tx: Transaction) -> None:
        first = fork(tx, 1, 2)
        own = tx.tree.append(first, Draft(Kind.MESSAGE, message("user", "own")), after=2)
        second = fork(tx, first, own.id)
        tx.tree.append(second, Draft(Kind.MESSAGE, message("user", "more")), after=own.id)
        tx.tree.move_leaf(second, 1, after=4, by="")

    await store.run(forks)
    await store.close()
    assert check(url) == []
    execute(url, "UPDATE sessions SET parent_session = NULL WHERE id = 2")
    assert check(url) == [
        "entry 3 does not hang on its parent: other session, depth or order",
        "session 3: its leaf is no entry of it",
    ]


async def test_a_damaged_file_is_told(database: Path) -> None:
    await filled(f"sqlite:///{database}")
    data = bytearray(database.read_bytes())
    middle = len(data) // 2
    data[middle : middle + 20_000] = os.urandom(20_000)
    database.write_bytes(data)
    try:
        told = check(f"sqlite:///{database}")
    except StoreUnavailable as error:
        told = [str(error)]
    assert re.search("damaged|malformed|disk image", "\n".join(told))
