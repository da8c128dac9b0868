"""What is not kept for ever is seen to, as long as the gateway runs."""

import asyncio
import time
from dataclasses import dataclass, field

from agent.concurrency import within
from gateway.retention.forgetting import Forgetters
from gateway.retention.pruning import Pruning
from storage.news import Committed

PRUNE_EVERY = 3_600.0
LOOK_EVERY = 30.0
"""Seconds between looks for people whom another process noted, and for days that are over."""


@dataclass(slots=True)
class Retention:
    pruning: Pruning
    forgetters: Forgetters
    _news: asyncio.Event = field(default_factory=asyncio.Event, init=False)
    _prune_at: float = field(default=0.0, init=False)
    """time.monotonic()."""

    def committed(self, news: Committed) -> None:
        if news.forgetting:
            self._news.set()

    async def forget(self) -> None:
        """Go on with everybody who is to be forgotten. Safe at any time, as `prune` is, and beside
        another process that does it."""
        self._news.clear()
        await self.forgetters.run()

    async def prune(self) -> None:
        """Do what is due of the rest."""
        await self.pruning.tidy()
        if time.monotonic() >= self._prune_at:
            self._prune_at = time.monotonic() + PRUNE_EVERY
            await self.pruning.run()

    async def wait(self) -> None:
        """Until something may be due."""
        await within(self._news, LOOK_EVERY)
