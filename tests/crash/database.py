"""The gateway's SQLite file, seen from another process: read at any time, and made to stall."""

import json
import sqlite3
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil

from tests.crash.patience import until

_ENDLESS = (
    "SELECT count(*) FROM (WITH RECURSIVE numbers(n) AS "
    "(SELECT 1 UNION ALL SELECT n + 1 FROM numbers) SELECT n FROM numbers)"
)


_BUSY = 0.3
"""Seconds of computing in one transaction; all the work of any other takes a few milliseconds."""

_TABLES = ("audit", "entries", "inbox", "questions")


@dataclass(frozen=True, slots=True)
class _Writing:
    """A transaction that has the right to write."""

    process: int
    before: bytes
    """What every commit changes."""


def _writing(path: Path) -> _Writing | None:
    """The lock of SQLite's WAL that only one may have is byte 120 of the file beside it."""
    index = path.resolve().with_name(f"{path.resolve().name}-shm")
    try:
        before, inode = index.read_bytes()[:48], str(index.stat().st_ino)
    except FileNotFoundError:
        return None
    for line in Path("/proc/locks").read_text(encoding="ascii").splitlines():
        *_, kind, process, file, first, _ = line.split()
        if kind == "WRITE" and first == "120" and file.rpartition(":")[2] == inode:
            return _Writing(int(process), before)
    return None


def _spent(process: int) -> dict[int, float]:
    """Seconds of computing in each thread but the first, which leaves writing to others."""
    try:
        threads = psutil.Process(process).threads()
    except psutil.NoSuchProcess:
        return {}
    return {one.id: one.user_time + one.system_time for one in threads if one.id != process}


class Database:
    """What is read is what came since `look_away`, where nothing else is said."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._seen = dict.fromkeys(_TABLES, 0)
        self._writing: _Writing | None = None
        self._spent: dict[int, float] = {}

    def look_away(self) -> None:
        for table in _TABLES:
            (self._seen[table],) = self._rows(f"SELECT coalesce(max(id), 0) FROM {table}")

    def stall(self, change: str, when: str = "1") -> None:
        """From now on a transaction that makes such a change never ends. So the gateway comes as
        far as the commit before it and no further, and can be killed exactly there.

        `change` is as in CREATE TRIGGER ("INSERT ON entries"), `when` an expression on NEW.
        """
        self._write(f"CREATE TRIGGER stall BEFORE {change} WHEN {when} BEGIN {_ENDLESS}; END")

    def mend(self) -> None:
        """The end of `stall`. The gateway that stalled must be dead."""
        self._write("DROP TRIGGER IF EXISTS stall")

    def is_stalling(self) -> bool:
        return bool(self._rows("SELECT name FROM sqlite_master WHERE name = 'stall'"))

    def is_being_written(self) -> bool:
        """Since the last look one transaction computes and computes: it is stalled. To be asked
        again and again. On a busy machine others take long too, but do not compute meanwhile."""
        writing = _writing(self._path)
        if writing is None or writing != self._writing:
            self._writing = writing
            self._spent = {} if writing is None else _spent(writing.process)
            return False
        now = _spent(writing.process)
        return any(spent - self._spent.get(one, 0.0) > _BUSY for one, spent in now.items())

    def age(self, seconds: float) -> None:
        """Let the gateway's last sign of life, and its questions, be older."""
        alive = self._rows("SELECT name, value FROM facts WHERE name LIKE 'alive:%'")
        for name, when in alive:
            aged = json.dumps(json.loads(when) - seconds)
            self._write("UPDATE facts SET value = ? WHERE name = ?", aged, name)
        self._write(
            "UPDATE questions SET created = created - ?, expires = expires - ?", seconds, seconds
        )

    def end_rows(self) -> None:
        """As if everything that came in were worked off."""
        self._write("UPDATE inbox SET state = 'done'")

    async def settled(self) -> None:
        """Everything that ever came in is worked off, and everything that goes out is out."""
        await until(lambda: not self.open_rows() and not self.unsent())

    def open_rows(self) -> list[Any]:
        """(kind, entry) of all that ever came in and is not worked off, oldest first."""
        return self._rows("SELECT kind, entry FROM inbox WHERE state = 'open' ORDER BY id")

    def unsent(self, *kinds: str) -> list[str]:
        """The texts of all that is not on record as sent, oldest first; of these kinds ("post",
        "edit"), where any are given."""
        found = self._rows(
            "SELECT kind, json_extract(payload, '$.body.text') FROM outbox "
            "WHERE state = 'pending' ORDER BY id"
        )
        return [text for kind, text in found if not kinds or kind in kinds]

    def replies(self, tier: str) -> int:
        """How many replies of a tier's model are stored."""
        return len(self._found("entries", f"author = '{tier}' AND kind = 'message'"))

    def events(self) -> list[str]:
        """What happened in delegations, oldest first."""
        kind = "json_extract(body, '$.data.kind')"
        return self._found("entries", "json_extract(body, '$.record') = 'delegation'", kind)

    def pictures(self) -> list[int]:
        """How many each message shows, oldest first."""
        files = "(SELECT count(*) FROM json_each(body, '$.files') WHERE value ->> 'shown' > '')"
        return self._found("entries", "kind = 'message'", files)

    def questions(self) -> list[str]:
        """The states of questions, oldest first."""
        return self._found("questions", "1", "state")

    def decisions(self) -> list[str]:
        """Who decided, oldest first."""
        return self._found("audit", "what = 'decision'", "who")

    def _found(self, table: str, condition: str, column: str = "id") -> list[Any]:
        seen = self._seen[table]
        return self._rows(
            f"SELECT {column} FROM {table} WHERE id > {seen} AND {condition} ORDER BY id"
        )

    def _rows(self, query: str) -> list[Any]:
        """Tuples of columns; where there is one column, its values."""
        with closing(sqlite3.connect(self._path, isolation_level=None)) as connection:
            found = connection.execute(query).fetchall()
        return [row[0] if len(row) == 1 else row for row in found]

    def _write(self, statement: str, *values: Any) -> None:
        with closing(sqlite3.connect(self._path, isolation_level=None)) as connection:
            connection.execute(statement, values)
