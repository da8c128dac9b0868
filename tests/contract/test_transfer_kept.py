"""What people sent goes along with the database: in its file, its table, or its folder."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from storage.blobs.choosing import blobs_of
from storage.blobs.folder import BlobFolder
from storage.records.entries import Draft, Kind, SessionDraft, SessionKind, message
from storage.sql.store import SqlStore
from storage.transfer.checking import check
from storage.transfer.copying import back_up, copy, restore
from tests.support.postgres import PostgresServer

PICTURES = [b"\x89PNG a picture", b"\0\xff another", b"x" * 300_000]


async def with_pictures(url: str) -> list[str]:
    """A database in which an entry shows some."""
    store = await SqlStore.open(url)
    kept = blobs_of(url, store)
    digests = [await kept.put(one) for one in PICTURES]
    session = await store.run(lambda tx: tx.tree.create(SessionDraft(SessionKind.CHAT)))
    draft = Draft(Kind.MESSAGE, message("user", "look"))
    entry = await store.run(lambda tx: tx.tree.append(session.id, draft, after=None))
    await store.run(lambda tx: tx.blobs.use(entry.id, digests))
    await store.close()
    return digests


async def found_in(url: str, digests: list[str]) -> list[bytes | None]:
    store = await SqlStore.open(url)
    kept = blobs_of(url, store)
    found = [await kept.get(digest) for digest in digests]
    await store.close()
    return found


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
async def test_a_copy_has_the_pictures_where_its_kind_keeps_them(
    url: str, kind: str, empty: Callable[[str], str]
) -> None:
    digests = await with_pictures(url)
    target = empty(kind)
    assert copy(url, target)["blobs"].rows == len(PICTURES)
    assert check(target) == []
    assert await found_in(target, digests) == PICTURES


@pytest.mark.parametrize("kind", ["sqlite", "postgres"])
async def test_a_backup_is_one_file_with_the_pictures_in_it(
    url: str, kind: str, tmp_path: Path, empty: Callable[[str], str]
) -> None:
    digests = await with_pictures(url)
    file = tmp_path / "saved.db"
    saved = back_up(url, file)
    assert [path.name for path in tmp_path.glob("saved.db*")] == ["saved.db"]
    target = empty(kind)
    restored = restore(file, target)
    assert saved["blobs"] == restored["blobs"]
    assert saved["blobs"].rows == len(PICTURES)
    assert check(target) == []
    assert await found_in(target, digests) == PICTURES


async def test_a_backup_that_takes_the_place_of_the_database_has_its_pictures(
    url: str, tmp_path: Path
) -> None:
    digests = await with_pictures(url)
    back_up(url, tmp_path / "saved.db")
    shutil.copyfile(tmp_path / "saved.db", tmp_path / "placed.db")
    placed = f"sqlite:///{tmp_path}/placed.db"
    assert check(placed) == []
    assert await found_in(placed, digests) == PICTURES


async def test_pictures_that_are_gone_or_damaged_are_named_and_the_others_are_copied(
    tmp_path: Path,
) -> None:
    source, target = (f"sqlite:///{tmp_path}/{name}.db" for name in ("source", "target"))
    digests = await with_pictures(source)
    folder = BlobFolder.beside(tmp_path / "source.db")
    first, second = (folder.path / each[:2] / each[2:] for each in digests[:2])
    first.unlink()
    second.write_bytes(b"\x89PN")
    faults = check(source)
    assert sorted(fault.split()[-1] for fault in faults) == sorted(digests[:2])
    assert all("entry 1 shows a file that is not there" in fault for fault in faults)
    assert copy(source, target)["blobs"].rows == 1
    assert await found_in(target, digests) == [None, None, PICTURES[2]]
