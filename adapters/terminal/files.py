"""Files that go out of a chat in the terminal and come into it: files on this machine.

Both functions block for as long as the disk takes; an event loop calls them in a thread.
"""

import os
from collections.abc import Iterator
from itertools import count
from pathlib import Path

from adapters.base import Refused, Upload
from adapters.filenames import safe_name

FOLDER = Path("bough-files")
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL


def save(upload: Upload, folder: Path = FOLDER) -> Path:
    """Where it was written: below `folder`, which is made, under a name that nothing had before.

    Only the owner may read it. Refused where that cannot be done.
    """
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        path, descriptor = _create(folder, safe_name(upload.name))
        try:
            with os.fdopen(descriptor, "wb") as file:
                file.write(upload.data)
        except OSError:
            path.unlink(missing_ok=True)
            raise
    except OSError as error:
        raise Refused(
            f"{upload.name!r} cannot be saved in {folder}: {error.strerror}; make room there or "
            "start Bough in a folder where it may write"
        ) from error
    return path


def load(ref: str, limit: int) -> bytes:
    """The file at a path as somebody typed it, "~" being the home folder.

    Refused where there is no such file, it cannot be read, or it has more than `limit` bytes.
    """
    try:
        path = Path(ref).expanduser()
        if not path.exists():
            raise Refused(f"there is no file {ref!r}; check the path")
        if not path.is_file():
            # A pipe or a device would be waited for, perhaps for ever.
            raise Refused(f"{ref!r} is not a file")
        with path.open("rb") as file:
            data = file.read(limit + 1)
    except OSError as error:
        raise Refused(f"{ref!r} cannot be read: {error.strerror}") from error
    except (ValueError, RuntimeError) as error:
        raise Refused(f"{ref!r} is not a path: {error}") from error
    if len(data) > limit:
        raise Refused(f"{ref!r} is too big: more than {limit:,} bytes")
    return data


def _create(folder: Path, name: str) -> tuple[Path, int]:
    """The first of name, name-2, name-3 … that is free, and its descriptor."""
    for path in _paths(folder / name):
        try:
            return path, os.open(path, _NEW, 0o600)
        except FileExistsError:
            continue
    raise AssertionError("there is always a next number")


def _paths(path: Path) -> Iterator[Path]:
    yield path
    for number in count(2):
        yield path.with_name(f"{path.stem}-{number}{path.suffix}")
