"""How many children one agent has: at once, and in one turn."""

import asyncio
from weakref import WeakValueDictionary

from agent.runtime.next_step import calls_of
from storage.records.delegations import Delegation
from storage.records.entries import Entry, Kind
from storage.store import Transaction

_TURN = 64
"""Entries that are read of a turn at first."""


class Slots:
    """A limit for each session that delegates; what it delegates to the background has one of its
    own, so that an answer never waits for hours of background work."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._known: WeakValueDictionary[tuple[int, bool], asyncio.Semaphore] = (
            WeakValueDictionary()
        )

    def of(self, delegation: Delegation) -> asyncio.Semaphore:
        """Hold it while the delegation runs; it lasts for as long as anybody does."""
        key = (delegation.session, delegation.background)
        return self._known.setdefault(key, asyncio.Semaphore(self._limit))


def started_in_turn(tx: Transaction, session: int, entry: int, tool: str) -> int:
    """Delegations that calls of `tool` started on the path to an entry since a person, or whoever
    gave a child its task, spoke last. Read from the store, so a restart begins no new count."""
    asked = [
        (caller.id, call.id)
        for caller in _turn(tx, entry)
        for call in calls_of(caller)
        if call.name == tool
    ]
    return sum(len(tx.delegations.of_call(session, *call)) for call in asked)


def _turn(tx: Transaction, entry: int) -> tuple[Entry, ...]:
    """The path to an entry from what was said last, as far as it is known."""
    limit = _TURN
    while True:
        path = tx.tree.path_end(entry, limit)
        for at in reversed(range(len(path))):
            if _is_said(path[at]):
                return path[at:]
        if len(path) < limit:
            return path
        limit *= 4


def _is_said(entry: Entry) -> bool:
    is_user = entry.kind is Kind.MESSAGE and entry.body["role"] == "user"
    return is_user and not entry.body.get("correction")
