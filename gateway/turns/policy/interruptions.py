"""Talk that interrupts a turn of this process, whichever process took it in."""

import asyncio
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field

from agent.concurrency import within
from gateway.turns.policy.busy_policy import BusyPolicy
from gateway.turns.turn import Turn
from storage.records.inbox_outbox import InboxKind
from storage.store import Store

LOOK_EVERY = 10.0
"""Seconds between looks for talk that nobody told of."""


@dataclass
class Interruptions:
    store: Store
    policy: BusyPolicy
    running: Mapping[int, Turn]
    """The turns that run now in this process, by session."""
    cut: Callable[[int], None]
    _due: set[int] = field(default_factory=set, init=False)
    _news: asyncio.Event = field(default_factory=asyncio.Event, init=False)

    def arrived(self, sessions: Collection[int]) -> None:
        """Something came for these sessions."""
        here = self.running.keys() & set(sessions)
        if here:
            self._due |= here
            self._news.set()

    async def look(self) -> None:
        """End turns whose conversation goes on. StoreUnavailable."""
        self._news.clear()
        while self._due:
            await self._look(self._due.pop())

    async def wait(self) -> None:
        """Until something came, or it is time to look."""
        if not await within(self._news, LOOK_EVERY):
            self._due |= self.running.keys()

    async def _look(self, session: int) -> None:
        turn = self.running.get(session)
        if turn is None:
            return
        rows = await self.store.read(lambda tx: tx.inbox.unfinished(session))
        said = (row for row in rows if row.kind is InboxKind.MESSAGE and row.entry is None)
        others = [row for row in said if row.id not in turn.row_ids]
        still = self.running.get(session) is turn
        if still and any(self.policy.interrupts(turn, row) for row in others):
            self.cut(session)
