"""Control groups (cgroups, version 2): how much the gateway's own leaves, and one for each command.

The kernel counts in a group what no list of processes shows: memory that is only shared, files in
memory, buffers of pipes and sockets, tables of pages. A group for each command needs the gateway's
own group to be delegated to it, as `Delegate=` of systemd does. It then looks like this, where the
gateway has moved itself, since a group that limits others may hold no process:

    bough.service/gateway            the gateway
    bough.service/commands           all commands; less than the service, so that they end first
    bough.service/commands/812-3     one command

Blocks.
"""

import itertools
import logging
import os
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from agent.tools.terminal.sandbox.limits import Limits

GATEWAY, COMMANDS = "gateway", "commands"
UNLIMITED = 1 << 62
NEEDED = ("memory", "pids")
WEIGHT = 20
"""Of all commands together, where the gateway has 100: a fifth of its share of the processors."""
RESERVED_MEMORY = 512 << 20
RESERVED_PROCESSES = 256
"""What commands leave to the gateway of what both may have, but never more than a quarter of it."""
_SANDBOX_ITSELF = 16
"""Processes of bubblewrap, beside those of the command."""
_RECLAIMABLE = ("inactive_file", "active_file", "slab_reclaimable")
_PATIENCE = 5.0
"""Seconds for the kernel to end what is left in a group."""
_numbers = itertools.count(1)
log = logging.getLogger(__name__)


class NotDelegatedError(Exception):
    """There is no group for each command; the text says why."""


@cache
def own(about: Path = Path("/proc/self")) -> Path | None:
    """The folder of the group in which this process was first seen; None where there is none of
    version 2."""
    lines = (about / "cgroup").read_text(encoding="utf-8").splitlines()
    path = next((line[3:] for line in lines if line.startswith("0::")), None)
    for line in (about / "mountinfo").read_text(encoding="utf-8").splitlines():
        fields = line.split()
        if path is None or fields[fields.index("-") + 1] != "cgroup2":
            continue
        with suppress(ValueError):
            return Path(fields[4], Path(path).relative_to(fields[3]))
    return None


def _levels(group: Path | None) -> Iterator[Path]:
    """A group and those above it, as far as they are seen from here."""
    while group is not None and (group / "cgroup.procs").exists():
        yield group
        group = group.parent


def free_memory(group: Path | None) -> int:
    """Bytes until the nearest limit of a group and those above it, where processes are slowed down
    (memory.high) or ended (memory.max). What the kernel takes back by itself counts as free."""
    return min(map(_free_memory, _levels(group)), default=UNLIMITED)


def free_processes(group: Path | None) -> int:
    """How many more there may be; threads count."""
    room = (_number(g / "pids.max") - _number(g / "pids.current", 0) for g in _levels(group))
    return min(room, default=UNLIMITED)


def _free_memory(group: Path) -> int:
    limit = _memory_limit(group)
    if limit == UNLIMITED:
        return UNLIMITED
    stat = _table(group / "memory.stat")
    taken = _number(group / "memory.current", 0) - sum(stat.get(key, 0) for key in _RECLAIMABLE)
    return limit - taken


def _memory_limit(group: Path) -> int:
    return min(_number(group / "memory.max"), _number(group / "memory.high"))


@dataclass(frozen=True, slots=True)
class Group:
    """One command's."""

    path: Path

    def enter(self, process: int) -> None:
        """All that the process begins from now on is in it too. Raises OSError."""
        (self.path / "cgroup.procs").write_text(f"{process}", encoding="ascii")

    def out_of_memory(self) -> str:
        """Why the kernel ended all in it, "" where it did not."""
        events = _table(self.path / "memory.events")
        if not events.get("oom_kill", 0):
            return ""
        if not events.get("oom", 0):
            return "all commands together took more memory than there is for them"
        return f"it took more than {_number(self.path / 'memory.max') >> 20:,} MB of memory"

    def close(self) -> None:
        """End what is left in it, and remove it; what cannot end yet is left to the next start."""
        end = time.monotonic() + _PATIENCE
        with suppress(FileNotFoundError):
            (self.path / "cgroup.kill").write_text("1", encoding="ascii")
        while not _removed(self.path) and time.monotonic() < end:
            time.sleep(0.005)


@dataclass(frozen=True, slots=True)
class Delegated:
    """The gateway's own, shared out."""

    commands: Path

    def group(self, limits: Limits) -> Group:
        """A new one. Raises OSError."""
        path = self.commands / f"{os.getpid()}-{next(_numbers)}"
        path.mkdir()
        _set(path / "memory.max", limits.memory)
        with suppress(FileNotFoundError):  # the kernel may count no swap
            _set(path / "memory.swap.max", 0)
        _set(path / "memory.oom.group", 1)
        _set(path / "pids.max", limits.processes + _SANDBOX_ITSELF)
        return Group(path)


@cache
def delegated() -> Delegated | NotDelegatedError:
    """What this process has for its commands, looked at once. It moves into a group of its own."""
    try:
        found = take(own())
    except NotDelegatedError as error:
        log.info("commands have no cgroup: %s", error)
        return error
    except OSError as error:
        log.warning("commands have no cgroup: the gateway's could not be divided: %s", error)
        return NotDelegatedError(f"the gateway's cgroup could not be divided: {error.strerror}")
    log.info("each command has a cgroup below %s", found.commands)
    return found


def groups() -> Delegated | None:
    """The same, for who does not ask why there is none."""
    found = delegated()
    return found if isinstance(found, Delegated) else None


def take(group: Path | None) -> Delegated:
    """Share a group out, once or again. Raises NotDelegatedError, OSError."""
    if group is None:
        raise NotDelegatedError("this machine has no cgroup of version 2")
    top = group.parent if group.name == GATEWAY else group
    there = _words(top / "cgroup.controllers")
    _refuse_unless_ours(top, there)
    (top / GATEWAY).mkdir(exist_ok=True)
    _move(top, top / GATEWAY)
    wanted = " ".join(f"+{name}" for name in (*NEEDED, "cpu") if name in there)
    commands = top / COMMANDS
    commands.mkdir(exist_ok=True)
    for each in (top, commands):
        (each / "cgroup.subtree_control").write_text(wanted, encoding="ascii")
    _bound(commands, top)
    for left in commands.glob("*-*"):
        _removed(left)
    return Delegated(commands)


def _refuse_unless_ours(top: Path, there: list[str]) -> None:
    if missing := [name for name in NEEDED if name not in there]:
        raise NotDelegatedError(f"the gateway's cgroup has no {' and '.join(missing)} controller")
    files = (top, top / "cgroup.procs", top / "cgroup.subtree_control")
    if not all(os.access(file, os.W_OK) for file in files) or not _left_to_us(top):
        raise NotDelegatedError("the gateway's cgroup is not delegated to it")


def _left_to_us(top: Path) -> bool:
    """Whether who manages the groups keeps out of this one: writing is no proof, for root writes
    all, and a user those of a session, other programs' among them. All that is in a container is
    the gateway's; the machine's topmost has no limits."""
    if not (top.parent / "cgroup.procs").exists():
        return (top / "memory.max").exists()
    return any(name.endswith(".delegate") for name in os.listxattr(top))  # systemd 251


def _move(top: Path, into: Path) -> None:
    """All processes of a group: this one, what began it, what it began. One that comes meanwhile
    moves as well."""
    while left := _words(top / "cgroup.procs"):
        for process in left:
            with suppress(ProcessLookupError):
                (into / "cgroup.procs").write_text(process, encoding="ascii")


def _bound(commands: Path, top: Path) -> None:
    """All commands together: they reach their limits before the gateway, which shares ours."""
    levels = [*_levels(top)]
    memory = min((_memory_limit(level) for level in levels), default=UNLIMITED)
    memory = min(memory, os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
    _set(commands / "memory.max", memory - min(RESERVED_MEMORY, memory // 4))
    processes = min((_number(level / "pids.max") for level in levels), default=UNLIMITED)
    if processes != UNLIMITED:
        _set(commands / "pids.max", processes - min(RESERVED_PROCESSES, processes // 4))
    with suppress(FileNotFoundError):
        _set(commands / "cpu.weight", WEIGHT)


def _set(file: Path, value: int) -> None:
    # Not created: where it is missing, the kernel has no such thing.
    with file.open("r+", encoding="ascii") as opened:
        opened.write(str(value))


def _removed(group: Path) -> bool:
    try:
        group.rmdir()
    except FileNotFoundError:
        return True
    except OSError:
        return False
    return True


def _words(file: Path) -> list[str]:
    try:
        return file.read_text(encoding="ascii").split()
    except OSError:
        return []


def _number(file: Path, otherwise: int = UNLIMITED) -> int:
    """`otherwise` for "max" and for a file that is missing."""
    words = _words(file)
    return int(words[0]) if words and words[0].isdigit() else otherwise


def _table(file: Path) -> dict[str, int]:
    words = _words(file)
    return {key: int(value) for key, value in zip(words[::2], words[1::2], strict=False)}
