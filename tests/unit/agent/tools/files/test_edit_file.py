import asyncio
import fcntl
import json
import os
import stat
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from agent.models.base import ToolCall
from agent.tools.base import Call, Done, run_call, toolbox
from agent.tools.files import writing
from agent.tools.files.tools import file_tools
from agent.tools.files.workspace import Workspace, WorkspaceError
from agent.tools.files.writing import EDIT_LIMIT, WROTE


class Bench:
    def __init__(self, root: Path) -> None:
        self.root = root
        self.seen: list[tuple[str, str]] = []

        def seen(_: Call, what: str, path: str) -> None:
            self.seen.append((what, path))

        self.tools = toolbox(*file_tools(lambda _: Workspace(root), seen=seen))

    async def edit(
        self, path: str, old: str, new: str, *, address: str = "terminal:1", **more: object
    ) -> str:
        arguments = json.dumps({"path": path, "old": old, "new": new, **more})
        outcome = await run_call(
            self.tools,
            ToolCall("c1", "edit_file", arguments),
            session=1,
            entry=7,
            address=address,
            person="",
        )
        assert isinstance(outcome, Done)
        return outcome.text


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path)


async def test_an_edit_keeps_the_mode_and_is_told(bench: Bench) -> None:
    file = bench.root / "run.sh"
    file.write_bytes(b"#!/bin/sh\r\necho one\r\n")
    file.chmod(0o754)
    told = await bench.edit("./run.sh", "one\n", "two\nthree\n")
    assert told == ("Edited run.sh: 28 bytes, 3 lines.\nReplaced once, at line 2 of what it was.")
    assert file.read_bytes() == b"#!/bin/sh\r\necho two\r\nthree\r\n"
    assert stat.S_IMODE(file.stat().st_mode) == 0o754
    assert bench.seen == [("wrote", "run.sh")]
    match = WROTE.match(told)
    assert match is not None and match["path"] == "run.sh"
    assert [path.name for path in bench.root.iterdir()] == ["run.sh"]


async def test_all_places_are_replaced_where_that_is_asked_for(bench: Bench) -> None:
    (bench.root / "a").write_text("x x\nx\n")
    assert "3 times" in await bench.edit("a", "x", "y")
    assert "Replaced 3 times" in await bench.edit("a", "x", "y", all=True)
    assert (bench.root / "a").read_text() == "y y\ny\n"


async def test_what_cannot_be_edited_is_told_and_stays(bench: Bench, tmp_path: Path) -> None:
    (bench.root / "binary").write_bytes(b"a\0b")
    (bench.root / "big").write_bytes(b"x" * (EDIT_LIMIT + 1))
    (bench.root / "many").write_bytes(b"x" * 1_000)
    (bench.root / "link").symlink_to(bench.root / "many")
    (bench.root / "folder").mkdir()
    assert "there is no such file" in await bench.edit("gone", "a", "b")
    assert "a binary file" in await bench.edit("binary", "a", "b")
    assert "at most 5,000,000" in await bench.edit("big", "x", "y")
    assert "would have" in await bench.edit("many", "x", "y" * 6_000, all=True)
    assert "links are not followed" in await bench.edit("link", "x", "y", all=True)
    assert "Error: " in await bench.edit("../up", "x", "y")
    assert "Error: " in await bench.edit("folder", "x", "y")
    assert (bench.root / "many").read_bytes() == b"x" * 1_000
    assert bench.seen == []
    assert not (bench.root / "gone").exists()


async def test_edits_of_one_file_side_by_side_are_all_done(bench: Bench) -> None:
    names = [f"<{number}>" for number in range(30)]
    (bench.root / "a").write_text(" ".join(names))
    told = await asyncio.gather(*(bench.edit("a", name, name[1:-1]) for name in names))
    assert all(text.startswith("Edited a: ") for text in told)
    assert (bench.root / "a").read_text() == " ".join(name[1:-1] for name in names)


def test_a_file_that_somebody_else_changes_meanwhile_is_left_to_them(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("mine")

    def changed(data: bytes) -> bytes:
        (tmp_path / "a").write_text("theirs now")
        return b"mine, changed"

    with pytest.raises(WorkspaceError, match="changed meanwhile"):
        Workspace(tmp_path).change("a", changed, 1_000)
    assert (tmp_path / "a").read_text() == "theirs now"


async def test_a_lock_that_is_never_let_go_ends_in_an_error(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(writing, "PATIENCE", 0.05)
    (bench.root / "a").write_text("x")
    held = os.open(bench.root, os.O_RDONLY)
    try:
        fcntl.flock(held, fcntl.LOCK_EX)
        assert (await bench.edit("a", "x", "y")).startswith("Error: a: ")
    finally:
        os.close(held)
    assert (await bench.edit("a", "x", "y")).startswith("Edited a: ")


HOLDER = """
import fcntl, os, sys
held = os.open(sys.argv[1], os.O_RDONLY)
fcntl.flock(held, fcntl.LOCK_EX)
print("held", flush=True)
sys.stdin.read()
"""


async def test_a_lock_that_another_program_holds_keeps_no_thread_from_other_chats(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(writing, "PATIENCE", 600.0)
    asyncio.get_running_loop().set_default_executor(ThreadPoolExecutor(2))
    held, other = Bench(tmp_path / "held"), Bench(tmp_path / "other")
    for bench in (held, other):
        bench.root.mkdir()
        (bench.root / "a").write_text("x")
    holder = await asyncio.create_subprocess_exec(
        *(sys.executable, "-c", HOLDER, str(held.root)),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
    )
    assert holder.stdin is not None
    assert holder.stdout is not None
    assert await holder.stdout.readline() == b"held\n"
    waiting = [asyncio.create_task(held.edit("a", "x", f"y{n}")) for n in range(40)]
    # More of them than there are threads of any kind.
    await asyncio.sleep(0.1)
    told = await other.edit("a", "x", "z", address="terminal:2")
    assert told.startswith("Edited a: ")
    assert not any(task.done() for task in waiting)
    holder.stdin.close()
    await holder.wait()
    told_waiting = await asyncio.gather(*waiting)
    assert sum(text.startswith("Edited a: ") for text in told_waiting) == 1
