"""The workspace as a command gets it: where it may not be, and whose it must be.

A gateway that runs as root gives no command root's rights, nor root's files: a command runs as the
owner of the workspace's folder, and where that is root the folder is given away first, to a user
that has no account. Blocks.
"""

import os
import re
import stat
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from agent.tools.files.workspace import WorkspaceError
from agent.tools.terminal.sandbox.shown import Shown, shown

NOBODY = 65_525
"""A user and group that Debian and systemd give to nobody."""
SYSTEM = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/etc")
"""What a sandbox shows of the machine, of the last one a part."""
_NOT_BELOW = (*SYSTEM, "/boot", "/dev", "/proc", "/run", "/sys")
_NOT_ITSELF = ("/", "/home", "/mnt", "/opt", "/root", "/srv", "/tmp", "/var")  # noqa: S108
_CROWDED = frozenset(
    {"/usr", "/usr/bin", "/usr/lib", "/usr/libexec", "/usr/local", "/usr/sbin", "/usr/share"}
    | {"/usr/local/bin", "/usr/local/lib", "/usr/local/sbin", "/usr/local/share"}
    | {"/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32"}
)
"""Folders that a sandbox cannot do without."""
MOST_FILES = 1_000_000
"""Of a folder that is given away."""


@dataclass(frozen=True, slots=True)
class Owner:
    user: int
    group: int


@dataclass(frozen=True, slots=True)
class Place:
    root: Path
    """Absolute, without links."""
    owner: Owner | None
    """As whom commands run, where the gateway is root; None: as the gateway itself."""
    masked: tuple[Path, ...]
    """Folders of the system with something of ours, which a sandbox shows empty."""
    shown: tuple[Shown, ...] = ()
    """What is shown besides, read only."""
    cache: Path | None = None
    """The folder in which commands keep what they fetched; None where there is none."""


def prepare(
    workspace: Path,
    ours: Iterable[Path],
    secret: Iterable[Path],
    read_only: Iterable[Path] = (),
    template: str = "",
) -> Place:
    """Make a workspace's folder where it is missing, and see to it that commands may run there.

    `ours`: files and folders of the gateway that must not be in it; `secret`: those that no command
    may read; `read_only`: what is to be shown besides; `template`: how all workspaces are named.
    Raises WorkspaceError that says what is in the way and what to do.
    """
    secret = tuple(secret)
    masked = refuse_unfit(workspace, ours, secret)
    this, any_ = workspaces(str(workspace.resolve())), workspaces(template or str(workspace))
    read = shown(read_only, secret, lambda path: this(path) or any_(path))
    try:
        workspace.mkdir(mode=0o700, parents=True, exist_ok=True)
        root = workspace.resolve(strict=True)
    except OSError as error:
        raise WorkspaceError(f"the workspace cannot be used: {error.strerror}") from error
    owner = _owned(root) if os.geteuid() == 0 else None
    return Place(root, owner, masked, read)


def workspaces(template: str) -> Callable[[Path], bool]:
    """Whether a path is in a workspace, is one or holds one, of a template with {session}."""
    path = Path(template).absolute()
    above = path
    while "{session}" in str(above):
        above = above.parent
    real = above.resolve()
    rest = [re.escape(part).replace(re.escape("{session}"), "[0-9]+") for part in path.parts]
    parts = [re.compile(part) for part in rest[len(above.parts) :]]

    def overlaps(found: Path) -> bool:
        if real.is_relative_to(found):
            return True
        if not found.is_relative_to(real):
            return False
        below = found.relative_to(real).parts
        return all(map(re.Pattern.fullmatch, parts, below))

    return overlaps


def refuse_unfit(workspace: Path, ours: Iterable[Path], secret: Iterable[Path]) -> tuple[Path, ...]:
    """What `prepare` refuses, without making anything; gives the folders that are to be masked."""
    root = workspace.resolve()
    _refuse_system(root)
    for path in ours:
        if path.resolve().is_relative_to(root):
            raise WorkspaceError(
                f"commands are not run, because the workspace {root} holds {path.name} of the "
                "gateway: whoever runs it should set [tools] workspace to a folder of its own"
            )
    return tuple(_masks(secret))


def _refuse_system(root: Path) -> None:
    below = next((name for name in _NOT_BELOW if root.is_relative_to(name)), None)
    if below is not None or str(root) in (*_NOT_ITSELF, str(Path.home().resolve())):
        raise WorkspaceError(
            f"commands are not run, because the workspace is {root}, a folder of the system: "
            "whoever runs the gateway should set [tools] workspace to a folder of its own"
        )


def _masks(secret: Iterable[Path]) -> Iterable[Path]:
    found = set()
    for path in secret:
        resolved = path.resolve()
        folder = resolved if resolved.is_dir() else resolved.parent
        if any(folder.is_relative_to(Path(name).resolve()) for name in SYSTEM if name != "/etc"):
            if str(folder) in _CROWDED:
                raise WorkspaceError(
                    f"commands are not run, because they could read {path.name} of the gateway in "
                    f"{folder}: whoever runs it should move it, below /etc or /var for example"
                )
            found.add(folder)
    return sorted(found)


def _owned(root: Path) -> Owner:
    """As whom to run; the folder is given away where it is root's. Its own owner changes last: so
    a giving that was cut short is begun again, and no command ever ran in it before."""
    folder = os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    try:
        found = os.fstat(folder)
        if found.st_uid != 0:
            return Owner(found.st_uid, found.st_gid or NOBODY)
        _give(folder, MOST_FILES)
        os.fchown(folder, NOBODY, NOBODY)
    except OSError as error:
        raise WorkspaceError(f"the workspace cannot be given away: {error.strerror}") from error
    finally:
        os.close(folder)
    return Owner(NOBODY, NOBODY)


def _give(folder: int, room: int) -> int:
    """Give all below a folder away, links themselves and not where they lead. A file with several
    names stays root's: one of them may be elsewhere. How many more there may be."""
    with os.scandir(folder) as items:
        names = [item.name for item in items]
    for name in names:
        room -= 1
        if room < 0:
            raise WorkspaceError(
                f"the workspace has more than {MOST_FILES:,} files of root; give it to another "
                "user first (chown -R)"
            )
        found = os.stat(name, dir_fd=folder, follow_symlinks=False)
        if stat.S_ISDIR(found.st_mode):
            inner = os.open(name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=folder)
            try:
                room = _give(inner, room)
                if os.fstat(inner).st_uid == 0:
                    os.fchown(inner, NOBODY, NOBODY)
            finally:
                os.close(inner)
        elif found.st_uid == 0 and found.st_nlink == 1:
            os.chown(name, NOBODY, NOBODY, dir_fd=folder, follow_symlinks=False)
    return room
