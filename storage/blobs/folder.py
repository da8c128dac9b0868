"""A folder of contents: "ab/cdef…" below it, for the hash "abcdef…". All of it blocks."""

import os
import tempfile
import time
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from storage.blobs.base import digest_of, is_digest

SUFFIX = ".blobs"
"""Of the folder beside a database."""
_PARTIAL = "partial-"


@dataclass(frozen=True, slots=True)
class BlobFolder:
    path: Path

    @staticmethod
    def beside(file: Path) -> "BlobFolder":
        """That of a database's file."""
        return BlobFolder(file.with_name(file.name + SUFFIX))

    def write(self, digest: str, data: bytes) -> None:
        """Keep a content: it is there after a crash. OSError where that cannot be done."""
        path = self._path(digest)
        if self.read(digest) is not None:
            os.utime(path)  # it is young again: a sweep leaves it
            return
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        # Made with mode 0600, under a name that nobody reads before all of it is on the disk.
        descriptor, partial = tempfile.mkstemp(prefix=_PARTIAL, dir=path.parent)
        try:
            with os.fdopen(descriptor, "wb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            Path(partial).replace(path)
        except BaseException:
            with suppress(FileNotFoundError):
                Path(partial).unlink()
            raise
        _sync_folder(path.parent)
        _sync_folder(self.path)

    def read(self, digest: str) -> bytes | None:
        """None where there is none, or it is not any more what it was."""
        if not is_digest(digest):
            return None
        try:
            data = self._path(digest).read_bytes()
        except OSError:
            return None
        return data if digest_of(data) == digest else None

    def digests(self) -> Iterator[str]:
        """Of what is there, also of what is damaged."""
        names = (path.parent.name + path.name for path in self.path.glob("??/*"))
        return (name for name in names if is_digest(name))

    def older_than(self, seconds: float) -> Iterator[tuple[str, Path]]:
        """Contents, and what a crash left half written."""
        before = time.time() - seconds
        for path in self.path.glob("??/*"):
            with suppress(FileNotFoundError):
                if path.stat().st_mtime < before:
                    yield path.parent.name + path.name, path

    def _path(self, digest: str) -> Path:
        return self.path / digest[:2] / digest[2:]


def remove(paths: Iterable[Path], seconds: float) -> int:
    """Those that are still older than that; how many they were."""
    before, removed = time.time() - seconds, 0
    for path in paths:
        with suppress(FileNotFoundError):
            if path.stat().st_mtime < before:
                path.unlink()
                removed += 1
    return removed


def _sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
