"""A SQLite database on a disk that is full, with the room that is kept for it."""

import asyncio
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from threading import Event, Thread

import pytest

from storage.errors import StoreFull
from storage.lock import hold_lock
from storage.sql.ballast import PARTS, Ballast
from storage.sql.store import SqlStore
from tests.support.gateway_process import PATIENCE
from tests.support.small_disks import fill, small_disk, use_up_files
from tests.support.stores import append, new_session, path_of, said, texts, url_of

SIZE = 4 << 20
LONG = "x" * 30_000


@pytest.fixture
def disk() -> Iterator[Path]:
    with small_disk("48m") as folder:
        yield folder


def parts(disk: Path) -> list[Path]:
    return sorted((disk / "bough.db.ballast").glob("*"))


async def kept(store: SqlStore) -> asyncio.Task[None]:
    """What a gateway does besides, once everything is kept."""
    task = asyncio.create_task(store.guard())
    async with asyncio.timeout(PATIENCE):
        while store._database.restore_room():
            await asyncio.sleep(0.01)
    return task


async def test_what_is_said_on_a_full_disk_is_kept(disk: Path) -> None:
    store = await SqlStore.open(url_of(disk / "bough.db"), ballast=SIZE)
    guard = await kept(store)
    assert len(parts(disk)) == PARTS
    assert sum(part.stat().st_blocks * 512 for part in parts(disk)) >= SIZE // 2
    session = await new_session(store)
    await append(store, session.id, said("before"))
    fill(disk)
    for number in range(20):
        await append(store, session.id, said(f"{number} {LONG}"))
    assert len(texts(await path_of(store, session.id))) == 21
    assert 0 < len(parts(disk)) < PARTS
    guard.cancel()
    await store.close()
    done = sqlite3.connect(disk / "bough.db").execute("PRAGMA integrity_check").fetchone()
    assert done == ("ok",)


async def test_jobs_of_a_group_that_found_room_are_done_once(disk: Path) -> None:
    store = await SqlStore.open(url_of(disk / "bough.db"), ballast=SIZE)
    guard = await kept(store)
    session = await new_session(store)
    fill(disk)
    entered, leave = Event(), Event()

    def holds(_: object) -> None:
        entered.set()
        assert leave.wait(PATIENCE)

    first = asyncio.create_task(store.run(holds))
    await asyncio.to_thread(entered.wait)
    rest = [asyncio.create_task(new_session(store, f"{n} {LONG}")) for n in range(9)]
    failing = asyncio.create_task(append(store, session.id + 999, said("nowhere")))
    await asyncio.sleep(0)
    leave.set()
    await asyncio.gather(first, *rest)
    with pytest.raises(Exception, match="session"):
        await failing
    titles = [
        row[0] for row in sqlite3.connect(disk / "bough.db").execute("SELECT title FROM sessions")
    ]
    assert sorted(titles) == sorted(["", *(f"{n} {LONG}" for n in range(9))])
    guard.cancel()
    await store.close()


async def test_who_fills_the_disk_at_the_same_time_does_not_get_all_of_it(disk: Path) -> None:
    store = await SqlStore.open(url_of(disk / "bough.db"), ballast=SIZE)
    guard = await kept(store)
    session = await new_session(store)
    ended = Event()

    def greedy() -> None:
        with (disk / "greedy").open("ab", 0) as file:
            while not ended.is_set():
                try:
                    file.write(bytes(4096))
                except OSError:
                    continue

    thief = Thread(target=greedy)
    thief.start()
    try:
        async with asyncio.timeout(PATIENCE):
            while not Ballast(disk / "bough.db").is_full():
                await asyncio.sleep(0.01)
            saying = asyncio.create_task(append(store, session.id, said(LONG)))
            while len(parts(disk)) == PARTS:
                await asyncio.sleep(0.01)
    finally:
        ended.set()
        thief.join()
    await saying
    assert parts(disk)
    guard.cancel()
    await store.close()


async def test_with_nothing_left_it_is_said_and_nothing_is_lost(disk: Path) -> None:
    store = await SqlStore.open(url_of(disk / "bough.db"))
    session = await new_session(store)
    taken = fill(disk)
    with pytest.raises(StoreFull, match="free some space on its disk"):
        for _ in range(100):
            await append(store, session.id, said(LONG))
    before = len(await path_of(store, session.id))
    taken.unlink()
    await append(store, session.id, said("after"))
    assert len(await path_of(store, session.id)) == before + 1
    await store.close()


async def test_it_is_kept_again_once_there_is_room_and_people_are_told_until_then(
    disk: Path,
) -> None:
    store = await SqlStore.open(url_of(disk / "bough.db"), ballast=SIZE)
    guard = await kept(store)
    session = await new_session(store)
    taken = fill(disk)
    await append(store, session.id, said(LONG))
    assert "Free some space on that disk now" in store._database.restore_room()
    assert len(parts(disk)) < PARTS
    taken.unlink()
    assert store._database.restore_room() == ""
    assert len(parts(disk)) == PARTS
    guard.cancel()
    await store.close()


async def test_a_start_on_a_full_disk_finds_room(disk: Path) -> None:
    url = url_of(disk / "bough.db")
    store = await SqlStore.open(url, ballast=SIZE)
    guard = await kept(store)
    guard.cancel()
    await store.close()
    fill(disk)
    with hold_lock(url):
        again = await SqlStore.open(url, ballast=SIZE)
        await append(again, (await new_session(again)).id, said(LONG))
        await again.close()


async def test_a_start_where_no_file_can_be_made_finds_room() -> None:
    with small_disk("48m", files=60) as disk:
        url = url_of(disk / "bough.db")
        store = await SqlStore.open(url, ballast=SIZE)
        guard = await kept(store)
        guard.cancel()
        await store.close()
        use_up_files(disk)
        with hold_lock(url):
            again = await SqlStore.open(url, ballast=SIZE)
            await append(again, (await new_session(again)).id, said(LONG))
            await again.close()


def test_a_small_disk_has_a_small_one(disk: Path) -> None:
    Ballast(disk / "bough.db", 64 << 20).restore()
    size = sum(part.stat().st_size for part in parts(disk))
    assert (1 << 20) < size <= (48 << 20) // 20


def test_none_is_made_where_there_is_little_room(disk: Path) -> None:
    taken = fill(disk)
    with taken.open("ab") as file:
        file.truncate(taken.stat().st_size - (3 << 20))
    ballast = Ballast(disk / "bough.db", SIZE)
    ballast.restore()
    assert parts(disk) == [] and ballast.given_up() == ""


def test_what_is_not_wanted_any_more_is_taken_away(disk: Path) -> None:
    Ballast(disk / "bough.db", SIZE).restore()
    Ballast(disk / "bough.db", 0).restore()
    assert parts(disk) == []
