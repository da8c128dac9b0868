"""A gateway that runs: its tasks, from the first connection to the last message sent."""

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from functools import partial

from adapters.base import Adapter, Unavailable
from gateway.config import Config
from gateway.delivery import Delivery
from gateway.faults import Faults
from gateway.follower import follow
from gateway.loss import loss_in, tell_owners
from gateway.questions import Questions
from gateway.router import Router
from gateway.turns import Turns
from storage.errors import StoreError, StoreLost
from storage.store import Store

log = logging.getLogger(__name__)

SWEEP_EVERY = 30.0
TICK_EVERY = 1.0
"""Seconds between looks at what a question's policy makes due."""
PRESSES_KEPT = 150.0
"""Seconds. Telegram forgets presses that a bot did not fetch for longer (measured)."""
FIRST_PAUSE = 1.0
LONGEST_PAUSE = 60.0
ALIVE = "alive"


@dataclass
class App:
    config: Config
    store: Store
    adapters: Mapping[str, Adapter]
    serving: dict[str, Adapter]
    """The adapters that have started: only these can send."""
    turns: Turns
    router: Router
    questions: Questions
    delivery: Delivery
    warm_up: Callable[[], Awaitable[None]] | None = None
    """Loads what the first model call needs, once the platforms are served."""

    async def run(self, *, ready: "asyncio.Event | None" = None) -> None:
        """Serve until cancelled, or until every adapter has come to its end (a terminal does).

        Misconfigured where a platform refuses our credentials; StoreLost, saying what to do, where
        the database is damaged or taken away.
        """
        self.store.watch_outbox(self.delivery.notify)
        try:
            async with asyncio.TaskGroup() as group:
                housekeeping = [
                    group.create_task(self.store.guard(), name="guard"),
                    group.create_task(self.delivery.run(), name="delivery"),
                    group.create_task(self._sweep(), name="sweep"),
                    group.create_task(self._tick(), name="tick"),
                    group.create_task(follow(self.store), name="follower"),
                    group.create_task(self._announce(ready), name="announce"),
                ]
                async with asyncio.TaskGroup() as platforms:
                    for adapter in self.adapters.values():
                        platforms.create_task(self._serve(adapter), name=adapter.name)
                await self._settle()
                for task in housekeeping:
                    task.cancel()
        except BaseExceptionGroup as group:
            if (loss := loss_in(group)) is None:
                raise
            raise await self._lost(loss) from None
        finally:
            await self._close()

    async def _lost(self, loss: StoreLost) -> StoreLost:
        """Save what can be saved and tell the owners; the loss with all that is to be said."""
        await self.turns.lanes.close()
        text = ". ".join(part for part in (str(loss), await self.store.rescue()) if part)
        owners = self.config.access.owners
        await tell_owners(f"The bot stops: {text}", owners, self.serving)
        return StoreLost(text)

    async def _serve(self, adapter: Adapter) -> None:
        """Start an adapter, with patience where its platform is away, and receive."""
        pause = FIRST_PAUSE
        while True:
            try:
                who = await adapter.start()
                break
            except Unavailable as error:
                log.warning("%s: %s; again in %g s", adapter.name, error, pause)
                await asyncio.sleep(pause)
                pause = min(pause * 2, LONGEST_PAUSE)
        log.info("%s: %s", adapter.name, who)
        self.serving[adapter.name] = adapter
        self.delivery.notify()
        await self.router.sweep()  # what was only taken in comes before what is new
        cursors = await self.store.read(lambda tx: dict(tx.directory.cursors(adapter.name)))
        await adapter.run(self.router.receive, cursors)

    async def _announce(self, ready: "asyncio.Event | None") -> None:
        await asyncio.gather(*(adapter.wait_ready() for adapter in self.adapters.values()))
        log.info("Ready: %s", ", ".join(self.adapters))
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
        faults, reposted = Faults(log), False
        while True:
            try:
                if not reposted:
                    await self._repost()
                    reposted = True
                await self.router.sweep()
                await self.store.run(lambda tx: tx.directory.set_fact(ALIVE, tx.now))
                self.delivery.notify()
            except StoreError as error:
                faults.failed("unfinished work cannot be looked through", error)
            await asyncio.sleep(SWEEP_EVERY)

    async def _repost(self) -> None:
        """Fresh copies of open questions where the old buttons cannot be trusted any more."""
        alive = await self.store.read(lambda tx: tx.directory.fact(ALIVE))
        away = time.time() - alive if alive is not None else 0.0
        # Below 0 the clock was set back, and nobody knows how long it was.
        unsure = away < 0 or away > PRESSES_KEPT
        platforms = {"terminal"} | ({"telegram"} if unsure else set())
        for platform in sorted(platforms & set(self.adapters)):
            count = await self.store.run(partial(self.questions.repost, platform=platform))
            if count:
                log.info("%s: %d open questions were posted afresh", platform, count)

    async def _tick(self) -> None:
        """Escalate and expire questions when they are due."""
        faults = Faults(log)
        while True:
            try:
                now = time.time()
                due = await self.store.read(self.questions.next_due)
                if due is not None and due <= now:
                    for session in await self.store.run(self.questions.tick):
                        self.turns.lanes.wake(session)
            except StoreError as error:
                faults.failed("questions cannot be looked after", error)
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
            await adapter.close()
        await self.store.close()
