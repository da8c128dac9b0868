"""Kept contents (storage.blobs) on their way from one database to another. Beside a SQLite file
they stand in a folder, in PostgreSQL and in a backup in a table: each is looked for in both.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from sqlalchemy import Connection, select

from storage.blobs.base import digest_of
from storage.blobs.folder import BlobFolder
from storage.errors import StoreUnavailable
from storage.lock import file_of
from storage.sql.repositories.blobs import SqlBlobs
from storage.sql.schema import blob_uses, blobs
from storage.transfer.contents import Tally

NAME = blobs.name
"""Under which they are counted."""


@dataclass(frozen=True, slots=True)
class Kept:
    connection: Connection
    folder: BlobFolder | None
    """None: they are written into the table."""
    put: float = 0.0
    """When what is written here was put, in Unix seconds."""

    def digests(self) -> list[str]:
        """Of what is there, whole or not, in order."""
        found = set(self.connection.scalars(select(blobs.c.digest)))
        return sorted(found.union(self.folder.digests() if self.folder is not None else ()))

    def get(self, digest: str) -> bytes | None:
        """None where it is not there, or is damaged."""
        data = self.folder.read(digest) if self.folder is not None else None
        if data is None:
            data = SqlBlobs(self.connection, self.put).get(digest)
        return data if data is not None and digest_of(data) == digest else None

    def write(self, digest: str, data: bytes) -> None:
        if self.folder is None:
            SqlBlobs(self.connection, self.put).put(digest, data)
            return
        try:
            self.folder.write(digest, data)
        except OSError as error:
            raise StoreUnavailable(f"{self.folder.path}: {error.strerror}") from error

    def copy_to(self, other: "Kept") -> Tally:
        """Write all that is whole there, one after the other, for they are large, and read each
        one back. StoreUnavailable where one is not there then."""
        counted = Tally()
        for row in counted.count(self._carried(other)):
            if other.get(row["digest"]) is None:
                raise StoreUnavailable(f"the content {row['digest']} is not what was written")
        return counted

    def _carried(self, other: "Kept") -> Iterator[dict[str, str]]:
        for digest in self.digests():
            data = self.get(digest)
            if data is not None:
                other.write(digest, data)
                yield {"digest": digest}

    def missing(self) -> Iterator[tuple[str, int]]:
        """Contents that entries show and that are not there, or are damaged: hash, and the first
        entry that shows it."""
        shown = select(blob_uses.c.digest, blob_uses.c.entry)
        last = ""
        for digest, entry in self.connection.execute(
            shown.order_by(blob_uses.c.digest, blob_uses.c.entry)
        ).all():
            if digest != last and self.get(digest) is None:
                yield digest, entry
            last = digest


def folder_of(url: str) -> BlobFolder | None:
    """Where a database that is worked with keeps them; None: in itself."""
    file = file_of(url)
    return None if file is None else BlobFolder.beside(file)
