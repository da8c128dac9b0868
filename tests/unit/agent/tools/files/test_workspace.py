import os
import shutil
import stat
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from agent.settings import resolve_template
from agent.tools.files.workspace import (
    DEPTH_LIMIT,
    READ_LIMIT,
    FileType,
    Missing,
    Workspace,
    WorkspaceError,
    file_path,
    shown,
)

NOBODY = 65534


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path / "root"


@pytest.fixture
def workspace(root: Path) -> Workspace:
    return Workspace(root)


@pytest.fixture
def unprivileged_root() -> Iterator[Path]:
    """A folder for tests of permissions, which do not hold for root."""
    made = Path(tempfile.mkdtemp())
    if os.geteuid() == 0:
        os.chown(made, NOBODY, NOBODY)
        os.seteuid(NOBODY)
    try:
        yield made
    finally:
        if os.getuid() == 0:
            os.seteuid(0)
        made.chmod(0o700)
        shutil.rmtree(made)


def names_in(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def paths(workspace: Workspace, path: str = ".", depth: int = DEPTH_LIMIT) -> list[str]:
    return [item.path for item in workspace.walk(path, depth)]


# Reading and writing


def test_what_was_written_is_read_back_with_its_state(workspace: Workspace, root: Path) -> None:
    workspace.write("a/b/c.txt", b"one\ntwo\n")
    content = workspace.read("a/b/c.txt")
    found = (root / "a/b/c.txt").stat()
    assert content.data == b"one\ntwo\n"
    assert (content.state.size, content.state.mtime_ns) == (8, found.st_mtime_ns)
    assert workspace.stat("a/b/c.txt").state == content.state


def test_a_replaced_file_has_another_state(workspace: Workspace) -> None:
    workspace.write("a.txt", b"one")
    before = workspace.stat("a.txt").state
    workspace.write("a.txt", b"two")
    assert workspace.stat("a.txt").state != before


def test_the_folder_is_made_private_by_the_first_write(workspace: Workspace, root: Path) -> None:
    assert paths(workspace) == []
    with pytest.raises(Missing):
        workspace.read("a.txt")
    assert not root.exists()
    workspace.write("b/a.txt", b"")
    assert stat.S_IMODE(root.stat().st_mode) == 0o700
    assert stat.S_IMODE((root / "b").stat().st_mode) == 0o700
    assert workspace.read("b/a.txt").data == b""


def test_a_replaced_file_keeps_its_permission_bits(workspace: Workspace, root: Path) -> None:
    workspace.write("run.sh", b"one")
    (root / "run.sh").chmod(0o750)
    workspace.write("run.sh", b"two")
    assert stat.S_IMODE((root / "run.sh").stat().st_mode) == 0o750


def test_ten_megabytes_go_in_and_come_out_the_same(workspace: Workspace) -> None:
    data = os.urandom(1_000) * 10_000
    workspace.write("big", data)
    assert workspace.read("big").data == data


def test_a_file_that_is_too_large_to_be_read_is_refused_with_its_size(
    workspace: Workspace, root: Path
) -> None:
    workspace.write("big", b"")
    os.truncate(root / "big", READ_LIMIT + 1)
    with pytest.raises(WorkspaceError, match=r"has 20,000,001 bytes; at most 20,000,000"):
        workspace.read("big")


@pytest.mark.parametrize(
    "name", ["grüße 🌳.txt", "نص", "e\u0301", "a\u202eb", " ", "~", "-rf", "$(x)"]
)
def test_names_of_every_kind_are_just_names(workspace: Workspace, root: Path, name: str) -> None:
    workspace.write(f"d/{name}", b"text")
    assert workspace.read(f"./d//{name}").data == b"text"
    assert names_in(root / "d") == [name]


def test_concurrent_writes_leave_one_of_the_contents_whole(
    workspace: Workspace, root: Path
) -> None:
    contents = [bytes([65 + n]) * 100_000 for n in range(4)]
    seen: set[bytes] = set()

    def write(content: bytes) -> None:
        for _ in range(10):
            workspace.write("d/a.txt", content)
            seen.add(workspace.read("d/a.txt").data)

    threads = [threading.Thread(target=write, args=[content]) for content in contents]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert seen <= set(contents)
    assert len(seen) > 0
    assert names_in(root / "d") == ["a.txt"]


def test_a_write_that_fails_leaves_the_old_content_and_no_rest(
    workspace: Workspace, root: Path
) -> None:
    workspace.write("d/a.txt", b"old")
    (root / "d/f").mkdir()
    for path in ("d/f", "d/a.txt/b", f"d/{'n' * 256}"):
        with pytest.raises(WorkspaceError):
            workspace.write(path, b"new")
    assert workspace.read("d/a.txt").data == b"old"
    assert names_in(root / "d") == ["a.txt", "f"]


# Permissions


def test_what_may_not_be_read_is_refused(unprivileged_root: Path) -> None:
    workspace = Workspace(unprivileged_root)
    workspace.write("d/a.txt", b"inside")
    (unprivileged_root / "d/a.txt").chmod(0)
    with pytest.raises(WorkspaceError, match="permission denied"):
        workspace.read("d/a.txt")
    (unprivileged_root / "d").chmod(0)
    with pytest.raises(WorkspaceError, match="permission denied"):
        workspace.read("d/a.txt")


def test_what_may_not_be_written_is_left_as_it_is(unprivileged_root: Path) -> None:
    workspace = Workspace(unprivileged_root)
    workspace.write("a.txt", b"old")
    (unprivileged_root / "a.txt").chmod(0o400)
    with pytest.raises(WorkspaceError, match="permission denied"):
        workspace.write("a.txt", b"new")
    unprivileged_root.chmod(0o500)
    for path in ("b.txt", "d/b.txt"):
        with pytest.raises(WorkspaceError, match="permission denied"):
            workspace.write(path, b"new")
    assert names_in(unprivileged_root) == ["a.txt"]
    assert workspace.read("a.txt").data == b"old"


def test_a_folder_that_cannot_be_opened_is_listed_as_closed(unprivileged_root: Path) -> None:
    workspace = Workspace(unprivileged_root)
    workspace.write("c/a.txt", b"inside")
    workspace.write("d/a.txt", b"inside")
    (unprivileged_root / "c").chmod(0)
    found = [(item.path, item.type) for item in workspace.walk()]
    assert found == [
        ("c", FileType.FOLDER),
        ("d", FileType.FOLDER),
        ("c", FileType.CLOSED),
        ("d/a.txt", FileType.FILE),
    ]
    with pytest.raises(WorkspaceError, match="permission denied"):
        paths(workspace, "c")


# Listing


def test_a_walk_goes_level_by_level_in_order_and_no_deeper_than_asked(workspace: Workspace) -> None:
    for path in ("b.txt", "a/z.txt", "a/b/c.txt", "c/a.txt"):
        workspace.write(path, b"x")
    assert paths(workspace) == ["a", "b.txt", "c", "a/b", "a/z.txt", "c/a.txt", "a/b/c.txt"]
    assert paths(workspace, "./", 1) == ["a", "b.txt", "c"]
    assert paths(workspace, "a/", 1) == ["a/b", "a/z.txt"]
    with pytest.raises(Missing):
        paths(workspace, "nothing")


def test_of_a_crowded_folder_only_what_is_asked_for_is_looked_at(
    workspace: Workspace, root: Path
) -> None:
    for name in "abc":
        workspace.write(name, b"")
    walk = workspace.walk()
    assert next(walk).path == "a"
    (root / "b").unlink()
    assert [item.path for item in walk] == ["c"]


def test_a_walk_ends_where_the_folders_do_not(workspace: Workspace, root: Path) -> None:
    workspace.write("/".join("d" * DEPTH_LIMIT), b"deepest")
    before = Path.cwd()
    os.chdir(root / "/".join("d" * (DEPTH_LIMIT - 1)))
    try:
        Path("e/f/g").mkdir(parents=True)
    finally:
        os.chdir(before)
    assert max(len(path.split("/")) for path in paths(workspace)) == DEPTH_LIMIT
    assert max(len(path.split("/")) for path in paths(workspace, "d")) == DEPTH_LIMIT + 1


def test_a_name_that_is_not_utf8_is_listed_readable_and_can_be_read(
    workspace: Workspace, root: Path
) -> None:
    root.mkdir()
    Path(os.fsdecode(os.fsencode(root) + b"/caf\xe9\n.txt")).write_bytes(b"inside")
    (path,) = paths(workspace)
    assert shown(path) == "caf\\udce9\\n.txt"
    assert workspace.read(path).data == b"inside"


def test_the_normal_form_of_a_path_is_one() -> None:
    assert file_path("./a//b/./c.txt") == "a/b/c.txt"


# The folder of a session


def test_a_template_gives_each_session_its_folder() -> None:
    assert resolve_template("workspaces/{session}", 12) == Path("workspaces/12")
    assert resolve_template("/srv/shared", 12) == Path("/srv/shared")


@pytest.mark.parametrize(
    "template", ["", " ", "a/{chat}", "{session!r}", "{session", "}", "{{session}}", "{}", "a\0"]
)
def test_a_template_with_anything_else_in_it_is_refused(template: str) -> None:
    with pytest.raises(ValueError, match=r"must name a folder|the only field is \{session\}"):
        resolve_template(template, 12)
