"""What a transaction knows of kept contents: which entries show which, and, where they stand in the
database, the contents."""

from collections.abc import Collection
from typing import Protocol


class Blobs(Protocol):
    def use(self, entry: int, digests: Collection[str]) -> None:
        """Note that an entry shows these contents: they stay. Once is for ever."""
        ...

    def used(self, digests: Collection[str]) -> set[str]:
        """Those of them that any entry shows."""
        ...

    def put(self, digest: str, data: bytes) -> None:
        """Keep a content here; twice is once, and makes it young again."""
        ...

    def get(self, digest: str) -> bytes | None: ...

    def drop_unused(self, before: float) -> int:
        """Remove contents kept here that no entry shows and nobody has put since then (Unix
        seconds); how many."""
        ...
