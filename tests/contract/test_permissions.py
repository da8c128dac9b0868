"""A database that its user may not use, tried as a user who is not root."""

import os
import subprocess
import sys
import tempfile
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest

from storage.sql.store import SqlStore
from tests.support.gateway_process import ROOT
from tests.support.stores import url_of

NOBODY = 65534
# Everything is imported before, because the interpreter may be where only root can read.
RUN = f"""
import argparse, os, sys
import gateway.cli.main, gateway.cli.demo, storage.sql.migrate, storage.sql.store

os.setgroups([])
os.setgid({NOBODY})
os.setuid({NOBODY})
arguments = argparse.Namespace(command=sys.argv[1], action="list", json=False, all=False)
sys.exit(gateway.cli.main.run(arguments))
"""

pytestmark = pytest.mark.skipif(
    os.geteuid() != 0, reason="NOT TESTED: only root can become somebody who may do less"
)


@pytest.fixture
async def folder() -> AsyncIterator[Path]:
    """Reachable for everybody, which pytest's own are not."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        await (await SqlStore.open(url_of(folder / "bough.db"))).close()
        yield folder


def read_only_file(folder: Path) -> None:
    folder.chmod(0o777)
    (folder / "bough.db").chmod(0o444)


def read_only_folder(folder: Path) -> None:
    folder.chmod(0o755)
    (folder / "bough.db").chmod(0o666)


def closed_folder(folder: Path) -> None:
    folder.chmod(0o700)


def no_file_in_a_read_only_folder(folder: Path) -> None:
    folder.chmod(0o755)
    (folder / "bough.db").unlink()


def secret_file(folder: Path) -> None:
    folder.chmod(0o777)
    (folder / "bough.db").chmod(0o600)


def lock_file_of_root(folder: Path) -> None:
    folder.chmod(0o777)
    (folder / "bough.db").chmod(0o666)
    (folder / "bough.db.lock").touch(0o600)


def as_nobody(command: str, folder: Path) -> subprocess.CompletedProcess[str]:
    environment = {name: text for name, text in os.environ.items() if name[:6] != "BOUGH_"}
    return subprocess.run(
        [sys.executable, "-c", RUN, command],
        env=environment
        | {"PYTHONPATH": str(ROOT), "BOUGH_STORAGE__URL": url_of(folder / "bough.db")},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        cwd="/",
        check=False,
    )


@pytest.mark.parametrize(
    ("spoil", "commands"),
    [
        (read_only_file, ["chat", "sessions"]),
        (read_only_folder, ["chat", "sessions"]),
        (closed_folder, ["chat", "sessions"]),
        (no_file_in_a_read_only_folder, ["chat"]),  # others make none
        (secret_file, ["chat", "sessions"]),
        (lock_file_of_root, ["chat"]),
    ],
)
def test_what_may_not_be_used_is_one_message_that_says_what_to_do(
    folder: Path, spoil: Callable[[Path], None], commands: list[str]
) -> None:
    spoil(folder)
    file = folder / "bough.db"
    before = file.read_bytes() if file.exists() else None
    for command in commands:
        ended = as_nobody(command, folder)
        assert ended.returncode in (1, 2), ended
        said = [line for line in ended.stderr.splitlines() if "working on sqlite" not in line]
        assert len(said) == 1 and said[0].startswith("bough: "), ended.stderr
        assert "write access" in ended.stderr and "[storage] url" in ended.stderr
        assert (file.read_bytes() if file.exists() else None) == before
