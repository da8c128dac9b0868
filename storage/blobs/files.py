"""Contents as files in a folder beside the database."""

import asyncio
from pathlib import Path

from storage.blobs.base import ABANDONED_SECONDS, digest_of, is_digest
from storage.blobs.folder import BlobFolder, remove
from storage.errors import NotKept
from storage.store import Store


class FileBlobs:
    def __init__(self, folder: Path, store: Store) -> None:
        """`store` says which contents entries show."""
        self._folder = BlobFolder(folder)
        self._store = store

    async def put(self, data: bytes) -> str:
        digest = digest_of(data)
        try:
            await asyncio.to_thread(self._folder.write, digest, data)
        except OSError as error:
            raise NotKept(f"{self._folder.path} cannot be written: {error.strerror}") from error
        return digest

    async def get(self, digest: str) -> bytes | None:
        data = await asyncio.to_thread(self._folder.read, digest)
        if data is not None or not is_digest(digest):
            return data
        # A backup that was put in the place of the database has them inside.
        return await self._store.read(lambda tx: tx.blobs.get(digest))

    async def sweep(self) -> int:
        old = await asyncio.to_thread(lambda: list(self._folder.older_than(ABANDONED_SECONDS)))
        digests = [digest for digest, _ in old]
        used = await self._store.read(lambda tx: tx.blobs.used(digests))
        unused = [path for digest, path in old if digest not in used]
        return await asyncio.to_thread(remove, unused, ABANDONED_SECONDS)
