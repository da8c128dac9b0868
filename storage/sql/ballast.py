"""Room on the disk of a SQLite database that is kept for it: files that are removed when the disk
is full, and made again when there is room. Without them a full disk would silence every chat until
somebody frees some; with them the bot answers on, and can say what is wrong.

In parts, given up more and more at once: what fills the disk may still run, and would take it all.
And in files, because a disk may run out of those.
"""

import logging
import os
from contextlib import suppress
from pathlib import Path
from threading import Lock

log = logging.getLogger(__name__)

SUFFIX = ".ballast"
"""Of the folder beside a database."""
PARTS = 16
_SHARE = 20
"""The ballast is at most this part of the disk."""
_BESIDE = 2
"""Times its size that must be left beside it where it is made."""
_FULL = 64 << 10
"""Bytes: with less left, a disk is full."""
_BLOCK = 1 << 20


class Ballast:
    """Of one database. All of it may be called in any thread, and blocks."""

    def __init__(self, database: Path, size: int = 0) -> None:
        """`size`: bytes at most; with 0 what is there is given up where it is needed, and none is
        made."""
        file = Path(os.path.realpath(database))
        self._folder = file.with_name(file.name + SUFFIX)
        self.size = size
        self._lock = Lock()
        self._given = 0
        """Parts that were given up since all were there."""

    def is_full(self) -> bool:
        """Whether its disk has no room any more: for bytes, or for files."""
        try:
            disk = os.statvfs(self._folder.parent)
        except OSError:
            return False
        out_of_files = bool(disk.f_files) and disk.f_favail == 0
        return disk.f_bavail * disk.f_frsize < _FULL or out_of_files

    def give_up(self, parts: int = 1) -> bool:
        """Make room: remove so many parts, as far as they are there. False where none was left."""
        with self._lock:
            there, removed = self._there(), 0
            for part in there[:parts]:
                with suppress(OSError):
                    part.unlink()
                    removed += 1
            self._given += removed
        if removed:
            # Each time that it begins is an error; that more was needed is said beside it.
            log.log(
                logging.ERROR if self._given == removed else logging.INFO,
                "the disk of the database is full: %d of %d parts of its ballast in %s were given "
                "up, so that the bot goes on. Free some space now; bough doctor lists workspaces",
                self._given,
                self._given + len(there) - removed,
                self._folder,
            )
        return removed > 0

    def restore(self) -> None:
        """Make what is missing, where there is room enough besides; take away what is not wanted.
        OSError where the folder cannot be written."""
        with self._lock:
            there = self._there()
            if not self.size:
                for part in there:
                    part.unlink()
                return
            part_size = self._part_size()
            missing = [at for at in self._parts() if not _holds(at, part_size)]
            if missing and self._has_room(len(missing) * part_size):
                self._folder.mkdir(mode=0o700, exist_ok=True)
                for at in missing:
                    if not _made(at, part_size):
                        return
                log.info("the ballast in %s has %d bytes", self._folder, PARTS * part_size)
            elif missing:
                # Another process of ours may have given it up, or this one before its last start.
                self._given = len(missing) if self._folder.exists() else 0
                return
            self._given = 0

    def given_up(self) -> str:
        """What people should know, for them; "" where all of it is there."""
        if not self._given:
            return ""
        left = len(self._there())
        rest = f"{left} of {PARTS} parts of" if left else "nothing of"
        return (
            f"The disk of the database was full, and the bot goes on with its ballast: {rest} that "
            f"is left in {self._folder}. Free some space on that disk now; `bough doctor` lists "
            "the largest workspaces"
        )

    def _parts(self) -> list[Path]:
        return [self._folder / f"{number:02d}" for number in range(PARTS)]

    def _there(self) -> list[Path]:
        return [part for part in self._parts() if part.exists()]

    def _part_size(self) -> int:
        disk = os.statvfs(self._folder.parent)
        return max(min(self.size, disk.f_blocks * disk.f_frsize // _SHARE) // PARTS, 1)

    def _has_room(self, wanted: int) -> bool:
        disk = os.statvfs(self._folder.parent)
        return disk.f_bavail * disk.f_frsize >= (1 + _BESIDE) * wanted


def _holds(part: Path, size: int) -> bool:
    try:
        return part.stat().st_size >= size
    except FileNotFoundError:
        return False


def _made(part: Path, size: int) -> bool:
    """Whether a part that takes its room could be made; else none is left half made."""
    file = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
    try:
        os.posix_fallocate(file, 0, size)
        if os.fstat(file).st_blocks * 512 < size:
            # A file system that compresses takes no room for zeros.
            for at in range(0, size, _BLOCK):
                os.pwrite(file, os.urandom(min(_BLOCK, size - at)), at)
    except OSError:
        part.unlink()
        return False
    finally:
        os.close(file)
    return True
