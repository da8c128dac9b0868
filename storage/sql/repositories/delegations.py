"""Delegations in SQL."""

from collections.abc import Sequence
from typing import Any

from sqlalchemy import Connection, bindparam, insert, select, update

from storage.errors import NotFound
from storage.records.delegations import Delegation, DelegationDraft
from storage.records.entries import Usage
from storage.sql.rows import insert_row
from storage.sql.schema import delegations

_COLUMNS = (
    delegations.c.id,
    delegations.c.session,
    delegations.c.call_id,
    delegations.c.call_entry,
    delegations.c.task_index,
    delegations.c.journal,
    delegations.c.root,
    delegations.c.top,
    delegations.c.background,
    delegations.c.person,
    delegations.c.address,
    delegations.c.goal,
    delegations.c.state,
    delegations.c.tier,
    delegations.c.model,
    delegations.c.input_tokens,
    delegations.c.output_tokens,
    delegations.c.calls,
    delegations.c.cost,
    delegations.c.result,
    delegations.c.created,
    delegations.c.updated,
)
_UNFINISHED_STATES = ("running", "waiting")
_CREATE = insert(delegations)
_DELEGATION = select(*_COLUMNS).where(delegations.c.id == bindparam("delegation"))
_OF_CALL = (
    select(*_COLUMNS)
    .where(
        delegations.c.call_entry == bindparam("call_entry"),
        delegations.c.call_id == bindparam("call_id"),
        delegations.c.session == bindparam("session"),
    )
    .order_by(delegations.c.task_index, delegations.c.id)
)
_RECENT = (
    select(*_COLUMNS)
    .where(delegations.c.session == bindparam("session"))
    .order_by(delegations.c.id.desc())
    .limit(bindparam("limit"))
)
_UNFINISHED = (
    select(*_COLUMNS)
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

    def create(self, draft: DelegationDraft) -> Delegation:
        values = {
            "session": draft.session,
            "call_id": draft.call_id,
            "call_entry": draft.call_entry,
            "task_index": draft.index,
            "journal": draft.journal,
            "root": draft.root,
            "top": draft.top,
            "background": draft.background,
            "person": draft.person,
            "address": draft.address,
            "goal": draft.goal,
            "state": "running",
            "tier": "worker",
            "model": draft.model,
            "input_tokens": 0,
            "output_tokens": 0,
            "calls": 0,
            "cost": 0.0,
            "result": "",
            "created": self._now,
            "updated": self._now,
        }
        return self.get(insert_row(self._connection, _CREATE, values))

    def get(self, delegation: int) -> Delegation:
        row = self._connection.execute(_DELEGATION, {"delegation": delegation}).one_or_none()
        if row is None:
            raise NotFound(f"there is no delegation {delegation}")
        return _delegation(row)

    def of_call(self, session: int, call_entry: int, call_id: str) -> list[Delegation]:
        values = {"session": session, "call_entry": call_entry, "call_id": call_id}
        return [_delegation(row) for row in self._connection.execute(_OF_CALL, values)]

    def recent(self, session: int, limit: int = 20) -> list[Delegation]:
        values = {"session": session, "limit": limit}
        return [_delegation(row) for row in self._connection.execute(_RECENT, values)]

    def unfinished(self, session: int) -> list[Delegation]:
        rows = self._connection.execute(_UNFINISHED, {"session": session})
        return [_delegation(row) for row in rows]

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
                "calls": delegations.c.calls + usage.calls,
                "cost": delegations.c.cost + usage.cost if usage.cost is not None else None,
            }
        change = update(delegations).where(delegations.c.id == delegation)
        if not self._connection.execute(change.values(updated=self._now, **values)).rowcount:
            raise NotFound(f"there is no delegation {delegation}")


def _delegation(row: Sequence[Any]) -> Delegation:
    (
        id_,
        session,
        call_id,
        call_entry,
        index,
        journal,
        root,
        top,
        background,
        person,
        address,
        goal,
        state,
        tier,
        model,
        input_tokens,
        output_tokens,
        calls,
        cost,
        result,
        created,
        updated,
    ) = row
    return Delegation(
        id=id_,
        session=session,
        call_id=call_id,
        call_entry=call_entry,
        index=index,
        journal=journal,
        root=root,
        top=top,
        background=background,
        person=person,
        address=address,
        goal=goal,
        state=state,
        tier=tier,
        model=model,
        usage=Usage(input_tokens, output_tokens, calls, cost),
        result=result,
        created=created,
        updated=updated,
    )
