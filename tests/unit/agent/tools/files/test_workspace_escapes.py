import os
import shutil
import socket
import stat
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TypeVar

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.tools.files.workspace import (
    DEPTH_LIMIT,
    FileType,
    Workspace,
    WorkspaceError,
)
from tests.support.examples import examples

T = TypeVar("T")

SECRET = b"secret"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path / "root"


@pytest.fixture
def workspace(root: Path) -> Workspace:
    return Workspace(root)


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    folder = tmp_path / "outside"
    folder.mkdir()
    (folder / "a.txt").write_bytes(SECRET)
    return folder


def names_in(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def paths(workspace: Workspace, path: str = ".", depth: int = DEPTH_LIMIT) -> list[str]:
    return [item.path for item in workspace.walk(path, depth)]


@pytest.mark.parametrize(
    "path",
    [
        "..",
        "../outside/a.txt",
        "d/../../outside/a.txt",
        "d/..",
        "./../outside/a.txt",
        "/etc/passwd",
        "//etc/passwd",
        "/proc/self/root/etc/passwd",
        "a\0b",
        "a\0/../../outside/a.txt",
        "\ud800",
        "",
        ".",
        "d/",
        "d/.",
        "a.txt/",
        "a.txt/.",
        "n" * 256,
        "n/" * DEPTH_LIMIT + "a",
        "n" * 100_000,
        "\n" * 1_000,
    ],
)
def test_a_path_that_is_no_file_of_the_workspace_is_refused_in_one_short_line(
    workspace: Workspace, root: Path, outside: Path, path: str
) -> None:
    workspace.write("a.txt", b"inside")
    workspace.write("d/a.txt", b"inside")
    for attempt in (lambda: workspace.read(path), lambda: workspace.write(path, b"new")):
        with pytest.raises(WorkspaceError) as refused:
            attempt()
        message = str(refused.value)
        assert "\n" not in message and len(message) < 500
        assert message.encode()
    assert names_in(root) == ["a.txt", "d"]
    assert names_in(outside) == ["a.txt"]
    assert (outside / "a.txt").read_bytes() == SECRET


@pytest.mark.parametrize("path", ["..", "/", "d/../..", "\0", "\ud800"])
def test_nothing_above_is_listed_or_looked_at(workspace: Workspace, path: str) -> None:
    workspace.write("d/a.txt", b"inside")
    with pytest.raises(WorkspaceError):
        paths(workspace, path)
    with pytest.raises(WorkspaceError):
        workspace.stat(path)


def test_an_absolute_path_that_leads_into_the_workspace_is_taken(
    workspace: Workspace, root: Path, tmp_path: Path
) -> None:
    """As the folder is named, or with its own links followed; never by a link below it."""
    link = tmp_path / "link"
    link.symlink_to(root)
    workspace.write(f"{root}//d/./a.txt", b"inside")
    named = Workspace(link)
    for path in (f"{root}/d/a.txt", f"{link}/d/a.txt", f"{link}//d//a.txt"):
        assert named.read(path).data == b"inside"
        assert named.file_path(path) == "d/a.txt"
    assert paths(named, f"{link}/d") == paths(workspace, str(root / "d")) == ["d/a.txt"]
    assert paths(workspace, str(root)) == ["d", "d/a.txt"]
    assert workspace.stat(f"{root}/d/").type is FileType.FOLDER


def test_an_absolute_path_with_the_workspace_in_it_leads_nowhere_else(
    workspace: Workspace, root: Path, outside: Path
) -> None:
    workspace.write("a.txt", b"inside")
    (root / "link").symlink_to(outside)
    (root / "back").symlink_to(root)
    beside = root.with_name(f"{root.name}2")
    beside.mkdir()
    (beside / "a.txt").write_bytes(SECRET)
    for path in (
        f"{root}/../outside/a.txt",
        f"{root}/link/a.txt",
        f"{root}/back/a.txt",
        f"{beside}/a.txt",
        f"{outside}/../root/a.txt",
        f"/proc/self/root{root}/a.txt",
        f"{root}/a.txt/",
        f"{root}",
        f"{root}/",
    ):
        with pytest.raises(WorkspaceError):
            workspace.read(path)
        with pytest.raises(WorkspaceError):
            workspace.write(path, b"new")
    assert names_in(outside) == ["a.txt"]
    assert (beside / "a.txt").read_bytes() == SECRET


def test_a_backslash_leads_nowhere_else(workspace: Workspace, root: Path) -> None:
    workspace.write("..\\a.txt", b"inside")
    assert names_in(root) == ["..\\a.txt"]


def test_links_are_not_followed_wherever_in_the_path_they_are(
    workspace: Workspace, root: Path, outside: Path
) -> None:
    workspace.write("d/a.txt", b"inside")
    (root / "file").symlink_to(outside / "a.txt")
    (root / "folder").symlink_to(outside)
    (root / "d/up").symlink_to("../..")
    (root / "d/proc").symlink_to("/proc/self/root")
    (root / "d/cwd").symlink_to("/proc/self/cwd")
    (root / "loop").symlink_to("loop")
    (root / "dangling").symlink_to(outside / "new.txt")
    (root / "inner").symlink_to("d")
    for path in (
        "file",
        "folder/a.txt",
        "d/up/outside/a.txt",
        f"d/proc{outside}/a.txt",
        "d/cwd/pyproject.toml",
        "loop",
        "loop/a.txt",
        "dangling",
        "inner/a.txt",
    ):
        with pytest.raises(WorkspaceError, match="links are not followed"):
            workspace.read(path)
        with pytest.raises(WorkspaceError, match="links are not followed"):
            workspace.write(path, b"new")
    for path in ("folder", "d/up", "d/up/outside", "inner"):
        with pytest.raises(WorkspaceError, match="links are not followed"):
            paths(workspace, path)
    assert workspace.stat("folder").type is FileType.LINK
    assert not any("outside" in path for path in paths(workspace))
    assert names_in(outside) == ["a.txt"]
    assert (outside / "a.txt").read_bytes() == SECRET


def test_writing_leaves_the_other_name_of_a_hard_link_alone(
    workspace: Workspace, root: Path, outside: Path
) -> None:
    root.mkdir()
    os.link(outside / "a.txt", root / "a.txt")
    workspace.write("a.txt", b"new")
    assert (outside / "a.txt").read_bytes() == SECRET


def test_the_root_itself_may_be_a_link(tmp_path: Path, outside: Path) -> None:
    (tmp_path / "link").symlink_to(outside)
    assert Workspace(tmp_path / "link").read("a.txt").data == SECRET


@contextmanager
def in_the_background(work: Callable[[], None]) -> Iterator[None]:
    """`work` again and again in another thread while the context is open."""
    over = threading.Event()
    rounds: list[int] = []

    def run() -> None:
        while not over.is_set():
            work()
            rounds.append(1)

    thread = threading.Thread(target=run)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()
    assert rounds


def until_seen(expected: set[T], seen: set[T]) -> Iterator[int]:
    """Rounds of a race: at least 500, and then until everything expected was seen."""
    for number in range(100_000):
        if number >= 500 and seen >= expected:
            return
        yield number


def test_a_folder_that_is_swapped_for_a_link_during_the_calls_leads_nowhere(
    workspace: Workspace, root: Path, outside: Path
) -> None:
    workspace.write("d/e/a.txt", b"inside")
    (outside / "e").mkdir()
    (outside / "e/a.txt").write_bytes(SECRET)

    def swap() -> None:
        (root / "d").rename(root / "hidden")
        (root / "d").symlink_to(outside)
        (root / "d").unlink()
        (root / "hidden").rename(root / "d")

    outcomes: set[bytes] = set()

    def attempt(read: Callable[[], set[bytes]]) -> None:
        try:
            outcomes.update(read())
        except WorkspaceError:
            outcomes.add(b"refused")

    expected = {b"inside", b"refused", b"d/e"}
    with in_the_background(swap):
        for _ in until_seen(expected, outcomes):
            attempt(lambda: {workspace.read("d/e/a.txt").data})
            attempt(lambda: {workspace.read("d/a.txt").data})
            attempt(lambda: {item.path.encode() for item in workspace.walk("d", 1)})
    assert outcomes == expected


def test_nothing_is_written_outside_while_a_folder_is_swapped_for_a_link(
    workspace: Workspace, root: Path, outside: Path
) -> None:
    root.mkdir()

    def swap() -> None:
        # Where the writer was first, its folder is in the way.
        with suppress(FileExistsError, FileNotFoundError, IsADirectoryError):
            (root / "d").symlink_to(outside)
            (root / "d").unlink()

    outcomes: set[str] = set()
    with in_the_background(swap):
        for _ in until_seen({"written", "refused"}, outcomes):
            try:
                workspace.write("d/new.txt", b"new")
                outcomes.add("written")
            except WorkspaceError:
                outcomes.add("refused")
            shutil.rmtree(root / "d", ignore_errors=True)
    assert outcomes == {"written", "refused"}
    assert names_in(outside) == ["a.txt"]


def test_a_file_that_is_swapped_for_a_link_during_the_calls_is_never_followed(
    workspace: Workspace, root: Path, outside: Path
) -> None:
    workspace.write("real", b"inside")

    def swap() -> None:
        (root / "link").symlink_to(outside / "a.txt")
        (root / "link").rename(root / "a.txt")
        os.link(root / "real", root / "copy")
        (root / "copy").rename(root / "a.txt")

    outcomes: set[bytes] = set()
    with in_the_background(swap):
        for _ in until_seen({b"inside", b"refused"}, outcomes):
            try:
                outcomes.add(workspace.read("a.txt").data)
                workspace.write("a.txt", b"inside")
            except WorkspaceError:
                outcomes.add(b"refused")
    assert outcomes == {b"inside", b"refused"}
    assert (outside / "a.txt").read_bytes() == SECRET


names = st.sampled_from(["..", ".", "", "a", "b", "out", "in", "link", "outside", "a.txt", "\0"])
anything = st.text(max_size=20)


@examples(1.5)
@given(st.lists(names | anything, max_size=8).map("/".join), st.booleans())
def test_no_path_reads_or_makes_anything_outside(path: str, absolute: bool) -> None:
    with tempfile.TemporaryDirectory() as made:
        outside, root = Path(made) / "outside", Path(made) / "root"
        (root / "in").mkdir(parents=True)
        outside.mkdir()
        for name in ("a", "b", "a.txt"):
            (outside / name).write_bytes(SECRET)
        (root / "out").symlink_to(outside)
        (root / "in/link").symlink_to("../../outside")
        (root / "in/a.txt").symlink_to(outside / "a.txt")
        (root / "b").symlink_to("/proc/self/root")
        workspace = Workspace(root)
        path = f"{root}/{path}" if absolute else path
        before = names_in(Path(made)), names_in(outside)
        with suppress(WorkspaceError):
            assert workspace.read(path).data != SECRET
        try:
            workspace.write(path, b"new")
        except WorkspaceError:
            written = False
        else:
            written = True
        assert before == (names_in(Path(made)), names_in(outside))
        assert {(outside / name).read_bytes() for name in ("a", "b", "a.txt")} == {SECRET}
        if written:
            name = workspace.file_path(path)
            assert workspace.read(name).data == b"new"
            assert (root / name).resolve().is_relative_to(root.resolve())


# What is no file


def test_pipes_sockets_and_devices_are_refused_without_waiting(
    workspace: Workspace, root: Path
) -> None:
    root.mkdir()
    os.mkfifo(root / "pipe")
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(root / "socket"))
        special = ["pipe", "socket"]
        if os.geteuid() == 0:
            os.mknod(root / "zero", stat.S_IFCHR | 0o666, os.makedev(1, 5))
            special.append("zero")
        for path in special:
            with pytest.raises(WorkspaceError, match="special file"):
                workspace.read(path)
            with pytest.raises(WorkspaceError, match="special file"):
                workspace.write(path, b"new")
            with pytest.raises(WorkspaceError):
                workspace.read(f"{path}/a.txt")
        assert [item.type for item in workspace.walk()] == [FileType.SPECIAL] * len(special)


def test_a_file_that_is_swapped_for_a_pipe_is_refused_without_waiting(
    workspace: Workspace, root: Path
) -> None:
    workspace.write("real", b"inside")

    def swap() -> None:
        os.mkfifo(root / "pipe")
        (root / "pipe").rename(root / "a.txt")
        os.link(root / "real", root / "copy")
        (root / "copy").rename(root / "a.txt")

    outcomes: set[bytes] = set()
    with in_the_background(swap):
        for _ in until_seen({b"inside", b"refused"}, outcomes):
            try:
                outcomes.add(workspace.read("a.txt").data)
            except WorkspaceError:
                outcomes.add(b"refused")
    assert outcomes == {b"inside", b"refused"}


def test_a_folder_is_no_file_and_a_file_is_no_folder(workspace: Workspace) -> None:
    workspace.write("d/a.txt", b"inside")
    with pytest.raises(WorkspaceError, match="is a folder, not a file"):
        workspace.read("d")
    with pytest.raises(WorkspaceError, match="is a folder, not a file"):
        workspace.write("d", b"new")
    with pytest.raises(WorkspaceError, match="not a folder"):
        workspace.write("d/a.txt/b.txt", b"new")
    with pytest.raises(WorkspaceError, match="not a folder"):
        paths(workspace, "d/a.txt")


def test_a_root_that_is_no_folder_is_said(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    for attempt in (
        lambda: Workspace(tmp_path / "file").read("a.txt"),
        lambda: Workspace(tmp_path / "file").write("a.txt", b""),
    ):
        with pytest.raises(WorkspaceError, match="the workspace cannot be opened"):
            attempt()
