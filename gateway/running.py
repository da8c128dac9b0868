"""A gateway that runs: its tasks, from the first connection to the last message sent."""

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from functools import partial

from adapters.base import Adapter
from gateway.config import Config
from gateway.delivery import Delivery
from gateway.follower import follow
from gateway.platforms import Platforms, close
from gateway.questions import Questions
from gateway.router import Router
from gateway.turns import Turns
from storage.errors import StoreError
from storage.store import Store

log = logging.getLogger(__name__)

SWEEP_EVERY = 30.0
TICK_EVERY = 1.0
"""Seconds between looks at what a question's policy makes due."""
PRESSES_KEPT = 150.0
"""Seconds. Telegram forgets presses that a bot did not fetch for longer (measured)."""
ALIVE = "alive"


@dataclass
class App:
    config: Config
    store: Store
    adapters: Mapping[str, Adapter]
    platforms: Platforms
    turns: Turns
    router: Router
    questions: Questions
    delivery: Delivery
    warm_up: Callable[[], Awaitable[None]] | None = None
    """Loads what the first model call needs, once the platforms are served."""

    async def run(self, *, ready: "asyncio.Event | None" = None) -> None:
        """Serve until cancelled, or until every adapter has come to its end (a terminal does).

        Misconfigured where a platform refuses our credentials from the first.
        """
        self.store.watch_outbox(self.delivery.notify)
        try:
            async with asyncio.TaskGroup() as group:
                housekeeping = [
                    group.create_task(self.delivery.run(), name="delivery"),
                    group.create_task(self._sweep(), name="sweep"),
                    group.create_task(self._tick(), name="tick"),
                    group.create_task(follow(self.store), name="follower"),
                    group.create_task(self._announce(ready), name="announce"),
                ]
                await self.platforms.run()
                await self._settle()
                for task in housekeeping:
                    task.cancel()
        finally:
            await self._close()

    async def _announce(self, ready: "asyncio.Event | None") -> None:
        await self.platforms.all_ready.wait()
        self._warn_of_silence()
        if ready is not None:
            ready.set()
        if self.warm_up is not None:
            await self.warm_up()

    def _warn_of_silence(self) -> None:
        access = self.config.access
        if set(self.adapters) - {"terminal"} and not (access.allow or access.owners):
            log.warning("nobody may talk to the bot: fill allow or owners under [access]")

    async def _sweep(self) -> None:
        await self._repost()
        while True:
            try:
                await self.router.sweep()
                await self.store.run(lambda tx: tx.directory.set_fact(ALIVE, tx.now))
                self.delivery.notify()
            except StoreError:
                log.exception("the sweep failed; it is tried again in %g s", SWEEP_EVERY)
            await asyncio.sleep(SWEEP_EVERY)

    async def _repost(self) -> None:
        """Fresh copies of open questions where the old buttons cannot be trusted any more."""
        alive = await self.store.read(lambda tx: tx.directory.fact(ALIVE))
        away = time.time() - alive if alive is not None else 0.0
        platforms = {"terminal"} | ({"telegram"} if away > PRESSES_KEPT else set())
        for platform in sorted(platforms & set(self.adapters)):
            count = await self.store.run(partial(self.questions.repost, platform=platform))
            if count:
                log.info("%s: %d open questions were posted afresh", platform, count)

    async def _tick(self) -> None:
        """Escalate and expire questions when they are due."""
        due: float | None = 0.0
        while True:
            try:
                now = time.time()
                due = await self.store.read(self.questions.next_due)
                if due is not None and due <= now:
                    for session in await self.store.run(self.questions.tick):
                        self.turns.lanes.wake(session)
            except StoreError:
                log.exception("questions could not be looked after; again in %g s", TICK_EVERY)
            await asyncio.sleep(TICK_EVERY)

    async def _settle(self) -> None:
        """Wait until what came in is answered and sent."""
        while not (self.turns.lanes.idle() and self.delivery.idle()):  # noqa: ASYNC110
            await asyncio.sleep(0.02)

    async def _close(self) -> None:
        await self.turns.lanes.close()
        await self.turns.live.close()
        await self.router.close()
        for adapter in self.adapters.values():
            await close(adapter)
        await self.store.close()
