"""The gateway's SQLite file, seen from another process: read at any time, and made to stall."""

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

from tests.crash.patience import until

_ENDLESS = (
    "SELECT count(*) FROM (WITH RECURSIVE numbers(n) AS "
    "(SELECT 1 UNION ALL SELECT n + 1 FROM numbers) SELECT n FROM numbers)"
)


_TABLES = ("audit", "entries", "inbox", "questions")


class Database:
    """What is read is what came since `look_away`, where nothing else is said."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._seen = dict.fromkeys(_TABLES, 0)

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
        """Somebody is within a transaction that writes, and stays there; while it is stalled, for
        ever. On a busy machine others take a while too."""
        connection = sqlite3.connect(self._path, isolation_level=None, timeout=0.5)
        with closing(connection):
            try:
                connection.execute("BEGIN IMMEDIATE")
            except sqlite3.OperationalError:
                return True
            connection.execute("ROLLBACK")
            return False

    def age(self, seconds: float) -> None:
        """Let the gateway's last sign of life, and its questions, be older."""
        (alive,) = self._rows("SELECT value FROM facts WHERE name = 'alive'")
        aged = json.dumps(json.loads(alive) - seconds)
        self._write("UPDATE facts SET value = ? WHERE name = 'alive'", aged)
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
