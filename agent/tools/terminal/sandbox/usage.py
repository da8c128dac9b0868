"""What the processes of a command take, as the kernel tells it. Blocks, but not for disks.

Where a command has a cgroup, the kernel counts more, and by itself; see `cgroup`.
"""

import os
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

_PAGE = os.sysconf("SC_PAGE_SIZE")
_MOST = 4_096
"""Processes that are looked at."""
_IN_MEMORY = ("tmp", "dev/shm")
"""Where a sandbox has file systems of its own."""
_FILE = 1_024
"""Bytes that the kernel takes for a file in memory, however empty."""
_TAKEN = ("VmRSS:", "VmSwap:", "VmPTE:")


@dataclass(frozen=True, slots=True)
class Usage:
    processes: int
    memory: int
    """Bytes."""
    descriptors: int


def descendants(root: int) -> list[int]:
    """A process and all below it; what comes and goes meanwhile may be missing."""
    found, new = [root], [root]
    while new and len(found) < _MOST:
        new = [child for process in new for child in _children(process)]
        found += new
    return found


def usage(root: int, limit: int) -> Usage:
    """Of a process and all below it. Memory that processes share is counted once where the sum
    would pass the limit otherwise, in bytes: that look is dear. Not seen are the buffers of pipes
    and sockets; how many there may be, descriptors say."""
    processes = descendants(root)
    files = _files_in_memory(root)
    memory = sum(map(_taken, processes)) + files
    if memory > limit:
        memory = sum(map(_proportional, processes)) + files
    return Usage(len(processes), memory, sum(map(_descriptors, processes)))


def is_bubblewrap(process: int) -> bool:
    """By its name, which any process can take."""
    return _read(f"/proc/{process}/comm").strip() == "bwrap"


def free_memory() -> int:
    """Bytes that the machine has left."""
    for line in _read("/proc/meminfo").splitlines():
        if line.startswith("MemAvailable:"):
            return int(line.split()[1]) * 1_024
    return 1 << 62


def free_connections() -> int:
    """Bytes that the machine has left for what TCP sends and receives, before it refuses: one pool
    for all, in a network of their own or not."""
    most = _read("/proc/sys/net/ipv4/tcp_mem").split()
    for line in _read("/proc/net/sockstat").splitlines():
        if most and line.startswith("TCP:"):
            return (int(most[-1]) - int(line.split()[-1])) * _PAGE
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


def _taken(process: int) -> int:
    """In memory or swapped out, with the tables that say where."""
    return _sum_of(f"/proc/{process}/status", _TAKEN)


def _proportional(process: int) -> int:
    shared_out = _sum_of(f"/proc/{process}/smaps_rollup", ("Pss:", "SwapPss:"))
    return shared_out + _sum_of(f"/proc/{process}/status", ("VmPTE:",))


def _sum_of(path: str, keys: tuple[str, ...]) -> int:
    """Bytes; the kernel tells them in KiB."""
    lines = [line.split() for line in _read(path).splitlines() if line.startswith(keys)]
    return sum(int(line[1]) for line in lines) * 1_024


def _files_in_memory(root: int) -> int:
    """Bytes of what a sandbox keeps in memory as files; 0 without a sandbox, where they are the
    machine's."""
    top = Path(f"/proc/{root}/root")
    with suppress(OSError):
        if os.path.samestat(top.stat(), Path("/").stat()):
            return 0
        found = [os.statvfs(top / name) for name in _IN_MEMORY]
        return sum((f.f_blocks - f.f_bfree) * f.f_frsize for f in found) + sum(
            (f.f_files - f.f_ffree) * _FILE for f in found
        )
    return 0  # not yet made, or ended


def _descriptors(process: int) -> int:
    with suppress(OSError):
        return len(os.listdir(f"/proc/{process}/fd"))  # noqa: PTH208 - names are enough
    return 0


def _read(path: str) -> str:
    """ "" for a process that has ended."""
    try:
        return Path(path).read_text(encoding="ascii", errors="replace")
    except OSError:
        return ""
