"""A program that runs one MCP server and ends it, with all that it started.

    python -I -S guardian.py LIFE COMMAND [ARGUMENT …]

LIFE is the descriptor of a pipe whose other end only the gateway has: it closes when the gateway
ends, however it ends. Standard library only; nothing of Bough is imported, so it starts in 20 ms.
"""

import contextlib
import ctypes
import os
import select
import signal
import sys
import time
from collections.abc import Iterator

GRACE = 2.0
"""Seconds between the request to end and the end by force."""
NOT_FOUND = 127
NOT_STARTED = 126
"""Exit statuses, as a shell has them."""
_SUBREAPER = 36
"""PR_SET_CHILD_SUBREAPER: what our descendants leave behind becomes ours."""
_DEATH_SIGNAL = 1
"""PR_SET_PDEATHSIG: for the case that we are killed ourselves."""
_NOT_OURS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
"""The end of the gateway is what ends us, and nothing else."""


def main(arguments: list[str]) -> int:
    """Exit status of the command; 128 and more where a signal ended it."""
    life = int(arguments[0])
    os.set_inheritable(life, False)
    _set_process(_SUBREAPER, 1)
    woken, wake = os.pipe()
    os.set_blocking(wake, False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    for number in _NOT_OURS:
        signal.signal(number, signal.SIG_IGN)
    signal.set_wakeup_fd(wake, warn_on_full_buffer=False)
    child = _start(arguments[1:])
    _let_go_of_pipes()
    status = _watch(child, life, woken)
    if status is None:
        _signal_group(child, signal.SIGTERM)
        status = _wait(child, GRACE)
    _end_all(child)
    return 128 + signal.SIGKILL if status is None else status


def _set_process(option: int, value: int) -> None:
    # Elsewhere than on Linux only the group of the command is ended.
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(option, value, 0, 0, 0)


def _start(command: list[str]) -> int:
    """The command as a process in a group of its own."""
    child = os.fork()
    if child:
        with contextlib.suppress(OSError):
            os.setpgid(child, child)
        return child
    try:
        os.setpgid(0, 0)
        signal.set_wakeup_fd(-1)
        for number in (signal.SIGPIPE, signal.SIGCHLD, *_NOT_OURS):
            signal.signal(number, signal.SIG_DFL)
        _set_process(_DEATH_SIGNAL, signal.SIGKILL)
        os.execvp(command[0], command)  # noqa: S606  (the operator's own command; no shell)
    except OSError as error:
        os.write(2, f"{command[0]}: {error.strerror}\n".encode("utf-8", "replace"))
        os._exit(NOT_FOUND if isinstance(error, FileNotFoundError) else NOT_STARTED)


def _let_go_of_pipes() -> None:
    """The server's pipes are its own: their ends are seen only when nobody else holds them."""
    nothing = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1, 2):
        os.dup2(nothing, descriptor)
    os.close(nothing)


def _watch(child: int, life: int, woken: int) -> int | None:
    """Status of the command once it ended; None where the gateway ended first."""
    while True:
        status = _reap(child)
        if status is not None:
            return status
        ready, _, _ = select.select([life, woken], [], [])
        if woken in ready:
            os.read(woken, 512)
        if life in ready:
            return None


def _wait(child: int, seconds: float) -> int | None:
    until = time.monotonic() + seconds
    while (status := _reap(child)) is None and time.monotonic() < until:
        time.sleep(0.01)
    return status


def _reap(child: int) -> int | None:
    """Take in every process that ended; the status of the command where it is among them."""
    found = None
    with contextlib.suppress(ChildProcessError):
        while True:
            process, status = os.waitpid(-1, os.WNOHANG)
            if process == 0:
                break
            if process == child:
                code = os.waitstatus_to_exitcode(status)
                found = code if code >= 0 else 128 - code
    return found


def _end_all(child: int) -> None:
    """Whatever is left of the group, and whatever left the group."""
    _signal_group(child, signal.SIGKILL)
    until = time.monotonic() + GRACE
    while (left := list(_children())) and time.monotonic() < until:
        for process in left:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(process, signal.SIGKILL)
        time.sleep(0.01)
        _reap(-1)


def _children() -> Iterator[int]:
    """Processes whose parent is this one; none where there is no /proc."""
    try:
        text = open(f"/proc/self/task/{os.getpid()}/children").read()  # noqa: SIM115, PTH123
    except OSError:
        return
    yield from (int(number) for number in text.split())


def _signal_group(group: int, number: int) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(group, number)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
