"""What a command may take at most."""

import os
from dataclasses import dataclass, replace
from pathlib import Path

SECONDS = 120
"""A command's time where the model says nothing."""
MOST_SECONDS = 3_600
BACKGROUND_SECONDS = 24 * 3_600
LONGEST_COMMAND = 100_000
"""Bytes: Linux takes no longer argument than 131,072."""
MOST_TOGETHER = 16
"""Commands at once in one chat, its children's among them."""
MOST_IN_ALL = 128


@dataclass(frozen=True, slots=True)
class Limits:
    """Of one command; sizes in bytes."""

    processes: int = 256
    """Threads count."""
    memory: int = 2 << 30
    """Of all its processes together, with what lies below its /tmp and /dev/shm; and each may have
    no more data."""
    file: int = 1 << 30
    """Of a file that it writes."""
    temporary: int = 256 << 20
    """Of what it keeps below /tmp, and again below /dev/shm."""
    cache: int = 4 << 30
    """Of what a workspace's commands keep in its cache."""
    descriptors: int = 1_024
    """Of one process."""
    all_descriptors: int = 8_192
    """Of all its processes together: what pipes and sockets hold counts nowhere else."""
    signals: int = 4_096
    """That wait, timers among them."""
    output: int = 100_000_000
    """With more it is ended."""
    kept: int = 4_000_000
    """Of its output, from the beginning; of the rest only the end is."""
    free_memory: int = 256 << 20
    """Of the machine, and of what the gateway's own cgroup may have."""
    free_connections: int = 32 << 20
    """Of what the machine has for what TCP sends and receives."""
    free_processes: int = 64
    """Of those that the gateway's own cgroup may have."""
    free_disk: int = 512 << 20
    free_files: int = 20_000
    """With less left on the machine, commands are ended; files are counted."""
    grace: float = 2.0
    """Seconds between the request to end and the end."""


_PART = 10


def fitted(limits: Limits, folder: Path) -> tuple[Limits, bool]:
    """Limits for a command that works in a folder, and whether its disk is short now. What is to be
    left is at most a tenth of a disk. On a short one a command may remove files, but write none,
    and takes nothing of what is left (see process.Running). Blocks; OSError where there is no
    folder."""
    disk = os.statvfs(folder)
    size, free = disk.f_blocks * disk.f_frsize, disk.f_bavail * disk.f_frsize
    kept, files = min(limits.free_disk, size // _PART), limits.free_files
    if disk.f_files:
        files = min(files, disk.f_files // _PART)
    short_of_files = bool(disk.f_files) and disk.f_favail < files
    if not (free < kept or short_of_files):
        return replace(limits, free_disk=kept, free_files=files), False
    return replace(limits, file=0, free_disk=0, free_files=0), True
