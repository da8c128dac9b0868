"""How many children of one agent run at once."""

import asyncio
from weakref import WeakValueDictionary

from storage.delegations import Delegation


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
