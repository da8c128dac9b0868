"""Contents in SQL, and which entries show them."""

from collections.abc import Collection, Iterator, Sequence

from sqlalchemy import Connection, bindparam, delete, exists, select

from storage.sql.rows import upsert
from storage.sql.schema import blob_uses, blobs

_AT_ONCE = 500
"""Names in one statement; databases take some thousand."""
_PUT = upsert(blobs, ["digest", "data", "put"], key=["digest"], change=["put"])
_GET = select(blobs.c.data).where(blobs.c.digest == bindparam("wanted"))
_USE = upsert(blob_uses, ["digest", "entry"], key=["digest", "entry"])
_DROP = delete(blobs).where(
    blobs.c.put < bindparam("before"),
    ~exists().where(blob_uses.c.digest == blobs.c.digest),
)


class SqlBlobs:
    def __init__(self, connection: Connection, now: float) -> None:
        self._connection = connection
        self._now = now

    def use(self, entry: int, digests: Collection[str]) -> None:
        for digest in sorted(set(digests)):
            self._connection.execute(_USE, {"digest": digest, "entry": entry})

    def used(self, digests: Collection[str]) -> set[str]:
        found: set[str] = set()
        for some in _portions(list(digests)):
            query = select(blob_uses.c.digest).where(blob_uses.c.digest.in_(some)).distinct()
            found |= set(self._connection.scalars(query))
        return found

    def put(self, digest: str, data: bytes) -> None:
        self._connection.execute(_PUT, {"digest": digest, "data": data, "put": self._now})

    def get(self, digest: str) -> bytes | None:
        data = self._connection.scalar(_GET, {"wanted": digest})
        return None if data is None else bytes(data)

    def drop_unused(self, before: float) -> int:
        return self._connection.execute(_DROP, {"before": before}).rowcount


def _portions(digests: Sequence[str]) -> Iterator[Sequence[str]]:
    for start in range(0, len(digests), _AT_ONCE):
        yield digests[start : start + _AT_ONCE]
