"""A program that runs a command without a sandbox, and sees to it that all of it ends.

    python -I -S supervisor.py INFO PARENT USER GROUP GIVEN FILTER COMMAND…

USER and GROUP are numbers, or - for those it has. On descriptor GIVEN it reads, in JSON, the
command's "environment", and what that user is to reach also below a folder that is root's alone:
"writable" folders, the workspace among them, and what is only "shown". FILTER has a program of
seccomp, or nothing. The command is the first that the kernel ends where memory runs out, and where
the supervisor has CAP_SYS_RESOURCE, the command cannot change that. What the command leaves behind
becomes the supervisor's child (a subreaper), so that nothing gets away by making itself a daemon.
All of it ends when the command
does, at SIGTERM, and when the process PARENT dies, which runs it. It says on descriptor INFO, in
JSON, that it is ready.
"""

import contextlib
import ctypes
import json
import os
import signal
import stat
import sys
import time
from pathlib import Path
from types import FrameType
from typing import Any, NoReturn

_SET_PARENT_DEATH_SIGNAL, _SET_SUBREAPER, _SET_NO_NEW_PRIVILEGES = 1, 36, 38
GRACE = 2.0
"""Seconds between SIGTERM and SIGKILL."""
_PATIENCE = 10.0
_FIRST_TO_END = "1000"
_SET_SECCOMP, _FILTER = 22, 2
_NEW_MOUNTS, _NEW_IPC = 0x20000, 0x8000000
_READ_ONLY, _NO_SETUID, _NO_DEVICES, _REMOUNT = 1, 2, 4, 0x20
_BIND, _WITH_ALL_BELOW, _PRIVATE = 0x1000, 0x4000, 0x40000
_READ_ONLY_AGAIN = _REMOUNT | _BIND | _READ_ONLY | _NO_SETUID | _NO_DEVICES


class _Stop(BaseException):
    pass


class _Program(ctypes.Structure):
    """A struct sock_fprog; a step has 8 bytes."""

    _fields_ = (("length", ctypes.c_ushort), ("steps", ctypes.c_char_p))


def main() -> int:
    info, parent, user, group, given_at, filter_, *command = sys.argv[1:]
    given = json.loads(_read(int(given_at)))
    program = _read(int(filter_))
    libc = ctypes.CDLL(None, use_errno=True)
    libc.prctl(_SET_SUBREAPER, 1, 0, 0, 0)
    libc.prctl(_SET_NO_NEW_PRIVILEGES, 1, 0, 0, 0)
    signal.signal(signal.SIGTERM, _stop)
    libc.prctl(_SET_PARENT_DEATH_SIGNAL, signal.SIGTERM, 0, 0, 0)
    if os.getppid() != int(parent):
        return 125  # it died before it could be told
    try:
        child = os.fork()
        if child == 0:
            os.close(int(info))
            _become(libc, user, group, given, program)
            _run(command, given["environment"])
        os.write(int(info), json.dumps({"child-pid": os.getpid()}).encode())
        os.close(int(info))
        return _wait(child)
    except _Stop:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        _send(signal.SIGTERM)
        _reap(GRACE)
        return 128 + signal.SIGTERM
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        _end_all()


def _stop(_: int, __: FrameType | None) -> None:
    raise _Stop


def _read(descriptor: int) -> bytes:
    """All of it, from its beginning."""
    with open(descriptor, "rb", buffering=0) as file:
        file.seek(0)
        return file.read()


def _become(libc: ctypes.CDLL, user: str, group: str, given: Any, program: bytes) -> None:
    """Give up what the command is not to have. Where that cannot be, the process ends."""
    try:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        Path("/proc/self/oom_score_adj").write_text(_FIRST_TO_END, encoding="ascii")
        if user != "-":
            # What it makes of System V's would outlive it. Root in a container may not do this.
            libc.unshare(_NEW_IPC)
            _open_ways(libc, given["writable"], given["shown"], int(user), int(group))
            os.setgroups([])
            os.setresgid(int(group), int(group), int(group))
            os.setresuid(int(user), int(user), int(user))
        if program:
            filter_ = ctypes.byref(_Program(len(program) // 8, program))
            _checked(libc.prctl(_SET_SECCOMP, _FILTER, filter_, 0, 0))
    except OSError as error:
        os.write(2, f"{error.strerror}\n".encode())
        os._exit(125)


def _run(command: list[str], environment: dict[str, str]) -> NoReturn:
    try:
        os.execve(command[0], command, environment)  # noqa: S606
    except OSError as error:
        os.write(2, f"{error.strerror}\n".encode())
    finally:
        os._exit(125)


def _open_ways(
    libc: ctypes.CDLL, writable: list[str], shown: list[str], user: int, group: int
) -> None:
    """Where a folder above one of these lets the user not pass: show this process, and nobody
    else, that folder with nothing in it but the ways to them. OSError where that may not be
    done."""
    closed = {}
    for path in map(Path, (*writable, *shown)):
        above = (each for each in reversed(path.parents) if not _may_pass(each, user, group))
        if (folder := next(above, None)) is not None:
            closed[path] = folder
    if not closed:
        return
    try:
        _checked(libc.unshare(_NEW_MOUNTS))
        _mount(libc, "none", "/", "", _PRIVATE | _WITH_ALL_BELOW)
        sources = {path: os.open(path, os.O_PATH | os.O_NOFOLLOW) for path in closed}
        for folder in dict.fromkeys(closed.values()):
            options = "mode=711,size=1m"
            _mount(libc, "tmpfs", str(folder), "tmpfs", _NO_SETUID | _NO_DEVICES, options)
        os.umask(0o066)
        for path, source in sources.items():
            _bind(libc, source, path, read_only=str(path) in shown)
    except OSError as error:
        raise OSError(
            error.errno,
            f"user {user}, as whom commands run, may not pass "
            f"{', '.join(dict.fromkeys(map(str, closed.values())))}: let it, or set [tools] "
            "workspace and read_only to folders elsewhere",
        ) from error


def _bind(libc: ctypes.CDLL, source: int, path: Path, *, read_only: bool) -> None:
    """Show what is open as `source` at a path, and close it."""
    found = f"/proc/self/fd/{source}"
    if stat.S_ISDIR(os.fstat(source).st_mode):
        path.mkdir(parents=True, exist_ok=True)
    else:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    _mount(libc, found, str(path), "", _BIND | _WITH_ALL_BELOW)
    if read_only:
        _mount(libc, "none", str(path), "", _READ_ONLY_AGAIN)
    os.close(source)


def _may_pass(folder: Path, user: int, group: int) -> bool:
    found = folder.stat()
    shift = 6 if found.st_uid == user else 3 if found.st_gid == group else 0
    return bool(found.st_mode >> shift & 1)


def _mount(
    libc: ctypes.CDLL, source: str, target: str, kind: str, flags: int, options: str = ""
) -> None:
    texts = [os.fsencode(text) or None for text in (source, target, kind, options)]
    _checked(libc.mount(*texts[:3], ctypes.c_ulong(flags), texts[3]))


def _checked(result: int) -> None:
    if result != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))


def _wait(child: int) -> int:
    """The exit status of the command itself; what else ends is reaped meanwhile."""
    while True:
        process, status = os.wait()
        if process == child:
            code = os.waitstatus_to_exitcode(status)
            return code if code >= 0 else 128 - code


def _children(process: int) -> list[int]:
    try:
        told = Path(f"/proc/{process}/task/{process}/children").read_text(encoding="ascii")
    except OSError:
        return []
    return [int(child) for child in told.split()]


def _send(number: int) -> bool:
    """Signal all below; False where there is nobody."""
    found, new = [], _children(os.getpid())
    while new:
        found += new
        new = [child for process in new for child in _children(process)]
    for process in found:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.kill(process, number)
    return bool(found)


def _reap(seconds: float) -> None:
    """Take in what has ended, until nothing is left or the time is over."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        try:
            process, _ = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return
        if process == 0:
            time.sleep(0.01)


def _end_all() -> None:
    end = time.monotonic() + _PATIENCE
    while _send(signal.SIGKILL) and time.monotonic() < end:
        _reap(0.02)


if __name__ == "__main__":
    sys.exit(main())
