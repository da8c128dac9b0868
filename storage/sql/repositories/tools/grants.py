"""Grants in SQL."""

from dataclasses import asdict

from sqlalchemy import Connection, bindparam, delete, select, update

from storage.json_text import dumps
from storage.records.tools.grants import Grant, GrantDraft
from storage.sql.rows import Shape, upsert
from storage.sql.tool_schema import grants

_GRANTS = Shape(Grant, grants)
_KEY = ["session", "address", "tool", "hash"]
_CHANGES = ["shown", "granted_by", "granted_name", "time", "until", "runs", "files", "used"]
_ADD = upsert(grants, [*_KEY, *_CHANGES], key=_KEY, change=_CHANGES)
_THERE = (
    select(*_GRANTS.columns)
    .where(grants.c.session == bindparam("at"), grants.c.address == bindparam("where"))
    .order_by(grants.c.id)
)
_FIND = _THERE.where(grants.c.tool == bindparam("name"), grants.c.hash == bindparam("digest"))
_ONE = _THERE.where(grants.c.id == bindparam("number"))
_USE = update(grants).where(grants.c.id == bindparam("number")).values(used=grants.c.used + 1)
_REVOKE = delete(grants).where(grants.c.id == bindparam("number"))


class SqlGrants:
    def __init__(self, connection: Connection, now: float) -> None:
        self._connection = connection
        self._now = now

    def add(self, draft: GrantDraft) -> Grant:
        self._connection.execute(_ADD, _row(draft, self._now))
        found = self.find(draft.session, draft.address, draft.tool, draft.hash)
        assert found is not None
        return found

    def find(self, session: int, address: str, tool: str, hash: str) -> Grant | None:
        values = {"at": session, "where": address, "name": tool, "digest": hash}
        row = self._connection.execute(_FIND, values).one_or_none()
        return None if row is None else _GRANTS.one(row)

    def revoke(self, grant: int, session: int, address: str) -> Grant | None:
        values = {"at": session, "where": address, "number": grant}
        row = self._connection.execute(_ONE, values).one_or_none()
        if row is None:
            return None
        self._connection.execute(_REVOKE, {"number": grant})
        return _GRANTS.one(row)

    def use(self, grant: int) -> None:
        self._connection.execute(_USE, {"number": grant})

    # Last: within the class, its name hides the type.
    def list(self, session: int, address: str) -> "list[Grant]":
        return _GRANTS.all(self._connection.execute(_THERE, {"at": session, "where": address}))


def _row(draft: GrantDraft, now: float) -> dict[str, object]:
    return asdict(draft) | {"files": dumps(draft.files), "time": now, "used": 0}
