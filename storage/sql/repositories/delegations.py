"""Delegations in SQL."""

from typing import Any

from sqlalchemy import Connection, bindparam, insert, select, update

from storage.errors import NotFound
from storage.records.delegations import Delegation, DelegationDraft
from storage.records.entries import Usage
from storage.records.figures.happened import Happened
from storage.sql.rows import Shape, insert_row, usage_shape
from storage.sql.schema import delegations

_DELEGATIONS = Shape(Delegation, delegations, index="task_index", usage=usage_shape(delegations))
_UNFINISHED_STATES = ("running", "waiting")
_CREATE = insert(delegations)
_DELEGATION = select(*_DELEGATIONS.columns).where(delegations.c.id == bindparam("delegation"))
_OF_CALL = (
    select(*_DELEGATIONS.columns)
    .where(
        delegations.c.call_entry == bindparam("call_entry"),
        delegations.c.call_id == bindparam("call_id"),
        delegations.c.session == bindparam("session"),
    )
    .order_by(delegations.c.task_index, delegations.c.id)
)
_RECENT = (
    select(*_DELEGATIONS.columns)
    .where(delegations.c.session == bindparam("session"))
    .order_by(delegations.c.id.desc())
    .limit(bindparam("limit"))
)
_UNFINISHED = (
    select(*_DELEGATIONS.columns)
    .where(
        delegations.c.session == bindparam("session"),
        delegations.c.state.in_(_UNFINISHED_STATES),
    )
    .order_by(delegations.c.id)
)


class SqlDelegations:
    def __init__(self, connection: Connection, now: float) -> None:
        self._connection = connection
        self._now = now
        self.happened: list[Happened] = []

    def create(self, draft: DelegationDraft) -> Delegation:
        values = _DELEGATIONS.row(
            draft,
            state="running",
            tier="worker",
            usage=Usage(),
            result="",
            created=self._now,
            updated=self._now,
        )
        self.happened.append(Happened("delegation", "started"))
        return self.get(insert_row(self._connection, _CREATE, values))

    def get(self, delegation: int) -> Delegation:
        row = self._connection.execute(_DELEGATION, {"delegation": delegation}).one_or_none()
        if row is None:
            raise NotFound(f"there is no delegation {delegation}")
        return _DELEGATIONS.one(row)

    def of_call(self, session: int, call_entry: int, call_id: str) -> list[Delegation]:
        values = {"session": session, "call_entry": call_entry, "call_id": call_id}
        return _DELEGATIONS.all(self._connection.execute(_OF_CALL, values))

    def recent(self, session: int, limit: int = 20) -> list[Delegation]:
        values = {"session": session, "limit": limit}
        return _DELEGATIONS.all(self._connection.execute(_RECENT, values))

    def unfinished(self, session: int) -> list[Delegation]:
        rows = self._connection.execute(_UNFINISHED, {"session": session})
        return _DELEGATIONS.all(rows)

    def update(
        self,
        delegation: int,
        *,
        state: str | None = None,
        tier: str | None = None,
        model: str | None = None,
        usage: Usage | None = None,
        result: str | None = None,
    ) -> None:
        given = {"state": state, "tier": tier, "model": model, "result": result}
        values: dict[str, Any] = {name: value for name, value in given.items() if value is not None}
        if usage is not None:
            # An unknown cost is NULL, and stays NULL whatever is added to it.
            values |= {
                "input_tokens": delegations.c.input_tokens + usage.input,
                "output_tokens": delegations.c.output_tokens + usage.output,
                "cached_tokens": delegations.c.cached_tokens + usage.cached,
                "calls": delegations.c.calls + usage.calls,
                "cost": delegations.c.cost + usage.cost if usage.cost is not None else None,
            }
        change = update(delegations).where(delegations.c.id == delegation)
        if not self._connection.execute(change.values(updated=self._now, **values)).rowcount:
            raise NotFound(f"there is no delegation {delegation}")
        if state is not None:
            self.happened.append(Happened("delegation", state))
