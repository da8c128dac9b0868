"""In what bounds a repository is read: a process whose time and memory the system bounds, and which
gives up starting programs, using the network, writing files, and opening any file but by way of the
workspace.
"""

import json
import os
import resource
import sys
from dataclasses import dataclass

MEMORY = 700_000_000
"""Bytes that it may allocate."""
_ADDRESSES = 64_000_000_000
"""Bytes of address space: packs are mapped, not read."""
_POLITE = 10
_REFUSED = (
    *("subprocess.", "os.exec", "os.fork", "os.posix_spawn", "os.spawn", "os.system", "pty."),
    *("socket.", "ctypes.", "os.remove", "os.rename", "os.mkdir", "os.symlink", "os.link"),
)
"""Beginnings of the names of what Python tells of before it is done."""


@dataclass(frozen=True, slots=True)
class Query:
    root: str
    """Of the workspace."""
    what: str
    """"status", "diff" or "log"."""
    repository: str
    paths: tuple[str, ...] = ()
    """Files and folders of the repository; none: all."""
    base: str = ""
    to: str = ""
    """Revisions; "" where none is given."""
    staged: bool = False
    count: int = 10
    seconds: float = 10.0


def say(**what: object) -> None:
    """One line of the answer."""
    sys.stdout.write(json.dumps(what) + "\n")
    sys.stdout.flush()


def bind(query: Query) -> None:
    """Once all that it needs is imported. Cannot be taken back."""
    os.nice(_POLITE)
    seconds = max(1, round(query.seconds)) + 2
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 1))
    resource.setrlimit(resource.RLIMIT_DATA, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_AS, (_ADDRESSES, _ADDRESSES))
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    os.chdir("/")
    sys.addaudithook(_Refusing(query.root))


class _Refusing:
    """Against mistakes of ours and of libraries: Python refuses what is never wanted here."""

    def __init__(self, root: str) -> None:
        self._root = root
        self._allowed = tuple(f"{each}{os.sep}" for each in (root, sys.prefix, sys.base_prefix))

    def __call__(self, event: str, arguments: tuple[object, ...]) -> None:
        if event == "open":
            path, _, flags = arguments
            if isinstance(flags, int) and flags & (os.O_WRONLY | os.O_RDWR | os.O_CREAT):
                raise PermissionError(f"{event}: nothing is written here")
            text = os.fsdecode(path) if isinstance(path, str | bytes) else ""
            if (
                text.startswith(os.sep)
                and text != self._root
                and not text.startswith(self._allowed)
            ):
                raise PermissionError(f"{event}: outside the workspace")
        elif event.startswith(_REFUSED):
            raise PermissionError(f"{event}: nothing is run here")
