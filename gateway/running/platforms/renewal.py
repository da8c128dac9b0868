"""Open questions after an outage: their buttons cannot be trusted any more, because a platform
forgets presses that nobody fetches."""

import logging
import time
from collections.abc import Collection
from dataclasses import dataclass
from functools import partial

from adapters.platforms import PLATFORMS
from gateway.questions.service import Questions
from storage.store import Store, Transaction

log = logging.getLogger(__name__)

ALIVE = "alive"
"""The fact that says when something was last received, by some process; behind a colon, from which
platform."""


@dataclass(frozen=True, slots=True)
class Renewal:
    store: Store
    questions: Questions

    async def began(self, platform: str) -> None:
        """This process is about to receive from a platform: where that was interrupted for too
        long, questions are posted afresh."""
        count = await self.store.run(partial(self._renew, platform=platform))
        if count:
            log.info("%s: %d open questions were posted afresh", platform, count)

    async def goes_on(self, platforms: Collection[str]) -> None:
        """This process receives from these."""

        def work(tx: Transaction) -> None:
            for platform in platforms:
                tx.directory.set_fact(f"{ALIVE}:{platform}", tx.now)

        if platforms:
            await self.store.run(work)

    def _renew(self, tx: Transaction, platform: str) -> int:
        directory = tx.directory
        alive = directory.fact(f"{ALIVE}:{platform}") or directory.fact(ALIVE)
        directory.set_fact(f"{ALIVE}:{platform}", tx.now)
        away = time.time() - alive if alive is not None else 0.0
        kept = PLATFORMS[platform].presses_kept if platform in PLATFORMS else None
        # Below 0 the clock was set back, and nobody knows how long it was.
        if kept is None or 0 <= away < kept:
            return 0
        return self.questions.repost(tx, platform=platform)
