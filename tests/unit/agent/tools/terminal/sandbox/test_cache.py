"""The cache beside a workspace: kept, bounded, gone with it, and no way out of it."""

import os
import tempfile
from pathlib import Path

import pytest

from agent.tools.terminal.sandbox import cache
from agent.tools.terminal.sandbox.cache import cache_of, kept, remove_orphans, too_large

USER, GROUP = os.geteuid(), os.getegid()


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    folder = tmp_path / "workspaces" / "7"
    folder.mkdir(parents=True)
    return folder


def made(workspace: Path, most: int = 1 << 20) -> Path:
    folder = kept(workspace, USER, GROUP, most)
    assert folder is not None
    return folder


def test_it_stays_from_command_to_command_and_is_nobody_elses(workspace: Path) -> None:
    folder = made(workspace)
    assert folder.parent == workspace.parent and folder.stat().st_mode & 0o777 == 0o700
    (folder / "wheel").write_text("kept")
    assert (made(workspace) / "wheel").read_text() == "kept"


def test_what_has_grown_too_large_is_emptied(workspace: Path) -> None:
    (made(workspace) / "wheel").write_bytes(b"x" * 100_000)
    assert list(made(workspace, 10_000).iterdir()) == []


def test_many_files_are_too_much_as_well(workspace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cache, "MOST_FILES", 2)
    folder = made(workspace)
    for name in "abc":
        (folder / name).touch()
    assert too_large(folder, 1 << 30)
    assert list(made(workspace).iterdir()) == []


def test_what_is_too_deep_to_be_counted_is_emptied(workspace: Path) -> None:
    folder, here = made(workspace), Path.cwd()
    os.chdir(folder)
    for _ in range(60):
        Path("d" * 100).mkdir()
        os.chdir("d" * 100)
    Path("hidden").write_bytes(b"x" * 100_000)
    os.chdir(here)
    assert too_large(folder, 1 << 30)
    assert list(made(workspace).iterdir()) == []


def test_what_a_command_closed_is_counted_all_the_same_or_emptied() -> None:
    if os.geteuid() != 0:
        pytest.skip("only root can become somebody who may do less")
    with tempfile.TemporaryDirectory() as name:
        workspace = Path(name) / "w"
        os.chown(name, 4_321, 4_321)
        folder = cache_of(workspace)
        (folder / "closed" / "below").mkdir(parents=True)
        for each in (folder, folder / "closed", folder / "closed" / "below"):
            os.chown(each, 4_321, 4_321)
        (folder / "closed").chmod(0)
        if (child := os.fork()) == 0:
            os.setresgid(4_321, 4_321, 4_321)
            os.setresuid(4_321, 4_321, 4_321)
            left = kept(workspace, 4_321, 4_321, 1 << 30)
            os._exit(0 if left is not None and not any(left.iterdir()) else 1)
        assert os.waitpid(child, 0)[1] == 0


def test_a_link_in_its_place_is_not_used_and_where_it_leads_stays(
    tmp_path: Path, workspace: Path
) -> None:
    outside = tmp_path / "outside"
    outside.mkdir(mode=0o755)
    (outside / "data").write_bytes(b"x" * 100_000)
    cache_of(workspace).symlink_to(outside)
    assert kept(workspace, USER, GROUP, 10_000) is None
    assert (outside / "data").exists() and outside.stat().st_mode & 0o777 == 0o755


def test_links_in_it_are_neither_counted_nor_followed(tmp_path: Path, workspace: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "data").write_bytes(b"x" * 1_000_000)
    folder = made(workspace)
    (folder / "out").symlink_to(outside)
    assert not too_large(folder, 500_000)
    (folder / "large").write_bytes(b"x" * 1_000_000)
    assert list(made(workspace, 500_000).iterdir()) == []
    assert (outside / "data").stat().st_size == 1_000_000


def test_somebody_elses_folder_in_its_place_is_not_used(workspace: Path) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root can give a folder away")
    cache_of(workspace).mkdir()
    os.chown(cache_of(workspace), 4_321, 4_321)
    assert kept(workspace, 65_525, 65_525, 1 << 20) is None


def test_a_file_in_its_place_means_that_there_is_none(workspace: Path) -> None:
    cache_of(workspace).write_text("x")
    assert kept(workspace, USER, GROUP, 1 << 20) is None


@pytest.mark.parametrize("template", ["workspaces/{session}", "{session}/files", "project"])
def test_it_goes_with_its_workspace(tmp_path: Path, template: str) -> None:
    here, gone = (tmp_path / template.replace("{session}", each) for each in ("7", "8"))
    for workspace in {here, gone}:
        workspace.mkdir(parents=True)
        made(workspace)
    assert remove_orphans(f"{tmp_path}/{template}") == 0
    gone.rmdir()
    assert remove_orphans(f"{tmp_path}/{template}") == 1
    assert not cache_of(gone).exists()
    assert cache_of(here).exists() is (here != gone)


def test_a_workspace_at_the_top_is_looked_for_as_well() -> None:
    assert remove_orphans("/a-project-that-is-nowhere") == 0


def test_no_folder_goes_that_is_no_workspaces_cache(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "data").touch()
    (tmp_path / ".notes.bough-cache").mkdir()
    (tmp_path / ".9.cache").mkdir()
    (tmp_path / ".8.bough-cache").symlink_to(outside)
    remove_orphans(f"{tmp_path}/{{session}}")
    assert (tmp_path / ".notes.bough-cache").exists() and (tmp_path / ".9.cache").exists()
    assert (outside / "data").exists()
