"""One gateway for one file, by whatever name it is reached."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from storage.errors import StoreInUse, StoreUnavailable
from storage.lock import hold_lock
from tests.support.stores import url_of

HOLD = """
import sys
from storage.errors import StoreInUse
from storage.lock import hold_lock

sys.stdin.readline()
try:
    lock = hold_lock(sys.argv[1])
except StoreInUse as error:
    print(error, flush=True)
else:
    print("held", flush=True)
sys.stdin.readline()
"""


def begin(url: str, folder: Path | None = None) -> "subprocess.Popen[str]":
    """A process that takes the lock when it gets a line, and ends after another."""
    return subprocess.Popen(
        [sys.executable, "-c", HOLD, url],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        cwd=folder,
        env=os.environ | {"PYTHONPATH": str(Path(__file__).parents[2])},
    )


def go(*processes: "subprocess.Popen[str]") -> list[str]:
    """What became of them, when all of them try at once."""
    for process in processes:
        assert process.stdin is not None
        process.stdin.write("\n")
        process.stdin.flush()
    return [process.stdout.readline().strip() for process in processes if process.stdout]


@contextmanager
def held(url: str, folder: Path | None = None) -> Iterator[int]:
    """By another process; its pid."""
    with begin(url, folder) as process:
        assert go(process) == ["held"]
        yield process.pid
        process.communicate("\n")


def symbolic_link(database: Path) -> Path:
    link = database.with_name("link.db")
    link.symlink_to(database.name)
    return link


def link_to_a_link(database: Path) -> Path:
    link = database.with_name("again.db")
    link.symlink_to(symbolic_link(database))
    return link


def linked_folder(database: Path) -> Path:
    folder = database.parent.with_name(f"{database.parent.name}-link")
    folder.symlink_to(database.parent)
    return folder / database.name


def hard_link(database: Path) -> Path:
    link = database.with_name("hard.db")
    link.hardlink_to(database)
    return link


def hard_link_in_another_folder(database: Path) -> Path:
    folder = database.parent / "elsewhere"
    folder.mkdir()
    link = folder / database.name
    link.hardlink_to(database)
    return link


@pytest.mark.parametrize(
    "name", [symbolic_link, link_to_a_link, linked_folder, hard_link, hard_link_in_another_folder]
)
def test_another_name_of_a_file_that_is_in_use_is_refused(database: Path, name: object) -> None:
    assert callable(name)
    link = name(database)
    for one, other in ((database, link), (link, database)):
        with held(url_of(one)) as pid, pytest.raises(StoreInUse, match=rf"pid {pid}\); stop it"):
            hold_lock(url_of(other))
    hold_lock(url_of(link)).close()


def test_a_relative_path_is_the_same_file_as_an_absolute_one(database: Path) -> None:
    with held(f"sqlite:///{database.name}", database.parent), pytest.raises(StoreInUse):
        hold_lock(url_of(database))


def test_a_file_named_as_sqlite_names_it_is_the_same_file(database: Path) -> None:
    with held(f"sqlite:///file:{database}?uri=true"), pytest.raises(StoreInUse):
        hold_lock(url_of(database))


@pytest.mark.parametrize(
    "url", ["sqlite:///file::memory:?uri=true", "sqlite:///file:x?mode=memory&uri=true"]
)
def test_a_database_in_memory_is_refused(url: str) -> None:
    with pytest.raises(StoreUnavailable, match="names no file"):
        hold_lock(url)


@pytest.mark.parametrize("put_back", [False, True])
def test_removing_the_lock_file_lets_nobody_in(database: Path, put_back: bool) -> None:
    lock_file = database.with_name("bough.db.lock")
    with held(url_of(database)) as pid:
        lock_file.unlink()
        if put_back:
            lock_file.touch()
        with pytest.raises(StoreInUse, match=f"pid {pid}"):
            hold_lock(url_of(database))
    hold_lock(url_of(database)).close()


@pytest.mark.parametrize("linked", [False, True])
def test_of_many_that_start_at_once_on_a_new_file_one_has_it(tmp_path: Path, linked: bool) -> None:
    file = tmp_path / "new.db"
    if linked:
        (tmp_path / "link.db").symlink_to(file)
    urls = [url_of(file), url_of(tmp_path / "link.db" if linked else file)] * 3
    processes = [begin(url) for url in urls]
    told = go(*processes)
    for process in processes:
        process.communicate("\n")
    assert sorted(text == "held" for text in told) == [False] * 5 + [True]


@pytest.mark.crash
def test_a_killed_holder_leaves_no_lock(database: Path) -> None:
    with begin(url_of(database)) as process:
        assert go(process) == ["held"]
        os.kill(process.pid, signal.SIGKILL)
        process.communicate()
    hold_lock(url_of(hard_link(database))).close()
