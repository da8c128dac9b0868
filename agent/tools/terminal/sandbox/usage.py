"""What the processes of a command take, as the kernel tells it. Blocks, but not for disks."""

import os
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

_PAGE = os.sysconf("SC_PAGE_SIZE")
_MOST = 4_096
"""Processes that are looked at."""


@dataclass(frozen=True, slots=True)
class Usage:
    processes: int
    memory: int
    """Bytes."""


def descendants(root: int) -> list[int]:
    """A process and all below it; what comes and goes meanwhile may be missing."""
    found, new = [root], [root]
    while new and len(found) < _MOST:
        new = [child for process in new for child in _children(process)]
        found += new
    return found


def usage(root: int, limit: int) -> Usage:
    """Of a process and all below it. Memory that processes share is counted once where the sum
    would pass the limit otherwise, in bytes: that look is dear."""
    processes = descendants(root)
    memory = sum(map(_resident, processes))
    if memory > limit:
        memory = sum(map(_proportional, processes))
    return Usage(len(processes), memory)


def is_bubblewrap(process: int) -> bool:
    """By its name, which any process can take."""
    return _read(f"/proc/{process}/comm").strip() == "bwrap"


def free_memory() -> int:
    """Bytes that the machine has left."""
    for line in _read("/proc/meminfo").splitlines():
        if line.startswith("MemAvailable:"):
            return int(line.split()[1]) * 1_024
    return 1 << 62


def free_disk(folder: Path) -> int:
    """Bytes that are left where a folder is."""
    found = os.statvfs(folder)
    return found.f_bavail * found.f_frsize


def free_files(folder: Path) -> int:
    """How many more files there may be where a folder is."""
    found = os.statvfs(folder)
    return found.f_favail if found.f_files else 1 << 62  # some file systems do not count them


def _children(process: int) -> list[int]:
    threads: list[Path] = []
    with suppress(OSError):
        threads = [*Path(f"/proc/{process}/task").iterdir()]
    told = [_read(f"{thread}/children") for thread in threads]
    return [int(child) for line in told for child in line.split()]


def _resident(process: int) -> int:
    fields = _read(f"/proc/{process}/statm").split()
    return int(fields[1]) * _PAGE if len(fields) > 1 else 0


def _proportional(process: int) -> int:
    for line in _read(f"/proc/{process}/smaps_rollup").splitlines():
        if line.startswith("Pss:"):
            return int(line.split()[1]) * 1_024
    return 0


def _read(path: str) -> str:
    """ "" for a process that has ended."""
    try:
        return Path(path).read_text(encoding="ascii", errors="replace")
    except OSError:
        return ""
