"""One gateway per database: per file, whatever names lead to it.

Two locks of the kernel (flock), which end with the process, however that ends:

- on a file beside the database, found after all symbolic links are followed. It says who holds it,
  and it keeps two starts apart while the database is not even there.
- on the database file itself, so that neither a hard link nor a removed lock file lets a second
  gateway in. Linux keeps flock apart from the locks that SQLite takes (fcntl). Where a kernel or a
  file system mixes the two (macOS, NFS), this lock would shut our own SQLite out, so it is left
  away, and names that are hard links are not seen through.

Let go only after the store is closed: a process that closes any descriptor of the database loses
SQLite's locks on it.
"""

import errno
import fcntl
import os
from contextlib import suppress
from pathlib import Path
from types import TracebackType

from storage.errors import StoreInUse, StoreUnavailable
from storage.sql.ballast import Ballast
from storage.sql.dialect import database_of
from storage.sql.sqlite import Sqlite


class Lock:
    """Held until closed, or until its process is gone."""

    def __init__(self, *descriptors: int) -> None:
        self._descriptors = descriptors

    def close(self) -> None:
        for descriptor in reversed(self._descriptors):
            os.close(descriptor)
        self._descriptors = ()

    def __enter__(self) -> "Lock":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()


def file_of(url: str) -> Path | None:
    """The file of a database; None where it is none of this machine's files."""
    known = database_of(url)
    return known.file if isinstance(known, Sqlite) else None


def hold_lock(url: str) -> Lock:
    """Take the locks of a database; a new one's file is there afterwards, empty. Does not wait.
    PostgreSQL is shared, so there is nothing to take.

    StoreInUse where another process has them; StoreUnavailable where the files cannot be written.
    """
    known = database_of(url)
    if not isinstance(known, Sqlite):
        return Lock()
    named = known.file
    database = Path(os.path.realpath(named))
    beside = _lock_beside(database, named)
    if _mixed_with_fcntl(beside):
        return Lock(beside)
    try:
        return Lock(beside, _lock_itself(database, named))
    except BaseException:
        os.close(beside)
        raise


def _lock_beside(database: Path, named: Path) -> int:
    """Take the lock file, and say in it who has it."""
    file = database.with_name(database.name + ".lock")
    while True:
        descriptor = _open(file, database)
        if not _taken(descriptor):
            holder = os.read(descriptor, 32).decode(errors="replace").strip()
            os.close(descriptor)
            raise _in_use(named, holder)
        if _is_still(file, descriptor):
            break
        os.close(descriptor)  # removed in between: it keeps nobody out
    _say_who(descriptor)
    return descriptor


def _say_who(descriptor: int) -> None:
    """Over what stands there, so that it needs no room where the disk is full."""
    said = f"{os.getpid()}\n".encode()
    with suppress(OSError):  # only who is refused reads it
        os.pwrite(descriptor, said, 0)
        os.truncate(descriptor, len(said))


def _lock_itself(database: Path, named: Path) -> int:
    while True:
        descriptor = _open(database, database)
        if not _taken(descriptor):
            holder = _holder(os.fstat(descriptor).st_ino)
            os.close(descriptor)
            raise _in_use(named, holder)
        if _is_still(database, descriptor):
            return descriptor
        os.close(descriptor)


def _open(file: Path, database: Path) -> int:
    try:
        return os.open(file, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    except OSError as error:
        if error.errno == errno.ENOSPC and Ballast(database).give_up():
            return _open(file, database)
        raise StoreUnavailable(
            f"{file}: {error.strerror}; create its folder, give this user write access to the file "
            "and its folder, or set [storage] url"
        ) from error


def _taken(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _is_still(file: Path, descriptor: int) -> bool:
    """Whether the name leads to what was opened."""
    try:
        return os.path.samestat(file.stat(), os.fstat(descriptor))
    except FileNotFoundError:
        return False


def _mixed_with_fcntl(flocked: int) -> bool:
    """Whether a flock keeps out fcntl's locks of the same process here."""
    try:
        fcntl.lockf(flocked, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return True
    fcntl.lockf(flocked, fcntl.LOCK_UN)
    return False


def _holder(inode: int) -> str:
    """The process that holds a flock on a file; "" where the kernel does not say."""
    with suppress(OSError):  # only Linux has the list
        for line in Path("/proc/locks").read_text(encoding="ascii").splitlines():
            # 1: FLOCK  ADVISORY  WRITE 4711 08:01:131 0 EOF
            match line.split():
                case [_, "FLOCK", _, "WRITE", pid, place, *_] if place.endswith(f":{inode}"):
                    return pid
    return ""


def _in_use(database: Path, holder: str) -> StoreInUse:
    return StoreInUse(
        f"another bough uses {database}{f' (pid {holder})' if holder else ''}; "
        "stop it, set [storage] url to another one, or, for several processes, to a PostgreSQL: "
        "bough db copy FROM TO moves everything there"
    )
