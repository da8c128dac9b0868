"""The system calls that a sandbox refuses, as a program for the kernel. Pure.

The namespaces of the sandbox do what it is for; this closes what they leave open: new namespaces,
with which a kernel's faults are reached, sockets that no network namespace holds (VSOCK), keyrings,
files that run as their owner, and keys pushed into a terminal. Besides, room on a disk that is
taken without being written: that fills a disk in one call, before anybody sees it.

And memory that no process seems to hold: files of memory without a name (memfd), and System V's
shared memory, queues and semaphores. Programs that are told that the kernel has no memfd take a
file in /dev/shm or /tmp, whose size is bounded. Of System V's, PostgreSQL wants a little, and gets
that.
"""

import struct
from collections.abc import Mapping
from dataclasses import dataclass

_LOAD, _EQUAL, _GREATER, _ANY_BIT, _RETURN, _AND = 0x20, 0x15, 0x25, 0x45, 0x06, 0x54
_ALLOW, _KILL, _ERROR = 0x7FFF0000, 0x80000000, 0x00050000
_EPERM, _EINVAL, _ENOSYS, _EOPNOTSUPP, _EAFNOSUPPORT = 1, 22, 38, 95, 97

_NAMESPACES = 0x7E020000
_SET_ID = 0o6000
_MAKES_A_FILE = 0o100 | 0o20000000  # O_CREAT, O_TMPFILE
_FAMILIES = (1, 2, 10, 16)  # UNIX, INET, INET6, NETLINK
_PUSHES_KEYS = (0x5412, 0x541C)  # TIOCSTI, TIOCLINUX
_TAKES_ROOM = (0x5828, 0x582A, 0x5839, 0x580A, 0x5824)
"""The lower halves of FS_IOC_RESVSP, RESVSP64 and ZERO_RANGE, which Linux takes on every file
system, and of XFS_IOC_ALLOCSP and ALLOCSP64: fallocate by another name. The upper half, the size of
their argument, differs between kinds of programs."""
_X32 = 0x40000000


@dataclass(frozen=True, slots=True)
class _Machine:
    audit: int
    calls: Mapping[str, int]
    """Numbers below 424; from there on they are the same everywhere."""


_X86_64 = _Machine(
    0xC000003E,
    {
        "open": 2,
        "ioctl": 16,
        "shmget": 29,
        "socket": 41,
        "clone": 56,
        "semget": 64,
        "msgget": 68,
        "creat": 85,
        "chmod": 90,
        "fchmod": 91,
        "syslog": 103,
        "mknod": 133,
        "pivot_root": 155,
        "acct": 163,
        "mount": 165,
        "umount2": 166,
        "swapon": 167,
        "swapoff": 168,
        "reboot": 169,
        "iopl": 172,
        "ioperm": 173,
        "init_module": 175,
        "delete_module": 176,
        "quotactl": 179,
        "kexec_load": 246,
        "add_key": 248,
        "request_key": 249,
        "keyctl": 250,
        "openat": 257,
        "mknodat": 259,
        "fchmodat": 268,
        "unshare": 272,
        "fallocate": 285,
        "perf_event_open": 298,
        "name_to_handle_at": 303,
        "open_by_handle_at": 304,
        "setns": 308,
        "finit_module": 313,
        "memfd_create": 319,
        "kexec_file_load": 320,
        "bpf": 321,
        "userfaultfd": 323,
    },
)
_AARCH64 = _Machine(
    0xC00000B7,
    {
        "ioctl": 29,
        "mknodat": 33,
        "umount2": 39,
        "mount": 40,
        "pivot_root": 41,
        "fallocate": 47,
        "fchmod": 52,
        "fchmodat": 53,
        "openat": 56,
        "quotactl": 60,
        "acct": 89,
        "unshare": 97,
        "kexec_load": 104,
        "init_module": 105,
        "delete_module": 106,
        "syslog": 116,
        "reboot": 142,
        "msgget": 186,
        "semget": 190,
        "shmget": 194,
        "socket": 198,
        "add_key": 217,
        "request_key": 218,
        "keyctl": 219,
        "clone": 220,
        "swapon": 224,
        "swapoff": 225,
        "perf_event_open": 241,
        "name_to_handle_at": 264,
        "open_by_handle_at": 265,
        "setns": 268,
        "finit_module": 273,
        "memfd_create": 279,
        "bpf": 280,
        "userfaultfd": 282,
        "kexec_file_load": 294,
    },
)
_MACHINES = {"x86_64": _X86_64, "aarch64": _AARCH64}
_NEWER = {
    "io_uring_setup": 425,
    "io_uring_enter": 426,
    "io_uring_register": 427,
    "open_tree": 428,
    "move_mount": 429,
    "fsopen": 430,
    "fsconfig": 431,
    "fsmount": 432,
    "fspick": 433,
    "clone3": 435,
    "openat2": 437,
    "mount_setattr": 442,
    "memfd_secret": 447,
    "fchmodat2": 452,
    "open_tree_attr": 467,
}
_UNKNOWN_HERE = (
    *("clone3", "openat2", "io_uring_setup", "io_uring_enter", "io_uring_register"),
    *("memfd_create", "memfd_secret", "msgget"),
)
"""Their arguments cannot be seen from here, or what they make cannot be counted. Who is told that
the kernel has none does it the old way."""
_MODES = {
    "chmod": 1,
    "creat": 1,
    "fchmod": 1,
    "fchmodat": 2,
    "fchmodat2": 2,
    "mknod": 1,
    "mknodat": 2,
}
"""Which argument is a file's mode."""
_OPENS = {"open": (1, 2), "openat": (2, 3)}
"""Which are the flags and the mode."""
_MOST = {"shmget": 65_536, "semget": 32}
"""Bytes, and semaphores, of one; there are at most 4,096 and 32,000 of them. Argument 1."""
_ALSO_SEEN = ("clone", "unshare", "ioctl", "socket", "fallocate")
_SEEN = {*_MODES, *_OPENS, *_MOST, *_ALSO_SEEN, *_UNKNOWN_HERE}
_OF_MEMORY = ("memfd_create", "memfd_secret", "msgget", "shmget", "semget", "fallocate")


def program(machine: str) -> bytes | None:
    """The filter for a machine as os.uname names it; None where there is none."""
    known = _MACHINES.get(machine)
    return _program(known, {**known.calls, **_NEWER}, _KILL) if known is not None else None


def of_memory(machine: str) -> bytes:
    """What a command is refused without a sandbox, where programs for another kind of processor may
    run; empty where there is no filter."""
    known = _MACHINES.get(machine)
    if known is None:
        return b""
    calls = {**known.calls, **_NEWER}
    return _program(known, {name: calls[name] for name in _OF_MEMORY}, _ALLOW)


def _program(known: _Machine, calls: Mapping[str, int], of_others: int) -> bytes:
    """`of_others`: what comes of calls that are made as another kind of processor makes them."""
    steps = [
        (_LOAD, 0, 0, 4),
        (_EQUAL, 1, 0, known.audit),
        (_RETURN, 0, 0, of_others),
        (_LOAD, 0, 0, 0),
    ]
    if known is _X86_64:
        steps += [(_ANY_BIT, 0, 1, _X32), (_RETURN, 0, 0, _ERROR | _ENOSYS)]
    for name, number in calls.items():
        steps += _case(number, _judged(name))
    steps.append((_RETURN, 0, 0, _ALLOW))
    return b"".join(struct.pack("<HBBI", *step) for step in steps)


Step = tuple[int, int, int, int]
"""Code, jumps where it holds and where not, operand."""


def _case(number: int, body: list[Step]) -> list[Step]:
    return [(_EQUAL, 0, len(body), number), *body]


def _judged(name: str) -> list[Step]:
    """What comes of a call of this name; always ends in a return."""
    if name in _UNKNOWN_HERE:
        return [(_RETURN, 0, 0, _ERROR | _ENOSYS)]
    if name not in _SEEN:
        return [(_RETURN, 0, 0, _ERROR | _EPERM)]
    if name in _MODES:
        return _unless_bits(_MODES[name], _SET_ID)
    if name in _OPENS:
        flags, mode = _OPENS[name]
        judged = _unless_bits(mode, _SET_ID)
        return [_argument(flags), (_ANY_BIT, 1, 0, _MAKES_A_FILE), _allowed(), *judged]
    if name == "fallocate":
        # As on a file system without it: programs and posix_fallocate write instead, which is seen.
        return [(_RETURN, 0, 0, _ERROR | _EOPNOTSUPP)]
    if name in _MOST:
        return _at_most(1, _MOST[name])
    if name == "ioctl":
        return _ioctl()
    if name == "socket":
        return _only(0, _FAMILIES)
    return _unless_bits(0, _NAMESPACES)


def _argument(index: int) -> Step:
    """The lower half: both machines put that first."""
    return (_LOAD, 0, 0, 16 + 8 * index)


def _allowed() -> Step:
    return (_RETURN, 0, 0, _ALLOW)


def _unless_bits(index: int, bits: int) -> list[Step]:
    return [
        _argument(index),
        (_ANY_BIT, 0, 1, bits),
        (_RETURN, 0, 0, _ERROR | _EPERM),
        _allowed(),
    ]


def _at_most(index: int, most: int) -> list[Step]:
    """Of both halves of an argument."""
    return [
        (_LOAD, 0, 0, 16 + 8 * index + 4),
        (_EQUAL, 0, 2, 0),
        _argument(index),
        (_GREATER, 0, 1, most),
        (_RETURN, 0, 0, _ERROR | _EINVAL),
        _allowed(),
    ]


def _ioctl() -> list[Step]:
    steps = [_argument(1)]
    for value in _PUSHES_KEYS:
        steps += [(_EQUAL, 0, 1, value), (_RETURN, 0, 0, _ERROR | _EPERM)]
    steps.append((_AND, 0, 0, 0xFFFF))
    for value in _TAKES_ROOM:
        steps += [(_EQUAL, 0, 1, value), (_RETURN, 0, 0, _ERROR | _EOPNOTSUPP)]
    return [*steps, _allowed()]


def _only(index: int, values: tuple[int, ...]) -> list[Step]:
    steps = [_argument(index)]
    for value in values:
        steps += [(_EQUAL, 0, 1, value), _allowed()]
    return [*steps, (_RETURN, 0, 0, _ERROR | _EAFNOSUPPORT)]
