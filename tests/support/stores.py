"""Stores for tests that need one and do not look at its file: empty, each its own, and in memory
where the machine has a folder for that; what tests write into stores, and read of them."""

import atexit
import shutil
import tempfile
import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from functools import cache
from itertools import count
from pathlib import Path
from typing import TypeVar

from storage.records.entries import Draft, Entry, Kind, Session, SessionDraft, SessionKind, message
from storage.sql.dialect import database_of
from storage.sql.migrate import upgrade
from storage.sql.store import SqlStore, SqlTransaction
from storage.store import Store, Transaction

T = TypeVar("T")

_numbers = count(1)


def fresh_url() -> str:
    """Of a file with all tables and no rows, which is gone when the tests end. A copy, because to
    make one takes much longer."""
    empty = _empty_database()
    return url_of(shutil.copy(empty, empty.with_name(f"{next(_numbers)}.db")))


def make_database(file: Path) -> None:
    """With all tables and no rows, as a start makes it."""
    shutil.copy(_empty_database(), file)
    file.chmod(0o600)


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
    upgrade(url_of(file))
    return file


class Clock:
    """Time that stands still until it is told."""

    def __init__(self) -> None:
        self.now = 1_000.0

    def __call__(self) -> float:
        return self.now


def url_of(file: Path | str) -> str:
    return f"sqlite:///{file}"


def said(text: str) -> Draft:
    return Draft(Kind.MESSAGE, message("user", text))


def compaction(first_kept: int | None) -> Draft:
    body = {"summary": "what was said", "first_kept": first_kept, "tokens_before": 9}
    return Draft(Kind.COMPACTION, body)


async def new_session(store: Store, title: str = "") -> Session:
    return await store.run(lambda t: t.tree.create(SessionDraft(SessionKind.CHAT, title)))


async def append(store: Store, session: int, *drafts: Draft) -> list[Entry]:
    """Append at the leaf, wherever that is."""

    def work(t: Transaction) -> list[Entry]:
        leaf = t.tree.session(session).leaf
        entries: list[Entry] = []
        for draft in drafts:
            entries.append(t.tree.append(session, draft, after=leaf))
            leaf = entries[-1].id
        return entries

    return await store.run(work)


async def leaf_of(store: Store, session: int) -> int | None:
    return await store.read(lambda t: t.tree.session(session).leaf)


async def path_of(store: Store, session: int) -> tuple[Entry, ...]:
    return await store.read(lambda t: t.tree.path(t.tree.session(session).leaf))


def texts(entries: Sequence[Entry]) -> list[str]:
    return [entry.body.get("content", entry.kind.value) for entry in entries]
