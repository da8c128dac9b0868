"""Stores for tests that need one and do not look at its file: empty, each its own, and in memory
where the machine has a folder for that."""

import atexit
import shutil
import tempfile
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from functools import cache
from itertools import count
from pathlib import Path
from typing import TypeVar

from storage.sql.dialect import database_of
from storage.sql.migrate import upgrade
from storage.sql.store import SqlStore, SqlTransaction
from storage.store import Transaction

T = TypeVar("T")

_numbers = count(1)


def fresh_url() -> str:
    """Of a file with all tables and no rows, which is gone when the tests end. A copy, because to
    make one takes much longer."""
    empty = _empty_database()
    return f"sqlite:///{shutil.copy(empty, empty.with_name(f'{next(_numbers)}.db'))}"


async def open_fresh(clock: Callable[[], float] = time.time) -> SqlStore:
    return await SqlStore.open(fresh_url(), clock)


@asynccontextmanager
async def fresh_store(clock: Callable[[], float] = time.time) -> AsyncIterator[SqlStore]:
    """Closed, and its file removed, at the end."""
    url = fresh_url()
    store = await SqlStore.open(url, clock)
    try:
        yield store
    finally:
        await store.close()
        Path(url.removeprefix("sqlite:///")).unlink()


def in_store(work: Callable[[Transaction], T], clock: Callable[[], float] = time.time) -> T:
    """What `work` comes to in an empty store. In this thread, and nothing of it is kept."""
    with database_of(_in_store_url()).checking() as connection:
        return work(SqlTransaction(connection, clock()))


@cache
def _in_store_url() -> str:
    return fresh_url()


@cache
def _empty_database() -> Path:
    memory = Path("/dev/shm")
    folder = tempfile.mkdtemp(prefix="bough-tests-", dir=memory if memory.is_dir() else None)
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    file = Path(folder, "empty.db")
    upgrade(f"sqlite:///{file}")
    return file
