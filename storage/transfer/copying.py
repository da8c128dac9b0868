"""From one database into another, empty one, of either kind: all of it, in one transaction, and
compared afterwards. A backup is such a copy in a file of SQLite."""

import os
import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from sqlalchemy import Connection
from sqlalchemy.exc import DBAPIError

from storage.blobs.folder import BlobFolder
from storage.errors import StoreError, StoreInUse, StoreUnavailable
from storage.lock import file_of, hold_lock
from storage.sql.dialect import Database, database_in, database_of, insert_all
from storage.sql.migrate import upgrade, upgrade_database
from storage.sql.schema import HEAD
from storage.sql.store import must_exist, version_of
from storage.transfer.contents import (
    Tally,
    continue_ids,
    first_with_rows,
    rows_of,
    tables,
    tally,
)
from storage.transfer.kept import NAME, Kept, folder_of

Tallies = dict[str, Tally]
_LOOKS, _PAUSE = 10, 0.1
"""For connections of others; the pause is seconds."""


@dataclass(frozen=True, slots=True)
class _Side:
    """Where rows, and where kept contents are read or written."""

    database: Database
    folder: BlobFolder | None


def _at(url: str) -> _Side:
    """A database that is worked with."""
    return _Side(database_of(url), folder_of(url))


def _backup(file: Path) -> _Side:
    """One file, with everything in it."""
    return _Side(database_in(file), None)


def copy(source: str, target: str) -> Tallies:
    """Copy between two URLs. Blocks.

    StoreInUse where a gateway works on one of them; StoreUnavailable where the target holds
    something, or one of them cannot be used.
    """
    must_exist(database_of(source), "source database", "Name another as FROM")
    if _same(source, target):
        raise StoreUnavailable("source and target are the same database: name another target")
    with ExitStack() as held:
        for url in (source, target):
            held.enter_context(hold_lock(url))
            refuse_in_use(url)
        upgrade(source)
        return _fill(_at(source), _at(target))


def back_up(url: str, file: Path) -> Tallies:
    """Write what a database holds at this moment to a new file, whole or not at all; a gateway may
    work on meanwhile. Blocks. StoreUnavailable where that cannot be done."""
    must_exist(database_of(url))
    _refuse_existing(file)
    _must_be_current(url)
    with _folder_beside(file) as folder:
        made = folder / file.name
        found = _fill(_at(url), _backup(made))
        _sync(made)
        _refuse_existing(file)
        made.replace(file)
    return found


def restore(file: Path, url: str) -> Tallies:
    """Fill an empty database from a backup, which stays as it is, also one that an earlier Bough
    wrote. Blocks. StoreUnavailable where that cannot be done."""
    if not file.is_file():
        raise StoreUnavailable(f"the backup {file} is not there")
    with hold_lock(url), tempfile.TemporaryDirectory(prefix="bough-restore-") as folder:
        refuse_in_use(url)
        copied = Path(folder) / file.name
        try:
            shutil.copyfile(file, copied)
        except OSError as error:
            raise StoreUnavailable(f"{file} cannot be read: {error.strerror}") from error
        with _as_called(copied, file):
            if _version(database_in(copied)) is None:
                raise StoreUnavailable(f"{file} is no backup: it has no tables of Bough")
            upgrade_database(database_in(copied))
            return _fill(_backup(copied), _at(url))


@contextmanager
def _as_called(copied: Path, file: Path) -> Iterator[None]:
    """People are told of the file that they named: our copy of it is gone by then."""
    try:
        yield
    except StoreError as error:
        raise type(error)(str(error).replace(str(copied), str(file))) from error


def _fill(from_side: _Side, to_side: _Side) -> Tallies:
    """All or nothing, but for contents in a folder: those that no entry shows go in a day."""
    target = to_side.database
    upgrade_database(target)
    engine = from_side.database.reader_engine()
    try:
        with engine.begin() as reading, target.migrating() as writing:
            if (name := first_with_rows(writing)) is not None:
                raise StoreUnavailable(
                    f"{target.description} is not empty: there are rows in its table {name!r}; "
                    "name a database that holds nothing"
                )
            copied = {}
            for table in tables():
                copied[table.name] = counted = Tally()
                insert_all(writing, table, counted.count(rows_of(reading, table)))
            continue_ids(reading, writing)
            _compare(copied, writing, target)
            # After the rows: what the rows name was kept before them.
            copied[NAME] = Kept(reading, from_side.folder).copy_to(
                Kept(writing, to_side.folder, time.time())
            )
    except DBAPIError as error:
        raise target.store_error(error) from error
    finally:
        engine.dispose()
    return copied


def _compare(copied: Tallies, written: Connection, target: Database) -> None:
    found = tally(written)
    for name, counted in copied.items():
        if found[name] != counted:
            raise StoreUnavailable(
                f"{target.description} does not hold what was copied ({name}: {found[name].rows} "
                f"rows of {counted.rows}); nothing was kept there"
            )


def _refuse_existing(file: Path) -> None:
    if file.exists():
        raise StoreUnavailable(f"{file} is there already; name a new file")


def refuse_in_use(url: str) -> None:
    """A server needs a moment to notice that a connection was closed."""
    database = database_of(url)
    for _ in range(_LOOKS):
        try:
            others = database.others()
        except DBAPIError as error:
            raise database.store_error(error) from error
        if not others:
            return
        time.sleep(_PAUSE)
    if others:
        raise StoreInUse(
            f"{database_of(url).description} is in use by {others} other connection(s) of Bough; "
            "stop the gateways on it"
        )


def _must_be_current(url: str) -> None:
    """To change the tables under a gateway that runs is not for a backup to do."""
    if (version := _version(database_of(url))) != HEAD:
        raise StoreUnavailable(
            f"the tables are at {version or 'nothing'!r} and this Bough wants {HEAD!r}: start "
            "`bough run` once, which brings them up to date, or use the version that wrote them"
        )


def _version(database: Database) -> str | None:
    try:
        return version_of(database)
    except DBAPIError as error:
        raise database.store_error(error) from error


def _same(one: str, other: str) -> bool:
    files = file_of(one), file_of(other)
    if files[0] is None or files[1] is None:
        return one == other
    return os.path.realpath(files[0]) == os.path.realpath(files[1])


@contextmanager
def _folder_beside(file: Path) -> Iterator[Path]:
    """On the same file system, so that what is made there can take the file's place."""
    try:
        with tempfile.TemporaryDirectory(prefix=".bough-backup-", dir=file.parent) as folder:
            yield Path(folder)
    except OSError as error:
        raise StoreUnavailable(f"{file} cannot be written: {error.strerror}") from error


def _sync(file: Path) -> None:
    descriptor = os.open(file, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
