"""What a workspace takes, and the end of commands that make it too large."""

import asyncio
import os
import time
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from agent.settings import ToolsConfig
from agent.tools.terminal.sandbox.quota import DEEPEST, Quotas, Stored, changed_since, measured
from storage.sql.store import SqlStore
from tests.support.sandboxes import need_bubblewrap
from tests.support.stores import fresh_store
from tests.unit.agent.tools.terminal.test_tools import Bench, bench

QUOTA = 6 << 20


def written(file: Path, size: int) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    with file.open("wb") as made:
        made.write(b"x" * size)
        os.fsync(made.fileno())


def test_what_a_folder_takes_is_what_its_disk_gives_for_it(tmp_path: Path) -> None:
    written(tmp_path / "w" / "a" / "big", 1 << 20)
    os.link(tmp_path / "w" / "a" / "big", tmp_path / "w" / "same")
    os.truncate(tmp_path / "w" / "a" / "big", (1 << 20) + (1 << 30))
    written(tmp_path / "elsewhere", 8 << 20)
    (tmp_path / "w" / "link").symlink_to(tmp_path)
    (tmp_path / "w" / "link2").symlink_to(tmp_path / "elsewhere")
    found = measured(tmp_path / "w")
    assert 1 << 20 <= found.size < 2 << 20
    assert (found.files, found.unseen) == (5, "")
    assert measured(tmp_path / "nowhere") == Stored()


def test_what_cannot_be_looked_into_is_not_taken_for_empty(tmp_path: Path) -> None:
    folder = os.open(tmp_path, os.O_RDONLY)
    for _ in range(DEEPEST + 2):
        os.mkdir("d", dir_fd=folder)
        inner = os.open("d", os.O_RDONLY, dir_fd=folder)
        os.close(folder)
        folder = inner
    os.close(folder)
    found = measured(tmp_path)
    assert found.unseen.startswith("d/d/d/")
    assert "not known" in Quotas(1 << 60).why_over(found)
    for number in range(200):
        written(tmp_path / "many" / str(number), 1)
    assert measured(tmp_path / "many", seconds=0).unseen


async def test_a_workspace_that_cannot_be_over_is_not_walked_through_again(tmp_path: Path) -> None:
    written(tmp_path / "w" / "one", 1 << 20)
    quotas = Quotas(1 << 60)
    before = await quotas.stored(tmp_path / "w")
    written(tmp_path / "w" / "two", 1 << 20)
    assert await quotas.stored(tmp_path / "w") is before
    small = Quotas(1 << 10)
    assert small.why_over(await small.stored(tmp_path / "w"))
    written(tmp_path / "w" / "three", 1 << 20)
    async with asyncio.timeout(30):
        while (await small.stored(tmp_path / "w")).size < 3 << 20:
            await asyncio.sleep(0.01)


async def test_without_a_quota_nothing_is_looked_at(tmp_path: Path) -> None:
    assert await Quotas(None).stored(tmp_path / "nowhere") == Stored()
    assert Quotas(None).why_over(Stored(1 << 60, 1 << 60, "all")) == ""


def test_the_largest_files_are_named_of_those_that_were_written(tmp_path: Path) -> None:
    for number in range(8):
        written(tmp_path / "d" / f"file{number}\n", (number + 1) << 16)
    told = changed_since(tmp_path, time.time() - 60)
    assert told.startswith("it left d/file7\\n (512.0 KB), d/file6\\n (448.0 KB), ")
    assert ", and 3 more files: nothing was removed" in told
    assert changed_since(tmp_path, time.time() + 60) == ""


@pytest.fixture
async def store() -> AsyncIterator[SqlStore]:
    async with fresh_store() as made:
        yield made


@pytest.fixture
async def agent(store: SqlStore, tmp_path: Path) -> AsyncIterator[Bench]:
    need_bubblewrap()
    made = await bench(store, tmp_path, workspace_quota=QUOTA)
    yield made
    await made.terminal.close()


async def test_a_command_that_stores_too_much_is_ended_and_told(
    agent: Bench, tmp_path: Path
) -> None:
    line = "trap '' TERM; for i in 1 2 3 4; do head -c 2M /dev/zero >d$i; sync d$i; done; sleep 60"
    told = await agent.run(line)
    assert "ended because the workspace takes " in told and "may take 6.0 MB" in told
    assert "it left d" in told and "(2.0 MB)" in told
    (row,) = await agent.rows()
    assert row.ended is not None and row.ended - row.started < 30


async def test_one_that_was_over_before_it_was_seen_is_told(agent: Bench) -> None:
    told = await agent.run("head -c 7M /dev/zero >big; sync big")
    assert "the workspace takes 7.0 MB" in told and "it left big (7.0 MB)" in told


async def test_over_its_quota_a_workspace_can_be_made_smaller_and_not_larger(
    agent: Bench, tmp_path: Path
) -> None:
    written(tmp_path / "w" / str(agent.session) / "big", QUOTA + (1 << 20))
    (tmp_path / "w" / str(agent.session)).chmod(0o777)
    told = await agent.run("head -c 1M /dev/zero >more; wc -c <more")
    assert "write none" in told and told.endswith("\n0")
    assert "write none" in await agent.run("rm -f big more; ls")
    assert (await agent.run("echo again >new; cat new")).endswith("\nagain")


async def test_a_folder_that_is_closed_hides_nothing(agent: Bench, tmp_path: Path) -> None:
    await agent.run("mkdir d; head -c 7M /dev/zero >d/big; sync d/big; chmod 0 d")
    assert "write none" in await agent.run("chmod 700 d")
    assert "may take" in await agent.run("true")


@pytest.mark.parametrize(
    ("given", "bytes_"), [("2GB", 2 << 30), ("500 MB", 500 << 20), ("0.5TB", 1 << 39), (7, 7)]
)
def test_sizes_are_read(given: object, bytes_: int) -> None:
    assert ToolsConfig.model_validate({"workspace_quota": given}).workspace_quota == bytes_


@pytest.mark.parametrize("given", ["2", "2gb", "0MB", "GB", -1, 0, True, "1e9MB", ""])
def test_other_sizes_are_refused(given: object) -> None:
    with pytest.raises(ValueError, match='is not a size like "500MB"'):
        ToolsConfig.model_validate({"workspace_quota": given})


def test_none_is_no_quota() -> None:
    assert ToolsConfig.model_validate({"workspace_quota": "none"}).workspace_quota is None
    assert ToolsConfig().workspace_quota == 10 << 30
