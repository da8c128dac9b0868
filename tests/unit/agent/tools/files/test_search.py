import asyncio
import os
from pathlib import Path

import psutil
import pytest

from agent.tools.base import Call
from agent.tools.files import search_process
from agent.tools.files.search import Hit, Query, Summary, fits, search
from agent.tools.files.tools import SEARCHES, SearchFiles
from agent.tools.files.workspace import Workspace, WorkspaceError

CATASTROPHE = r"(x+x+)+y"
"""Takes longer than anybody lives on a line of a hundred x."""


def query(root: Path, pattern: str, **more: object) -> Query:
    asked: dict[str, object] = {"path": ".", "glob": "*", "hits": 100, "cpu_seconds": 10.0}
    return Query(root=str(root), pattern=pattern, **(asked | more))  # type: ignore[arg-type]


def searching() -> list[psutil.Process]:
    return [
        process
        for process in psutil.Process().children()
        if "agent.tools.files.search" in process.cmdline()
    ]


async def test_a_search_whose_time_is_over_leaves_what_it_found_and_no_process(
    tmp_path: Path,
) -> None:
    (tmp_path / "a.txt").write_text("xxy\n" + "x" * 100)
    found = await search_process.search(query(tmp_path, CATASTROPHE), 4.0)
    assert found.hits == [Hit("a.txt", 1, "xxy")]
    assert found.summary is None
    assert searching() == []


async def test_a_cancelled_search_leaves_no_process(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("x" * 100)
    task = asyncio.create_task(search_process.search(query(tmp_path, CATASTROPHE), 30.0))
    while not searching():
        await asyncio.sleep(0.01)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert searching() == []


async def test_a_search_that_is_killed_from_outside_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("x" * 100)
    task = asyncio.create_task(search_process.search(query(tmp_path, CATASTROPHE), 30.0))
    while not (processes := searching()):
        await asyncio.sleep(0.01)
    processes[0].kill()
    with pytest.raises(WorkspaceError, match=r"the search broke off \(exit status -9\)"):
        await task


async def test_a_search_that_nobody_ends_ends_itself(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("x" * 100)
    endless = query(tmp_path, CATASTROPHE, cpu_seconds=1.0)
    with pytest.raises(WorkspaceError, match=r"the search broke off \(exit status -"):
        await search_process.search(endless, 60.0)


def test_a_long_line_is_given_back_around_its_match(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("a" * 500 + "X" + "b" * 500 + "\n" + "X" + "c" * 500)
    first, second, summary = search(query(tmp_path, "X"))
    assert isinstance(first, Hit) and isinstance(second, Hit)
    assert first.text == "…" + "a" * 100 + "X" + "b" * 199 + "…"
    assert second.text == "X" + "c" * 299 + "…"
    assert summary == Summary(files=1)


def test_a_search_follows_no_link_and_opens_no_pipe(tmp_path: Path) -> None:
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside/a.txt").write_text("secret")
    root = tmp_path / "root"
    root.mkdir()
    (root / "folder").symlink_to("../outside")
    (root / "file").symlink_to("../outside/a.txt")
    os.mkfifo(root / "pipe")
    assert list(search(query(root, "secret"))) == [Summary()]
    for path in ("folder/a.txt", "../outside", "/"):
        with pytest.raises(WorkspaceError):
            list(search(query(root, "secret", path=path)))


@pytest.mark.parametrize(
    ("glob", "path", "expected"),
    [
        ("*", "a/b.py", True),
        ("*.py", "a/b/c.py", True),
        ("*.py", "a.pyc", False),
        ("[ab].py", "x/b.py", True),
        ("**/*.py", "c.py", True),
        ("**/*.py", "a/b/c.py", True),
        ("src/**/*.py", "src/c.py", True),
        ("src/**/*.py", "src/a/b/c.py", True),
        ("src/**/*.py", "a/src/c.py", False),
        ("src/*.py", "src/a/c.py", False),
        ("src/**", "src/a/c.py", True),
        ("./src/*", "src/c.py", True),
        ("**/a/**/b", "x/a/y/z/b", True),
        ("**/a/**/b", "x/y/z/b", False),
        ("../*", "a.py", False),
        ("**/" * 200 + "z", "a/" * 60 + "b", False),
    ],
)
def test_a_glob_fits_names_or_with_a_slash_paths(glob: str, path: str, expected: bool) -> None:
    assert fits(glob, path.split("/")) is expected


async def test_searches_that_come_to_no_end_keep_only_their_own_conversation_waiting(
    tmp_path: Path,
) -> None:
    (tmp_path / "a.txt").write_text("x" * 100)

    def searched(pattern: str, address: str) -> asyncio.Task[object]:
        # Each turn has a tool of its own.
        tool = SearchFiles(lambda _: Workspace(tmp_path), 600.0)
        return asyncio.ensure_future(
            tool.run(Call("c", {"pattern": pattern}, 1, 1, address, "terminal:local"))
        )

    hostile = [searched(CATASTROPHE, "terminal:hostile") for _ in range(6)]
    while len(searching()) < SEARCHES.most // 2:
        await asyncio.sleep(0.01)
    await searched("^x", "terminal:other")
    assert not any(task.done() for task in hostile)
    assert SEARCHES.held("terminal:hostile") == SEARCHES.most // 2
    for task in hostile:
        task.cancel()
    await asyncio.gather(*hostile, return_exceptions=True)
    assert SEARCHES.free == SEARCHES.most
