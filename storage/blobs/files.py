"""Contents as files in a folder: "ab/cdef…" below it, for the hash "abcdef…"."""

import asyncio
import os
import tempfile
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from storage.blobs.base import ABANDONED_SECONDS, digest_of, is_digest
from storage.errors import StoreUnavailable
from storage.store import Store

SUFFIX = ".blobs"
"""Of the folder beside the database."""
_PARTIAL = "partial-"


class FileBlobs:
    def __init__(self, folder: Path, store: Store) -> None:
        """`store` says which contents entries show."""
        self._folder = folder
        self._store = store

    async def put(self, data: bytes) -> str:
        digest = digest_of(data)
        try:
            await asyncio.to_thread(self._write, digest, data)
        except OSError as error:
            raise StoreUnavailable(f"a file cannot be kept: {error.strerror}") from error
        return digest

    async def get(self, digest: str) -> bytes | None:
        return await asyncio.to_thread(self._read, digest)

    async def sweep(self) -> int:
        old = await asyncio.to_thread(lambda: list(self._older_than(ABANDONED_SECONDS)))
        digests = [digest for digest, _ in old]
        used = await self._store.read(lambda tx: tx.blobs.used(digests))
        unused = [path for digest, path in old if digest not in used]
        return await asyncio.to_thread(self._remove, unused)

    def _path(self, digest: str) -> Path:
        return self._folder / digest[:2] / digest[2:]

    def _write(self, digest: str, data: bytes) -> None:
        path = self._path(digest)
        if self._read(digest) is not None:
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
        _sync_folder(self._folder)

    def _read(self, digest: str) -> bytes | None:
        if not is_digest(digest):
            return None
        try:
            data = self._path(digest).read_bytes()
        except OSError:
            return None
        return data if digest_of(data) == digest else None

    def _older_than(self, seconds: float) -> Iterator[tuple[str, Path]]:
        """Contents, and what a crash left half written."""
        before = time.time() - seconds
        for path in self._folder.glob("??/*"):
            with suppress(FileNotFoundError):
                if path.stat().st_mtime < before:
                    yield path.parent.name + path.name, path

    def _remove(self, paths: list[Path]) -> int:
        before, removed = time.time() - ABANDONED_SECONDS, 0
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
