"""Where contents are kept, by which database it is."""

from storage.blobs.base import BlobStore
from storage.blobs.files import FileBlobs
from storage.blobs.folder import BlobFolder
from storage.blobs.table import TableBlobs
from storage.lock import file_of
from storage.store import Store


def blobs_of(url: str, store: Store) -> BlobStore:
    """A folder beside a SQLite file; else the database."""
    file = file_of(url)
    if file is None:
        return TableBlobs(store)
    return FileBlobs(BlobFolder.beside(file).path, store)
