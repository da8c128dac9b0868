"""What of the host commands are shown besides the system: which paths never, and why. Blocks.

A mount that is read only does not stop a command from reading, nor from connecting to a Unix socket
in it. So a path is looked through before it is shown: at load, and again at each command's start.
Whoever may write the folders above a path on the host could still exchange it after that look; a
command cannot, because no path in a workspace is shown.
"""

import os
import pwd
import stat
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from agent.tools.files.workspace import Missing, WorkspaceError

_WRITABLE = ("/dev", "/proc", "/tmp", "/var/cache/agent", "/var/tmp")  # noqa: S108
"""By /proc/self/cwd and /dev/fd a command reaches its workspace, too."""
MOST_SHOWN = 300_000
"""Files and folders below one path: each start of a command looks at all of them."""
_NEVER_BELOW = {
    "/boot": "a folder of the system",
    "/dev": "devices",
    "/etc": "configuration and keys of the machine",
    "/proc": "processes of the machine",
    "/run": "sockets and secrets of services",
    "/sys": "devices of the machine",
    "/var/backups": "backups of the machine",
    "/var/cache/agent": "where commands find their cache",
    "/var/lib/containerd": "data of containers",
    "/var/lib/docker": "data of containers",
    "/var/lib/mysql": "a database",
    "/var/lib/postgresql": "a database",
    "/var/log": "logs",
    "/var/mail": "mail",
    "/var/spool": "mail and tasks of the machine",
}
_NEVER_ITSELF = (
    *("/", "/bin", "/home", "/lib", "/lib64", "/media", "/mnt", "/opt", "/root", "/sbin", "/srv"),
    *("/tmp", "/usr", "/var", "/var/cache", "/var/lib", "/var/tmp"),  # noqa: S108
)
CREDENTIALS = frozenset(
    {".ssh", ".gnupg", ".aws", ".azure", ".kube", ".docker", ".netrc", "_netrc", ".pgpass"}
    | {".my.cnf", ".git-credentials", ".password-store", ".vault-token", ".s3cfg", ".boto"}
    | {".pypirc", ".terraform.d", ".oci", "id_rsa", "id_dsa", "id_ecdsa", "id_ed25519"}
    | {"credentials.toml", "secrets.env", "application_default_credentials.json"}
    | {"access_tokens.db", "login.keyring"}
)
"""Names of files and folders in which programs keep keys; whatever holds one is not shown."""
_NAMED = CREDENTIALS | {".config", ".env", ".npmrc", "keyrings", ".mozilla", ".thunderbird"}
"""Those, and names that mean nothing bad deep in a folder of programs, but are never named."""
CACHE = ".bough-cache"
"""How the folder ends that keeps a workspace's cache; see agent.tools.terminal.sandbox.cache."""
_LOOK_AGAIN = 60.0
"""Seconds in which what a folder holds is not looked at again, unless it is exchanged as a whole:
a toolchain has tens of thousands of files."""
_looked: dict[tuple[object, ...], float] = {}
"""When a folder was last found to hold nothing bad; in any thread."""
_PEOPLE = range(1_000, 65_000)
"""Numbers of users that are people, besides root."""
_BESIDE_A_DATABASE = ("-journal", "-shm", "-wal")


@dataclass(frozen=True, slots=True)
class Shown:
    path: Path
    """As it was named: absolute."""
    real: Path
    """With its links followed: what is mounted."""


def shown(
    paths: Iterable[Path], secret: Iterable[Path], workspaces: Callable[[Path], bool]
) -> tuple[Shown, ...]:
    """Look at what is to be shown. `secret`: files and folders of the gateway; `workspaces`:
    whether a path, links followed, is in a workspace or above one. Raises WorkspaceError with the
    reason, Missing where there is nothing."""
    secret = [path.resolve() for path in secret]
    found = []
    for path in paths:
        try:
            real = path.resolve(strict=True)
            _refuse(path, real, secret, workspaces)
        except FileNotFoundError:
            raise Missing(f"read_only: there is nothing at {path}") from None
        except (OSError, RuntimeError) as error:
            why = getattr(error, "strerror", None) or "its links lead in a circle"
            raise WorkspaceError(f"read_only: {path} cannot be looked at: {why}") from error
        found.append(Shown(path, real))
    return tuple(found)


def outermost(found: Iterable[Shown]) -> list[Path]:
    """What is to be mounted: nothing twice."""
    reals = {each.real for each in found}
    return sorted(real for real in reals if not any(above in reals for above in real.parents))


def _refuse(path: Path, real: Path, secret: list[Path], workspaces: Callable[[Path], bool]) -> None:
    whys = (
        *(_place(place) for place in dict.fromkeys((path, real))),
        _secret(real, secret),
        "is in a workspace, or holds one: commands could change it" if workspaces(real) else "",
        next((_led(link) for link in _links(path) if workspaces(link) or _is_cache(link)), ""),
    )
    why = next(filter(None, whys), "") or _contents(real, _identities(secret))
    if why:
        named = str(path) if path == real else f"{path} (which is {real})"
        raise WorkspaceError(
            f"read_only: {named} is never shown to commands: it {why}. Name the toolchain's own "
            "folder, such as /root/.pyenv/versions/3.11.7"
        )


def _led(link: Path) -> str:
    return f"is reached by the link {link} in a workspace, which commands could set anew"


def is_writable(path: Path) -> bool:
    """Whether every command may write there, besides its workspace."""
    return _is_cache(path) or any(path.is_relative_to(name) for name in _WRITABLE)


def _is_cache(path: Path) -> bool:
    return any(part.endswith(CACHE) for part in path.parts)


def _links(path: Path) -> Iterator[Path]:
    """Every link on the way, each with the links above it followed. The path leads somewhere."""
    left, here = [*reversed(path.parts[1:])], Path("/")
    while left:
        part = left.pop()
        here = here.parent if part == ".." else here / part
        if here.is_symlink():
            yield here
            to = here.readlink()
            left += reversed(to.parts[1:] if to.is_absolute() else to.parts)
            here = Path("/") if to.is_absolute() else here.parent


def _place(path: Path) -> str:
    for name, what in _NEVER_BELOW.items():
        if path.is_relative_to(name) or Path(name).is_relative_to(path):
            return f"is, or holds, {name}: {what}"
    if str(path) in _NEVER_ITSELF:
        return "is a folder of the system"
    if path.parent == Path("/home"):
        return "is a whole home"
    for home in _homes():
        if home.is_relative_to(path):
            return f"is, or holds, the home {home}"
    part = next((part for part in path.parts if part in _NAMED or part.endswith(CACHE)), "")
    return f"is, or is in, {part}, where keys or private data are kept" if part else ""


def _homes() -> Iterator[Path]:
    yield Path.home()
    for user in pwd.getpwall():
        if user.pw_uid == 0 or user.pw_uid in _PEOPLE:
            yield Path(user.pw_dir)


def _secret(real: Path, secret: list[Path]) -> str:
    for path in secret:
        folder = path if path.is_dir() else path.parent
        if folder.is_relative_to(real):
            return f"holds {path} of the gateway"
        if real.is_relative_to(folder):
            first = real.relative_to(folder).parts[0]
            if first.startswith(path.name) or (real.parent == folder and not real.is_dir()):
                return f"is beside {path} of the gateway"
    for log in _logs():
        if log.is_relative_to(real):
            return f"is, or holds, the gateway's log {log}"
    return ""


def _logs() -> Iterator[Path]:
    """Files that the gateway's own output goes to."""
    for number in (1, 2):
        with suppress(OSError):
            if stat.S_ISREG(os.fstat(number).st_mode):
                yield Path(f"/proc/self/fd/{number}").readlink()


Identity = tuple[int, int]
"""Inode and device of a file: the same under each of its names."""


def _identities(secret: list[Path]) -> set[Identity]:
    found = set()
    for path in secret:
        for name in (path.name, *(f"{path.name}{end}" for end in _BESIDE_A_DATABASE)):
            with suppress(OSError):
                known = path.with_name(name).stat()
                found.add((known.st_ino, known.st_dev))
    return found


def _contents(top: Path, ours: set[Identity]) -> str:
    """Why a file or a folder is not to be shown for what it holds, "" where it may be."""
    mode = top.stat()
    if not stat.S_ISDIR(mode.st_mode):
        return _file(top.name, mode, ours)
    key = (top, mode.st_ino, mode.st_dev, mode.st_ctime_ns, frozenset(ours))
    if time.monotonic() - _looked.get(key, -_LOOK_AGAIN) < _LOOK_AGAIN:
        return ""
    why = _below(top, ours)
    if not why:
        _looked[key] = time.monotonic()
    return why


def _below(top: Path, ours: set[Identity]) -> str:
    inodes = {inode for inode, _ in ours}
    count, folders = 0, [str(top)]
    while folders:
        folder = folders.pop()
        try:
            items = os.scandir(folder)
        except PermissionError:
            if os.access(folder, os.X_OK):
                return f"holds {folder}, which cannot be looked through"
            continue  # nor can a command, which has no more rights than we have
        with items:
            for item in items:
                count += 1
                if count > MOST_SHOWN:
                    return f"has more than {MOST_SHOWN:,} files"
                if item.name in CREDENTIALS:
                    return f"holds {item.path}, where keys are kept"
                if item.is_symlink():
                    continue  # in the sandbox it leads only to what is shown there
                if item.is_dir(follow_symlinks=False):
                    folders.append(item.path)
                elif item.inode() in inodes or not item.is_file(follow_symlinks=False):
                    why = _file(item.path, item.stat(follow_symlinks=False), ours)
                    if why:
                        return why
    return ""


def _file(name: str, found: os.stat_result, ours: set[Identity]) -> str:
    if stat.S_ISSOCK(found.st_mode):
        return f"is, or holds, the socket {name}, to which a command could speak"
    if not stat.S_ISREG(found.st_mode):
        return f"is, or holds, {name}, which is neither a file nor a folder"
    if (found.st_ino, found.st_dev) in ours:
        return f"is, or holds, {name}, which is a file of the gateway under another name"
    return ""
