"""Tombstones in the place of entries, in SQL."""

import secrets
from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import Any

from sqlalchemy import Connection, bindparam, delete, select, update

from storage.json_text import dumps
from storage.records.entries import Entry, Json
from storage.records.retention.tombstones import PREFIX, tombstone
from storage.sql.retention.privacy_schema import salts
from storage.sql.rows import ENTRIES, upsert
from storage.sql.schema import blob_uses, entries, inbox, sessions
from storage.sql.search.repository import SqlSearch

IS_NONE = ~entries.c.body.startswith(PREFIX, autoescape=True)
"""Entries that are no tombstones."""
_ENTRIES = (
    select(*ENTRIES.columns)
    .where(entries.c.id.in_(bindparam("wanted", expanding=True)))
    .order_by(entries.c.id)
)
_BURY = (
    update(entries)
    .where(entries.c.id == bindparam("entry"))
    .values(body=bindparam("left"), author=bindparam("by"))
)
_UNUSE = delete(blob_uses).where(blob_uses.c.entry.in_(bindparam("wanted", expanding=True)))
_CLAIM = (
    update(sessions)
    .where(sessions.c.id.in_(bindparam("held", expanding=True)))
    .values(epoch=sessions.c.epoch + 1)
)
_WAITING = (
    select(inbox.c.session)
    .distinct()
    .where(inbox.c.state == "open", inbox.c.session.in_(bindparam("held", expanding=True)))
)
_SALT = select(salts.c.salt).where(salts.c.name == bindparam("wanted"))
_KEEP_SALT = upsert(salts, ["name", "salt", "made"], key=["name"])


def new_salt() -> str:
    return secrets.token_hex(16)


class Graves:
    """Writes tombstones, in one transaction."""

    def __init__(self, connection: Connection, now: float) -> None:
        self._connection = connection
        self._now = now
        self.woken: set[int] = set()
        """Sessions whose turns have to begin anew: what they had read is not true any more."""

    def salt(self, name: str) -> str:
        """The one of that name; made, where there is none."""
        values = {"name": name, "salt": new_salt(), "made": self._now}
        self._connection.execute(_KEEP_SALT, values)
        kept: str = self._connection.execute(_SALT, {"wanted": name}).scalar_one()
        return kept

    def read(self, wanted: Collection[int]) -> list[Entry]:
        rows = self._connection.execute(_ENTRIES, {"wanted": list(wanted)})
        return ENTRIES.all(rows)

    def bury(self, dead: Sequence[Entry], by: str, salt: str, author: str | None = None) -> None:
        """Put tombstones in their places. Their words can be found by no search, and what they
        showed is shown by them no more. `author`: in the place of whose they were."""
        self.replace([(entry, tombstone(entry, by, salt)) for entry in dead], author)
        if dead:
            self._connection.execute(_UNUSE, {"wanted": [entry.id for entry in dead]})

    def replace(self, changed: Sequence[tuple[Entry, Json]], author: str | None = None) -> None:
        """Put tombstones in the places of entries. Whoever holds one of their sessions can write
        there no more, and nobody takes what they remember of it for true."""
        if not changed:
            return
        before = [entry for entry, _ in changed]
        after = [replace(entry, body=left) for entry, left in changed]
        SqlSearch(self._connection, self._now).replace(before, after)
        values: list[dict[str, Any]] = [
            {
                "entry": entry.id,
                "left": dumps(left),
                "by": entry.author if author is None else author,
            }
            for entry, left in changed
        ]
        self._connection.execute(_BURY, values)
        held = sorted({entry.session for entry, _ in changed})
        self._connection.execute(_CLAIM, {"held": held})
        self.woken |= set(self._connection.execute(_WAITING, {"held": held}).scalars())
