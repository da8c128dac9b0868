"""The wall clock of a forked process, which another process sets forward and back while it runs.

`time.time` is replaced before anything else is imported, so that whoever keeps it as a default has
this one. What runs by the monotonic clock runs on, as on a machine whose clock is set.
"""

import mmap
import struct
import time
from collections.abc import Callable
from pathlib import Path

_OFFSET = struct.Struct("<d")

_real: Callable[[], float] = time.time
_memory: mmap.mmap | None = None


def _moved() -> float:
    if _memory is None:
        return _real()
    (ahead,) = _OFFSET.unpack_from(_memory)
    return _real() + float(ahead)


def install() -> None:
    """From now on `time.time` is that clock; it is right as long as nobody follows a file."""
    time.time = _moved


def follow(file: Path) -> None:
    """Be as wrong as the file says, at every moment."""
    global _memory
    with file.open("r+b") as opened:
        _memory = mmap.mmap(opened.fileno(), _OFFSET.size)


def make(file: Path) -> None:
    """A file to follow, of clocks that are right."""
    file.write_bytes(_OFFSET.pack(0.0))


def set_ahead(file: Path, seconds: float) -> None:
    """Set the clocks that follow this file; below 0 they are behind."""
    with file.open("r+b") as opened:  # never shorter, because it is mapped
        opened.write(_OFFSET.pack(seconds))
