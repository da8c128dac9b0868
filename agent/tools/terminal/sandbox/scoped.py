"""A program that starts another, which then reaches no abstract Unix socket but its own.

    python -I -S scoped.py COMMAND…

Where the network is the machine's, so are those sockets: an X server's and a session's bus among
them, by which a command would get out. Landlock (Linux 6.12) withholds them; without it, and where
COMMAND is a program that runs as its owner, which Landlock would not let it, COMMAND is started all
the same.
"""

import ctypes
import os
import stat
import struct
import sys
from pathlib import Path

_CREATE_RULESET, _RESTRICT_SELF = 444, 446
_ASK_VERSION = 1
_SCOPES_SINCE = 6
_ABSTRACT_UNIX_SOCKET = 1
_SET_NO_NEW_PRIVILEGES = 38


def can_scope(command: str) -> bool:
    """Whether it holds for a command. Blocks."""
    libc = ctypes.CDLL(None, use_errno=True)
    version = libc.syscall(_CREATE_RULESET, None, ctypes.c_size_t(0), _ASK_VERSION)
    return version >= _SCOPES_SINCE and not Path(command).stat().st_mode & stat.S_ISUID


def main() -> None:
    command = sys.argv[1:]
    if can_scope(command[0]):
        _scope()
    os.execv(command[0], command)  # noqa: S606 - that is what it is for


def _scope() -> None:
    """Raises OSError."""
    libc = ctypes.CDLL(None, use_errno=True)
    rules = struct.pack("=QQQ", 0, 0, _ABSTRACT_UNIX_SOCKET)  # files, network, scope
    ruleset = libc.syscall(_CREATE_RULESET, rules, ctypes.c_size_t(len(rules)), 0)
    libc.prctl(_SET_NO_NEW_PRIVILEGES, 1, 0, 0, 0)
    if ruleset < 0 or libc.syscall(_RESTRICT_SELF, ruleset, 0) != 0:
        raise OSError(ctypes.get_errno(), "Landlock")
    os.close(ruleset)


if __name__ == "__main__":
    main()
