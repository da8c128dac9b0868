"""What doctor says of workspaces: the largest first, what is too large, and in bounded time."""

from pathlib import Path
from typing import Any

from agent.settings import ToolsConfig
from gateway.cli.workspaces import look_at_workspaces
from tests.support.small_disks import fill, small_disk
from tests.unit.gateway.cli.test_doctor import found


def put(file: Path, size: int) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(b"x" * size)


def tools(folder: Path, **more: Any) -> ToolsConfig:
    return ToolsConfig.model_validate({"workspace": f"{folder}/chat-{{session}}/w"} | more)


async def test_the_largest_workspaces_are_said_first(tmp_path: Path) -> None:
    put(tmp_path / "chat-1" / "w" / "small", 10)
    put(tmp_path / "chat-12" / "w" / "big", 3 << 20)
    put(tmp_path / "chat-7x" / "w" / "no session's", 9 << 20)
    put(tmp_path / "other" / "big", 9 << 20)
    section = {"workspace": f"{tmp_path}/chat-{{session}}/w"}
    (finding,) = await found(tmp_path, "workspaces", tools=section)
    assert finding.ok
    assert finding.text.startswith(
        "2 take 3.0 MB on the disk (10.0 GB each at most); the largest: "
    )
    assert finding.text.endswith(f"{tmp_path}/chat-12/w 3.0 MB, {tmp_path}/chat-1/w 4.0 KB")
    assert await found(tmp_path, "workspaces", tools={"workspace": str(tmp_path / "none")}) == []


def test_one_that_takes_too_much_is_a_fault(tmp_path: Path) -> None:
    put(tmp_path / "chat-3" / "w" / "big", 3 << 20)
    ok, text = look_at_workspaces(tools(tmp_path, workspace_quota="2MB"))
    assert not ok
    assert (
        f"{tmp_path}/chat-3/w: the workspace takes 3.0 MB on the disk, and may take 2.0 MB" in text
    )
    assert look_at_workspaces(tools(tmp_path, workspace_quota="none"))[0]


def test_when_the_time_is_over_it_says_so(tmp_path: Path) -> None:
    for number in range(3):
        put(tmp_path / f"chat-{number}" / "w" / "big", 1 << 20)
        for file in range(250):
            put(tmp_path / f"chat-{number}" / "w" / str(file), 1)
    ok, text = look_at_workspaces(tools(tmp_path, workspace_quota="1KB"), seconds=1e-3)
    assert "sizes are at least these: the time of 0.001 s was over" in text
    assert "2 more were not looked at" in text and ok


def test_a_full_disk_is_a_fault() -> None:
    with small_disk("8m") as disk:
        put(disk / "chat-1" / "w" / "a", 10)
        fill(disk)
        ok, text = look_at_workspaces(tools(disk))
        assert not ok and "their disk is almost full" in text
