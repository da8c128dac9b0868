"""One gateway per database file.

The lock is the kernel's (flock) on a file beside the database, so it ends with the process, however
that ends. What the file says is only for people: it may stay behind and does no harm.
"""

import fcntl
import os
from types import TracebackType

from storage.dialect import database_file, parse_url
from storage.errors import StoreInUse, StoreUnavailable


class Lock:
    """Held until closed, or until its process is gone."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor: int | None = descriptor

    def close(self) -> None:
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None

    def __enter__(self) -> "Lock":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()


def hold_lock(url: str) -> Lock:
    """Take the lock of a database. StoreInUse where another process has it; StoreUnavailable
    where the lock file cannot be written. Does not wait."""
    database = database_file(parse_url(url))
    file = database.with_name(database.name + ".lock")
    try:
        descriptor = os.open(file, os.O_RDWR | os.O_CREAT, 0o644)
    except OSError as error:
        raise StoreUnavailable(
            f"{file}: {error.strerror}; create its folder, give this user write access to it, "
            "or set [storage] url"
        ) from error
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        holder = os.read(descriptor, 32).decode(errors="replace").strip()
        os.close(descriptor)
        raise StoreInUse(
            f"another bough uses {database}{f' (pid {holder})' if holder else ''}; "
            "stop it or set [storage] url"
        ) from error
    os.truncate(descriptor, 0)
    os.write(descriptor, f"{os.getpid()}\n".encode())
    return Lock(descriptor)
