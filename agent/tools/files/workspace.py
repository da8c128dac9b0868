"""A folder that nothing gets out of.

Paths come from a model, and other programs may change the folder while it is used. So each path is
opened one component at a time, from the descriptor of the folder before it, and no link is ever
followed: neither `..` nor a link, not even one that is put there during the call, leads out. What
is neither a file nor a folder (pipes, devices, sockets) is refused and never waited for.
Everything here blocks; callers on an event loop use a thread.
"""

import errno
import os
import re
import secrets
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from enum import StrEnum
from io import BufferedReader
from pathlib import Path

from agent.errors import AgentError
from agent.tools.files.locking import locked

DEPTH_LIMIT = 64
"""Components of a path, and levels of folders that are walked."""
READ_LIMIT = 20_000_000
"""Bytes of the largest file that is read whole."""

_FOLDER = os.O_RDONLY | os.O_DIRECTORY
# O_NONBLOCK: opening a pipe, where one is put in the place of a file, must not wait for its writer.
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW
_UNSHOWABLE = re.compile("[\0-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")
_NAMED_LIMIT = 300
_NO_LINKS = "a part of the path is a link or not a folder; links are not followed"
_REASONS = {
    errno.ELOOP: _NO_LINKS,
    errno.EMLINK: _NO_LINKS,  # what some BSDs say for a link
    errno.ENOTDIR: _NO_LINKS,
    errno.ENAMETOOLONG: "a name in it is too long",
    errno.EACCES: "permission denied",
    errno.EPERM: "permission denied",
}


class WorkspaceError(AgentError):
    """It cannot be done. The text names the path and the reason, for whoever asked."""


class Missing(WorkspaceError):
    """There is nothing at the path."""


class Busy(WorkspaceError):
    """Another changes a file of the folder just now."""


class FileType(StrEnum):
    FILE = "file"
    FOLDER = "folder"
    LINK = "link"
    SPECIAL = "special"
    CLOSED = "closed"
    """A folder that cannot be opened."""


@dataclass(frozen=True, slots=True)
class FileState:
    """Equal states of a path at two times: its content is, as far as can be told, the same.

    A change in place within one tick of the file system's clock that keeps the size is not seen.
    """

    size: int
    """Bytes."""
    mtime_ns: int
    inode: int


@dataclass(frozen=True, slots=True)
class Content:
    data: bytes
    state: FileState
    """From before the reading: a change meanwhile makes it differ from what is found later."""


@dataclass(frozen=True, slots=True)
class Item:
    path: str
    """Relative to the workspace, as `read` takes it. Bytes that are not UTF-8 stand in it as
    surrogates (os.fsdecode); `shown` makes it readable."""
    type: FileType
    state: FileState


class Workspace:
    """The folder `root`, made (0700) by the first write; until then it is empty. Its paths are
    relative; an absolute one that leads into it is taken too."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def relative(self, path: str) -> str:
        """An absolute path that begins with the folder, as it is named or with its links followed,
        from there on. Every other path stays as it is: whether it leads out is seen when it is
        opened, and no link below the folder is followed for it."""
        if not path.startswith("/"):
            return path
        given = path.split("/")
        for root in (str(self.root.absolute()), str(self.root.resolve())):
            parts = root.rstrip("/").split("/")
            if given[: len(parts)] == parts:
                return "/".join(given[len(parts) :]).lstrip("/") or "."
        return path

    def file_path(self, path: str) -> str:
        """A file's path in its one normal form. Raises WorkspaceError where it can name no file."""
        return file_path(self.relative(path))

    def read(self, path: str, most: int = READ_LIMIT) -> Content:
        """A file of at most so many bytes, whole. Raises WorkspaceError, Missing among them."""
        with self.open(path) as file:
            state = _state(os.fstat(file.fileno()))
            data = b"" if state.size > most else file.read(most + 1)
        if max(state.size, len(data)) > most:
            raise WorkspaceError(
                f"{_named(path)}: the file has {state.size:,} bytes; at most {most:,} can be read"
            )
        return Content(data, state)

    @contextmanager
    def open(self, path: str) -> Iterator[BufferedReader]:
        """A file, for reading. Raises WorkspaceError, Missing among them, while it is read too."""
        *folders, name = _file_parts(self.relative(path))
        with _faults(path):
            with self._folder(tuple(folders)) as folder:
                _refuse_unless_file(path, os.stat(name, dir_fd=folder, follow_symlinks=False))
                stream = os.fdopen(os.open(name, _FILE, dir_fd=folder), "rb")
            with stream:
                # It may have been replaced between the look and the opening.
                _refuse_unless_file(path, os.fstat(stream.fileno()))
                yield stream

    def write(self, path: str, data: bytes) -> None:
        """Make or replace a file, and the folders above it: at any time, after a crash too, the
        path has the old content or the new, whole. Raises WorkspaceError."""
        *folders, name = _file_parts(self.relative(path))
        with _faults(path), self._folder(tuple(folders), make=True) as folder:
            _replace(folder, name, data, _mode_to_keep(path, folder, name))

    def change(self, path: str, changed: Callable[[bytes], bytes], most: int) -> None:
        """Replace a file of at most `most` bytes by what a function makes of its content, as
        `write` does. One at a time changes the files of a folder. Raises Busy where another does;
        WorkspaceError, also where somebody else changed it meanwhile; and what `changed` raises."""
        *folders, name = _file_parts(self.relative(path))
        with _faults(path), self._folder(tuple(folders)) as folder, locked(folder):
            mode = _mode_to_keep(path, folder, name)
            before = self.read(path, most)
            data = changed(before.data)
            now = os.stat(name, dir_fd=folder, follow_symlinks=False)
            if _state(now) != before.state:
                raise WorkspaceError(f"{_named(path)}: it was changed meanwhile; read it again")
            _replace(folder, name, data, mode)

    def remove(self, path: str) -> None:
        """Remove a file. Raises WorkspaceError, Missing among them."""
        *folders, name = _file_parts(self.relative(path))
        with _faults(path), self._folder(tuple(folders)) as folder:
            os.unlink(name, dir_fd=folder)

    def link_text(self, path: str) -> bytes:
        """Where a link says that it leads; that is not looked at. Raises WorkspaceError."""
        *folders, name = _file_parts(self.relative(path))
        with _faults(path), self._folder(tuple(folders)) as folder:
            return os.fsencode(os.readlink(name, dir_fd=folder))

    def stat(self, path: str) -> Item:
        """What is at a path; a link is not followed. Raises WorkspaceError, Missing among them."""
        parts = path_parts(self.relative(path))
        with _faults(path), self._folder(parts[:-1]) as folder:
            if not parts:
                return _item(parts, os.fstat(folder))
            return _item(parts, os.stat(parts[-1], dir_fd=folder, follow_symlinks=False))

    def link(self, path: str) -> str:
        """Where a link leads, as it is written there. Raises WorkspaceError where it is none."""
        *folders, name = _file_parts(self.relative(path))
        with _faults(path), self._folder(tuple(folders)) as folder:
            return os.readlink(name, dir_fd=folder)

    def walk(self, path: str = ".", depth: int = DEPTH_LIMIT) -> Iterator[Item]:
        """What is under a folder, level by level, `depth` levels, each folder's by name.

        A folder below that cannot be opened follows a second time, as CLOSED; what vanishes
        meanwhile is left out. Raises WorkspaceError for `path` itself.
        """
        start = path_parts(self.relative(path))
        level = [start]
        for _ in range(depth):
            below: list[tuple[str, ...]] = []
            for parts in level:
                items = self._items_below(parts) if parts != start else self._first_items(start)
                for item in items:
                    yield item
                    if item.type is FileType.FOLDER:
                        below.append(tuple(item.path.split("/")))
            level = below

    def _first_items(self, parts: tuple[str, ...]) -> Iterator[Item]:
        try:
            yield from self._items(parts)
        except Missing:
            if parts:
                raise

    def _items_below(self, parts: tuple[str, ...]) -> Iterator[Item]:
        try:
            yield from self._items(parts)
        except Missing:
            return
        except WorkspaceError:
            yield Item("/".join(parts), FileType.CLOSED, FileState(0, 0, 0))

    def _items(self, parts: tuple[str, ...]) -> Iterator[Item]:
        """Looked at one by one: of a million files, as many as somebody wants to see."""
        with _faults("/".join(parts) or "."), self._folder(parts) as folder:
            with os.scandir(folder) as entries:
                names = sorted(entry.name for entry in entries)
            for name in names:
                with suppress(FileNotFoundError):
                    found = os.stat(name, dir_fd=folder, follow_symlinks=False)
                    yield _item((*parts, name), found)

    @contextmanager
    def _folder(self, parts: tuple[str, ...], *, make: bool = False) -> Iterator[int]:
        """The descriptor of a folder, which is open for as long as the context is."""
        folder = self._open_root(make)
        try:
            for name in parts:
                made = make and _made(name, folder)
                inner = os.open(name, _FOLDER | os.O_NOFOLLOW, dir_fd=folder)
                folder, outer = inner, folder
                try:
                    if made:
                        _give_to_owner(outer, inner)
                finally:
                    os.close(outer)
            yield folder
        finally:
            os.close(folder)

    def _open_root(self, make: bool) -> int:
        """The root may be a link: it is the operator's choice, not a model's."""
        try:
            if make:
                self.root.mkdir(mode=0o700, parents=True, exist_ok=True)
            return os.open(self.root, _FOLDER)
        except FileNotFoundError:
            raise
        except OSError as error:
            raise WorkspaceError(f"the workspace cannot be opened: {error.strerror}") from error


def path_parts(path: str) -> tuple[str, ...]:
    """The components of a path in a workspace; none for the workspace itself.

    Raises WorkspaceError for what can only be a mistake or an attack: absolute paths, `..`, NUL,
    text that is no name, more than DEPTH_LIMIT components.
    """
    parts = tuple(part for part in path.split("/") if part not in ("", "."))
    if path.startswith("/"):
        raise WorkspaceError(f"{_named(path)}: give the path relative to the workspace")
    if ".." in parts:
        raise WorkspaceError(f"{_named(path)}: '..' is not allowed; nothing is above the workspace")
    if len(parts) > DEPTH_LIMIT:
        raise WorkspaceError(f"{_named(path)}: more than {DEPTH_LIMIT} folders deep")
    if "\0" in path or not _encodable(path):
        raise WorkspaceError(f"{_named(path)}: no file can have this name")
    return parts


def file_path(path: str) -> str:
    """A file's path in its one normal form. Raises WorkspaceError where it can name no file."""
    return "/".join(_file_parts(path))


def shown(path: str) -> str:
    """A path on one line that every encoder takes: control characters and bytes that are not
    UTF-8 are escaped."""
    return _UNSHOWABLE.sub(lambda found: found[0].encode("unicode_escape").decode(), path)


def _named(path: str) -> str:
    """A path in a message."""
    text = shown(path) or "the empty path"
    return text if len(text) <= _NAMED_LIMIT else f"{text[: _NAMED_LIMIT - 1]}…"


def _file_parts(path: str) -> tuple[str, ...]:
    parts = path_parts(path)
    if path.rsplit("/", 1)[-1] in ("", "."):
        raise WorkspaceError(f"{_named(path)}: names a folder, not a file")
    return parts


def _encodable(path: str) -> bool:
    try:
        os.fsencode(path)
    except UnicodeEncodeError:
        return False
    return True


@contextmanager
def _faults(path: str) -> Iterator[None]:
    """The system's errors as this module's."""
    try:
        yield
    except FileNotFoundError:
        raise Missing(f"{_named(path)}: there is no such file or folder") from None
    except BlockingIOError:
        raise Busy(f"{_named(path)}: another program holds the lock of its folder") from None
    except OSError as error:
        reason = _REASONS.get(error.errno or 0) or error.strerror
        raise WorkspaceError(f"{_named(path)}: {reason}") from error


def _item(parts: tuple[str, ...], found: os.stat_result) -> Item:
    return Item("/".join(parts) or ".", _type(found), _state(found))


def _type(found: os.stat_result) -> FileType:
    match stat.S_IFMT(found.st_mode):
        case stat.S_IFREG:
            return FileType.FILE
        case stat.S_IFDIR:
            return FileType.FOLDER
        case stat.S_IFLNK:
            return FileType.LINK
        case _:
            return FileType.SPECIAL


def _state(found: os.stat_result) -> FileState:
    return FileState(found.st_size, found.st_mtime_ns, found.st_ino)


def _refuse_unless_file(path: str, found: os.stat_result) -> None:
    match _type(found):
        case FileType.FILE:
            return
        case FileType.FOLDER:
            reason = "is a folder, not a file"
        case FileType.LINK:
            reason = "is a link; links are not followed"
        case _:
            reason = "is a special file (a pipe, a device or a socket)"
    raise WorkspaceError(f"{_named(path)}: {reason}")


def _mode_to_keep(path: str, folder: int, name: str) -> int | None:
    """The permission bits of the file that is to be replaced; None where there is none."""
    try:
        found = os.stat(name, dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:
        return None
    _refuse_unless_file(path, found)
    # Replacing needs no right on the file itself, so a file that is closed to writing is asked for.
    if not os.access(name, os.W_OK, dir_fd=folder, effective_ids=True):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
    return stat.S_IMODE(found.st_mode) & 0o777


def _made(name: str, folder: int) -> bool:
    """Make a folder; False where something has its name."""
    with suppress(FileExistsError):
        os.mkdir(name, 0o700, dir_fd=folder)
        return True
    return False


def _give_to_owner(folder: int, made: int) -> None:
    """What root makes in a folder belongs to whom that does: commands, which run as its owner, are
    to change it too."""
    owner = os.fstat(folder)
    if os.geteuid() == 0 and owner.st_uid != 0:
        os.fchown(made, owner.st_uid, owner.st_gid)


def _replace(folder: int, name: str, data: bytes, mode: int | None) -> None:
    temporary = f".{secrets.token_hex(8)}.tmp"
    try:
        _write_new(folder, temporary, data, mode)
        os.replace(temporary, name, src_dir_fd=folder, dst_dir_fd=folder)
    except BaseException:
        with suppress(FileNotFoundError):
            os.unlink(temporary, dir_fd=folder)
        raise


def _write_new(folder: int, name: str, data: bytes, mode: int | None) -> None:
    with os.fdopen(os.open(name, _NEW, 0o666, dir_fd=folder), "wb") as file:
        _give_to_owner(folder, file.fileno())
        if mode is not None:
            os.fchmod(file.fileno(), mode)
        file.write(data)
        file.flush()
        # Else a power cut after the renaming could leave the path with nothing in it.
        os.fsync(file.fileno())


def normalized(path: str) -> str:
    """A path in the form in which the workspace compares it; as it is where it can be none."""
    try:
        return file_path(path)
    except WorkspaceError:
        return path
