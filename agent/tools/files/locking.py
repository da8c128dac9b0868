"""One change at a time to the files of a folder: a lock that the system keeps on the folder itself,
so that it holds between threads and processes, and ends with them. Blocks."""

import errno
import fcntl
import time
from collections.abc import Iterator
from contextlib import contextmanager

PATIENCE = 5.0
"""Seconds: a program in the sandbox may hold the lock for ever."""
_PAUSE = 0.01
_NO_LOCKS = (errno.ENOLCK, errno.ENOTSUP, errno.EOPNOTSUPP, errno.EINVAL)
"""Of file systems without them."""


@contextmanager
def locked(folder: int) -> Iterator[None]:
    """Hold the lock of a folder, given by its descriptor. OSError where somebody else does for too
    long. Without locks, on some network file systems, it goes on without."""
    held = _take(folder, time.monotonic() + PATIENCE)
    try:
        yield
    finally:
        if held:
            fcntl.flock(folder, fcntl.LOCK_UN)


def _take(folder: int, deadline: float) -> bool:
    while True:
        try:
            fcntl.flock(folder, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() > deadline:
                raise
            time.sleep(_PAUSE)
        except OSError as error:
            if error.errno in _NO_LOCKS:
                return False
            raise
        else:
            return True
