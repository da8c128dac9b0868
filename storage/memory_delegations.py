"""Delegations in memory."""

from dataclasses import replace

from storage.memory_rows import Table
from storage.memory_tree import TreeTables
from storage.records.delegations import Delegation, DelegationDraft
from storage.records.entries import Usage


class MemoryDelegations:
    def __init__(self, table: Table[int, Delegation], tree: TreeTables, now: float) -> None:
        self._table = table
        self._tree = tree
        self._now = now

    def create(self, draft: DelegationDraft) -> Delegation:
        self._tree.sessions.expect(draft.session)
        self._tree.sessions.expect(draft.journal)
        self._tree.entries.expect(draft.call_entry)
        delegation = Delegation(
            id=self._table.next_id,
            session=draft.session,
            call_id=draft.call_id,
            call_entry=draft.call_entry,
            index=draft.index,
            journal=draft.journal,
            root=draft.root,
            top=draft.top,
            background=draft.background,
            person=draft.person,
            address=draft.address,
            goal=draft.goal,
            state="running",
            tier="worker",
            model=draft.model,
            usage=Usage(),
            result="",
            created=self._now,
            updated=self._now,
        )
        self._table[delegation.id] = delegation
        return delegation

    def get(self, delegation: int) -> Delegation:
        return self._table[delegation]

    def of_call(self, session: int, call_entry: int, call_id: str) -> list[Delegation]:
        key = (session, call_entry, call_id)
        rows = self._table.values()
        found = [d for d in rows if (d.session, d.call_entry, d.call_id) == key]
        return sorted(found, key=lambda d: d.index)

    def recent(self, session: int, limit: int = 20) -> list[Delegation]:
        return [d for d in reversed(self._table.values()) if d.session == session][:limit]

    def unfinished(self, session: int) -> list[Delegation]:
        rows = self._table.values()
        return [d for d in rows if d.session == session and d.state in ("running", "waiting")]

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
        found = self._table[delegation]
        self._table[delegation] = replace(
            found,
            state=found.state if state is None else state,
            tier=found.tier if tier is None else tier,
            model=found.model if model is None else model,
            usage=found.usage if usage is None else found.usage + usage,
            result=found.result if result is None else result,
            updated=self._now,
        )
