"""What every message passes through: taken in, worked on, answered, sent."""

import asyncio
from collections.abc import Collection
from dataclasses import dataclass
from functools import partial

from gateway.inbound.router import Router
from gateway.outbound.delivery import Delivery
from gateway.status.notices import Notices
from gateway.turns.policy.unasked import waits
from gateway.turns.scheduler import SessionScheduler
from storage.news import Committed
from storage.store import Store, Transaction

LOOK_EVERY = 0.02
"""Seconds between looks at whether all has settled. It is for the end of a process only."""


@dataclass(frozen=True, slots=True)
class Pipeline:
    store: Store
    platforms: Collection[str]
    """Those of this process."""
    router: Router
    scheduler: SessionScheduler
    delivery: Delivery
    notices: Notices

    def committed(self, news: Committed) -> None:
        """Rows in a session's inbox are worked on, rows in the outbox sent, whoever put them
        there. What no commit tells of is found by the sweep."""
        for session in news.sessions - news.queued:
            self.scheduler.wake(session)
        if news.outbox:
            self.delivery.notify()

    def idle(self) -> bool:
        """Whether this process does nothing, and has nothing to send."""
        return self.scheduler.idle() and self.delivery.idle()

    def nothing_under_way(self, bucket: str) -> bool:
        """Whether nothing is being sent to these conversations."""
        return self.delivery.nothing_under_way(bucket) and self.notices.nothing_under_way(bucket)

    async def settle(self) -> None:
        """Wait until what came in is answered and sent."""
        while not await self.settled():  # noqa: ASYNC110 - two parts, which have no common event
            await asyncio.sleep(LOOK_EVERY)

    async def settled(self) -> bool:
        """Whether nothing runs and nothing is to be sent; what other processes have to do for the
        platforms of this one, too."""
        if not self.idle():
            return False
        if self.store.jobs is None:
            return True
        return not await self.store.read(partial(_is_due, platforms=set(self.platforms)))

    async def close(self) -> None:
        """Let what is being said end, once no turn runs any more."""
        await self.router.context.panel.close()
        await self.router.close()
        await self.notices.close()


def _is_due(tx: Transaction, platforms: set[str]) -> bool:
    """Whether something came from these platforms that is not answered, or is to be sent there."""
    due = [row.address for row in tx.inbox.unfinished() if not waits(tx, row)]
    due += [row.address for row in tx.outbox.pending()]
    return any(address.partition(":")[0] in platforms for address in due)
