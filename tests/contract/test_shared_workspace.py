"""Workers on one database that use one folder, or each its own: who may work."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest

from gateway.configuration.config import Config
from gateway.processes.shared_workspace import (
    FACT,
    MARKER,
    Place,
    SharedWorkspace,
    WorkspaceElsewhere,
    root_of,
)
from storage.sql.store import SqlStore
from tests.support.processes import shows_that_it_lives, two_processes


@pytest.fixture
async def stores(postgres_url: str) -> AsyncIterator[tuple[SqlStore, SqlStore]]:
    async with two_processes(postgres_url) as both:
        yield both


def at(store: SqlStore, root: Path) -> SharedWorkspace:
    found = SharedWorkspace.of(config(root), store)
    assert found is not None
    return found


def config(root: Path, **tools: Any) -> Config:
    given = {"toolsets": ["file"], "workspace": f"{root}/{{session}}", **tools}
    return Config.model_validate({"tools": given})


async def ended(store: SqlStore) -> None:
    await shows_that_it_lives(store, -1.0)


async def moved_to(store: SqlStore, host: str) -> None:
    """What is on record is of that host."""

    def move(tx: Any) -> None:
        record = tx.directory.fact(FACT)
        tx.directory.set_fact(FACT, record | {"place": {**record["place"], "host": host}})

    await store.run(move)


@pytest.mark.parametrize(
    ("template", "root"),
    [("w/{session}", "w"), ("/a/b", "/a/b"), ("/a/x{session}/b", "/a"), ("{session}", ".")],
)
def test_the_folder_that_sessions_share(template: str, root: str) -> None:
    assert root_of(template) == Path(root)


async def test_workers_in_one_folder_work(
    stores: tuple[SqlStore, SqlStore], tmp_path: Path
) -> None:
    for store in stores:
        await at(store, tmp_path).claim()
        assert await at(store, tmp_path).look() == (
            True,
            f"{Place.of(tmp_path)} is what the workers share",
        )


async def test_a_worker_with_another_folder_does_not_work_and_both_hosts_are_named(
    stores: tuple[SqlStore, SqlStore], tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    here, there = tmp_path / "here", tmp_path / "there"
    await at(stores[0], there).claim()
    await moved_to(stores[0], "other-host")
    with pytest.raises(WorkspaceElsewhere) as refused:
        await at(stores[1], here).claim()
    said = str(refused.value)
    assert f"{there} on other-host" in said and f"{Place.of(here)}" in said
    assert "volume that all worker hosts share" in said and said in caplog.text
    assert not (here / MARKER).exists()
    assert await at(stores[1], here).look() == (False, said)


async def test_of_two_that_begin_at_once_in_two_folders_one_works(
    stores: tuple[SqlStore, SqlStore], tmp_path: Path
) -> None:
    both = [at(store, tmp_path / name) for store, name in zip(stores, "ab", strict=True)]
    ends = await asyncio.gather(*(one.claim() for one in both), return_exceptions=True)
    assert sorted(type(end).__name__ for end in ends) == ["NoneType", "WorkspaceElsewhere"]


async def test_two_that_begin_at_once_in_one_folder_both_work(
    stores: tuple[SqlStore, SqlStore], tmp_path: Path
) -> None:
    await asyncio.gather(*(at(store, tmp_path).claim() for store in stores))
    assert {one.name for one in tmp_path.iterdir()} == {MARKER}


async def test_an_empty_folder_takes_the_place_of_one_where_no_worker_runs(
    stores: tuple[SqlStore, SqlStore], tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    old, new = tmp_path / "old", tmp_path / "new"
    await at(stores[0], old).claim()
    await moved_to(stores[0], "former-host")
    await ended(stores[0])
    await at(stores[1], new).claim()
    assert f"{old} on former-host" in caplog.text
    with pytest.raises(WorkspaceElsewhere):  # who comes back to the folder of before
        await at(stores[0], old).claim()
    await ended(stores[1])
    with pytest.raises(WorkspaceElsewhere):  # a name that is not the one on record
        await at(stores[0], old).claim()
    (old / MARKER).unlink()  # the way out that was named
    await at(stores[0], old).claim()


async def test_a_name_that_a_command_removed_or_forged_is_written_again(
    stores: tuple[SqlStore, SqlStore], tmp_path: Path
) -> None:
    first = at(stores[0], tmp_path)
    await first.claim()
    marker = tmp_path / MARKER
    name = marker.read_text()
    for forged in (None, "", "0" * 32, "x" * 1_000_000):
        marker.unlink()
        if forged is not None:
            marker.write_text(forged)
        await first.keep()
        assert (marker.read_text(), first.wrong) == (name, "")
        marker.write_text("0" * 32)
        await at(stores[1], tmp_path).claim()  # on the same host it is known by itself
        assert marker.read_text() == name
    marker.unlink()
    marker.symlink_to("/etc/passwd")
    await first.keep()
    assert (marker.read_text(), marker.is_symlink()) == (name, False)


async def test_a_folder_that_is_not_there_any_more_is_said(
    stores: tuple[SqlStore, SqlStore], tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    root = tmp_path / "mounted"
    worker = at(stores[0], root)
    await worker.claim()
    root.rename(tmp_path / "away")
    await worker.keep()
    assert worker.wrong and str(root) in caplog.text
    root.mkdir()
    await worker.keep()
    assert worker.wrong and not (root / MARKER).exists()
    root.rmdir()
    (tmp_path / "away").rename(root)
    await worker.keep()
    assert not worker.wrong


async def test_a_folder_that_cannot_be_written_is_named(
    stores: tuple[SqlStore, SqlStore], tmp_path: Path
) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(WorkspaceElsewhere, match=r"tools. workspace: .*file cannot be used"):
        await at(stores[0], tmp_path / "file").claim()


async def test_who_is_alone_or_has_no_tools_in_folders_needs_none(
    stores: tuple[SqlStore, SqlStore], sqlite: SqlStore, tmp_path: Path
) -> None:
    assert SharedWorkspace.of(config(tmp_path), sqlite) is None
    assert SharedWorkspace.of(config(tmp_path, toolsets=["web"]), stores[0]) is None


async def test_another_host_of_the_same_name_is_another_place(tmp_path: Path) -> None:
    here = Place.of(tmp_path)
    assert asdict(here) != asdict(replace(here, boot="another"))
