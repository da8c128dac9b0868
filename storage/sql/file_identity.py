"""Whether an open SQLite database is still what its name leads to; and saving it where not.

A file that is deleted or replaced stays with whoever has it open, and everything written to it is
gone when they close it. The same holds for the WAL beside it: without it, or with another, the
next process to open the database sees an old one, or ruins it.
"""

import glob
import os
import sqlite3
import tempfile
import time
from contextlib import closing, suppress
from pathlib import Path

from storage.errors import StoreUnavailable


class Whereabouts:
    """Of a database that is open now, by whoever makes this. `moved` may be asked in any thread."""

    def __init__(self, database: Path) -> None:
        self.named = database.absolute()
        self._file = Path(os.path.realpath(database))
        """Where SQLite has its WAL: beside what symbolic links lead to."""
        self._wal = self._beside("-wal")
        paths = (self.named, self._wal, self._beside("-shm"))
        self._opened = {path: path.stat() for path in paths if path.exists()}

    def moved(self) -> str:
        """What happened to which file, for people; "" where nothing did."""
        for path, opened in self._opened.items():
            try:
                there = path.stat()
            except (FileNotFoundError, NotADirectoryError):
                return f"{path} was deleted while it was in use"
            except OSError:
                continue  # a folder that cannot be read for now says nothing of the file
            if not os.path.samestat(there, opened):
                return f"{path} was replaced by another file while it was in use"
        return self._parted()

    def _parted(self) -> str:
        """Where a file was moved and a link put in its place, its WAL stayed behind: whoever opens
        it by that name looks for the WAL beside what the link leads to."""
        database = self._opened.get(self.named)
        if self.named == self._file and database is not None:
            # The usual case, in which the other files were looked for beside this very name.
            with suppress(OSError):
                if os.path.samestat(os.lstat(self.named), database):
                    return ""
        file = os.path.realpath(self.named)
        opened = self._opened.get(self._wal)
        if file == str(self._file) or opened is None:
            return ""
        with suppress(OSError):
            if os.path.samestat(Path(f"{file}-wal").stat(), opened):
                return ""  # its whole folder was moved
        return f"{self.named} was moved to {file}, away from its WAL, while it was in use"

    def rescue(self, connection: sqlite3.Connection) -> str:
        """Copy what is still open; what became of that and what to do, for people. Blocks.

        Our WAL is put aside where the database is not there any more: SQLite would take it for the
        WAL of whatever is put in its place.
        """
        stamp = time.strftime("%Y%m%dT%H%M%S", time.gmtime())
        faults = []
        for folder in (self._file.parent, Path(tempfile.gettempdir())):
            copy = folder / f"{self._file.name}.rescued-{stamp}"
            try:
                _copy(connection, copy)
            except (OSError, sqlite3.Error) as error:
                faults.append(f"{copy}: {error}")
                continue
            self._put_wal_aside(stamp)
            return (
                f"Everything up to now is in {copy}. To go on with that, put it in the place of "
                f"{self.named}, where there must be no -wal and -shm beside it, and start again."
            )
        self._put_wal_aside(stamp)
        return f"No copy could be made of what was still open ({'; '.join(faults)}): use a backup."

    def _beside(self, suffix: str) -> Path:
        return self._file.with_name(self._file.name + suffix)

    def _put_wal_aside(self, stamp: str) -> None:
        if self._is_ours(self.named):
            return  # SQLite writes it back into the database when it closes it
        for path in (self._beside("-wal"), self._beside("-shm")):
            if self._is_ours(path):
                with suppress(OSError):  # gone in this moment, or the folder is not ours any more
                    path.rename(f"{path}.old-{stamp}")

    def _is_ours(self, path: Path) -> bool:
        opened = self._opened.get(path)
        try:
            return opened is not None and os.path.samestat(path.stat(), opened)
        except OSError:
            return False


def refuse_new_beside_rescued(database: Path) -> None:
    """StoreUnavailable where the database is to be made anew though one was saved beside it:
    whatever starts the gateway again must not let it go on with nothing."""
    file = Path(os.path.realpath(database))
    try:
        begun = file.exists() and file.stat().st_size
    except OSError:
        return  # opening it will say why
    if not begun and (copy := _rescued(file)) is not None:
        raise StoreUnavailable(
            f"{database} is gone, and {copy} was saved of it: put that in its place, or move "
            "it elsewhere to begin with an empty database"
        )


def used_beside_rescued(database: Path) -> str:
    """What people should know where a database is used though another was saved beside it; else
    ""."""
    copy = _rescued(Path(os.path.realpath(database)))
    if copy is None:
        return ""
    return (
        f"{database.absolute()} is used, and {copy} lies beside it, saved when that file was taken "
        f"away or replaced. To go on with the saved one, stop the bot, put it in the place of "
        f"{database.absolute()}, where there must be no -wal and -shm beside it, and start again. "
        "Else move it elsewhere, and you are not told again"
    )


def _rescued(file: Path) -> Path | None:
    """The newest copy that was saved of a file, where it lies beside it."""
    copies = sorted(file.parent.glob(f"{glob.escape(file.name)}.rescued-*"))
    return copies[-1] if copies else None


def _copy(source: sqlite3.Connection, file: Path) -> None:
    os.close(os.open(file, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
    try:
        with closing(sqlite3.connect(file)) as target:
            source.backup(target)
    except BaseException:
        file.unlink(missing_ok=True)
        raise
