"""One change at a time to the files of a folder: a lock that the system keeps on the folder itself,
so that it holds between threads and processes, and ends with them. Nothing here waits for it: a
program in the sandbox may hold it for ever, and who waits does that without a thread."""

import errno
import fcntl
from collections.abc import Iterator
from contextlib import contextmanager

_NO_LOCKS = (errno.ENOLCK, errno.ENOTSUP, errno.EOPNOTSUPP, errno.EINVAL)
"""Of file systems without them."""


@contextmanager
def locked(folder: int) -> Iterator[None]:
    """Hold the lock of a folder, given by its descriptor. BlockingIOError where another holds it.
    Without locks, on some network file systems, it goes on without."""
    held = _take(folder)
    try:
        yield
    finally:
        if held:
            fcntl.flock(folder, fcntl.LOCK_UN)


def _take(folder: int) -> bool:
    try:
        fcntl.flock(folder, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise
    except OSError as error:
        if error.errno in _NO_LOCKS:
            return False
        raise
    return True
