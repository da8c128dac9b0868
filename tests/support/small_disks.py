"""Real file systems that are small, for tests of what a full disk does."""

import os
import subprocess
import tempfile
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

FULL = "/dev/zero"


@contextmanager
def small_disk(size: str, *, files: int | None = None) -> Iterator[Path]:
    """A folder on a disk of its own, of a size as mount takes it ("64m"), for so many files. Skips,
    with a warning, where nothing may be mounted."""
    folder = Path(tempfile.mkdtemp(prefix="bough-disk-"))
    options = f"size={size},mode=755" + ("" if files is None else f",nr_inodes={files}")
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", options, "tmpfs", str(folder)],
        capture_output=True,
        text=True,
        check=False,
    )
    if mounted.returncode:
        folder.rmdir()
        why = f"SKIPPED: no small disk can be mounted here, run as root: {mounted.stderr.strip()}"
        warnings.warn(why, stacklevel=1)
        pytest.skip(why)
    try:
        yield folder
    finally:
        subprocess.run(["umount", "--lazy", str(folder)], check=True)
        folder.rmdir()


def fill(folder: Path) -> Path:
    """Leave nothing; the file that took it."""
    file = folder / "filler"
    with file.open("wb", 0) as taken:
        block = bytes(1 << 16)
        while block:
            try:
                taken.write(block)
            except OSError:
                block = block[: len(block) // 2]
    return file


def use_up_files(folder: Path) -> Path:
    """Leave room for no file; the folder that has them."""
    many = folder / "many"
    many.mkdir()
    number = 0
    while True:
        try:
            os.close(os.open(many / str(number), os.O_CREAT | os.O_WRONLY))
        except OSError:
            return many
        number += 1
