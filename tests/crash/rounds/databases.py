"""A round's database, seen from outside, and what is done to it."""

import asyncio
import json
import os
import signal
import sqlite3
import subprocess
import time
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import AsyncExitStack, asynccontextmanager, closing
from pathlib import Path
from typing import Any, Protocol, TypeVar

import psycopg

from storage.sql.migrate import upgrade
from tests.support.postgres import PostgresServer
from tests.support.proxy import Proxy

T = TypeVar("T")
Row = tuple[Any, ...]

_MEGABYTES = 16
"""Of the small disk that a SQLite file lies on."""
_SAFE = {"synchronous_commit": "on", "full_page_writes": "on"}
"""What a server that is shut down at once must not lose. The machine itself does not fall."""
_PATIENCE = 30.0
_FAR_OFF = 30.0
"""Seconds."""
_OPEN = "SELECT count(*) FROM inbox WHERE state = 'open'"
_UNSENT = (
    "SELECT address, payload FROM outbox WHERE state = 'pending' AND kind = 'post' ORDER BY id"
)
_WAITING = "SELECT count(*) FROM outbox WHERE state = 'pending'"


class Database(Protocol):
    name: str

    def url(self, process: int) -> str:
        """What a process has for `storage.url`."""
        ...

    async def rows(self, query: str) -> list[Row]:
        """What is committed. It is asked again where the database is away for a moment."""
        ...


async def idle(database: Database) -> bool:
    """Whether all that came in is worked off, and all that goes out is out."""
    (opened,), (waiting,) = await database.rows(_OPEN), await database.rows(_WAITING)
    return not opened[0] and not waiting[0]


async def postponed(database: Database) -> set[str]:
    """What is scheduled for a time that is far off, because a clock was wrong when it was said."""
    found = await database.rows(
        f"SELECT text FROM schedules WHERE state = 'active' AND next > {time.time() + _FAR_OFF}"
    )
    return {str(text) for (text,) in found}


async def unsent(database: Database) -> list[str]:
    """The texts of the posts that are next in their conversations and are not on record as sent:
    those alone can be under way."""
    heads: dict[str, str] = {}
    for address, payload in await database.rows(_UNSENT):
        text = json.loads(payload).get("body", {}).get("text", "")
        heads.setdefault(address, str(text))
    return list(heads.values())


class Sqlite:
    """A file on a small disk of its own, where disks can be made here."""

    name = "sqlite"

    def __init__(self, folder: Path) -> None:
        self._folder = folder / "disk"
        self._file = self._folder / "bough.db"
        self._ballast = self._folder / "ballast"
        self.small = False
        """Whether its disk can be filled."""

    def url(self, process: int) -> str:
        return f"sqlite:///{self._file}"

    @asynccontextmanager
    async def open(self) -> AsyncIterator["Sqlite"]:
        self._folder.mkdir()
        command = ["mount", "-t", "tmpfs", "-o", f"size={_MEGABYTES}m", "tmpfs", str(self._folder)]
        if os.geteuid() == 0:
            made = subprocess.run(command, check=False, capture_output=True)
            self.small = made.returncode == 0
        await asyncio.to_thread(upgrade, self.url(0))
        try:
            yield self
        finally:
            if self.small:
                kept = self._folder.with_name("kept.db")
                await asyncio.to_thread(_save, self._file, kept)
                subprocess.run(["umount", "--lazy", self._folder], check=True)

    async def rows(self, query: str) -> list[Row]:
        return await _patiently(lambda: self._rows(query), sqlite3.OperationalError)

    def fill(self) -> None:
        """From now on nothing more can be written."""
        with self._ballast.open("wb", buffering=0) as file:
            try:
                while file.write(b"x" * 4096):
                    pass
            except OSError:
                return

    def free(self) -> None:
        """The end of `fill`."""
        self._ballast.unlink()

    def _rows(self, query: str) -> list[Row]:
        with closing(sqlite3.connect(self._file, isolation_level=None)) as connection:
            return connection.execute(query).fetchall()


def _save(file: Path, copy: Path) -> None:
    with closing(sqlite3.connect(file)) as old, closing(sqlite3.connect(copy)) as new:
        old.backup(new)


class Postgres:
    """A database of a server that rounds use one after the other, with a proxy before it for each
    process."""

    name = "postgres"

    def __init__(self, lane: "PostgresLane", processes: int) -> None:
        self.lane = lane
        self.proxies: list[Proxy] = []
        self._count = processes
        self._direct = ""

    def url(self, process: int) -> str:
        name = psycopg.conninfo.conninfo_to_dict(self._direct)["dbname"]
        return f"postgresql://bough:{PASSWORD}@127.0.0.1:{self.proxies[process].port}/{name}"

    @asynccontextmanager
    async def open(self) -> AsyncIterator["Postgres"]:
        self._direct = await self.lane.do(self.lane.server.create)
        socket = Path(str(psycopg.conninfo.conninfo_to_dict(self._direct)["host"]))
        async with AsyncExitStack() as stack:
            for _ in range(self._count):
                proxy = await stack.enter_async_context(Proxy(socket / ".s.PGSQL.5432"))
                self.proxies.append(proxy)
            try:
                yield self
            finally:
                await self.lane.do(lambda: self.lane.server.give_back(self._direct))

    async def rows(self, query: str) -> list[Row]:
        return await _patiently(lambda: self._rows(query), psycopg.OperationalError)

    async def shut_down(self, how: signal.Signals) -> None:
        await self.lane.do(lambda: self.lane.server.stop(how))

    async def start(self) -> None:
        await self.lane.do(self.lane.server.start)

    async def freeze(self) -> None:
        await self.lane.do(self.lane.server.freeze)

    async def thaw(self) -> None:
        await self.lane.do(self.lane.server.thaw)

    async def cut(self) -> None:
        """End all sessions, as an administrator does."""
        await self.lane.do(lambda: self.lane.server.cut(self._direct))

    def _rows(self, query: str) -> list[Row]:
        with psycopg.connect(self._direct, autocommit=True) as connection:
            return connection.execute(query.encode()).fetchall()


PASSWORD = "hidden-password-of-the-database"


class PostgresLane:
    """A server, and the one thread that starts it, which it would end with."""

    def __init__(self) -> None:
        self.server = PostgresServer(_SAFE)
        self._thread = ThreadPoolExecutor(1, "postgres")

    async def do(self, work: Callable[[], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._thread, work)

    async def __aenter__(self) -> "PostgresLane":
        await self.do(self.server.__enter__)
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.do(lambda: self.server.__exit__(None, None, None))
        self._thread.shutdown()


async def _patiently(look: Callable[[], list[Row]], away: type[Exception]) -> list[Row]:
    end = time.monotonic() + _PATIENCE
    while True:
        try:
            return await asyncio.to_thread(look)
        except away:
            if time.monotonic() > end:
                raise
        await asyncio.sleep(0.05)
