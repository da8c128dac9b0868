"""The seam to kept contents."""

import re
from hashlib import sha256
from typing import Protocol

ABANDONED_SECONDS = 86_400.0
"""After which a content that no entry shows is removed: long after the turn that was to show it."""

_HASH = re.compile(r"[0-9a-f]{64}")


class BlobStore(Protocol):
    async def put(self, data: bytes) -> str:
        """Keep a content; its hash. Once kept, it is there after a crash. NotKept where it
        cannot be; StoreUnavailable where the database is away."""
        ...

    async def get(self, digest: str) -> bytes | None:
        """None where there is none, or it is not any more what it was."""
        ...

    async def sweep(self) -> int:
        """Remove what no entry shows and nobody has put for a day; how many that were."""
        ...


def digest_of(data: bytes) -> str:
    return sha256(data).hexdigest()


def is_digest(value: object) -> bool:
    """Whether it can name a content: it becomes part of a path."""
    return isinstance(value, str) and _HASH.fullmatch(value) is not None
