"""Contents in the database itself."""

from functools import partial

from storage.blobs.base import ABANDONED_SECONDS, digest_of, is_digest
from storage.store import Store, Transaction


class TableBlobs:
    def __init__(self, store: Store) -> None:
        self._store = store

    async def put(self, data: bytes) -> str:
        digest = digest_of(data)
        await self._store.run(lambda tx: tx.blobs.put(digest, data))
        return digest

    async def get(self, digest: str) -> bytes | None:
        if not is_digest(digest):
            return None
        return await self._store.read(lambda tx: tx.blobs.get(digest))

    async def sweep(self) -> int:
        return await self._store.run(partial(_sweep))


def _sweep(tx: Transaction) -> int:
    return tx.blobs.drop_unused(tx.now - ABANDONED_SECONDS)
