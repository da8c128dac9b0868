"""A gateway that runs: its tasks, from the first connection to the last message sent."""

import asyncio
import logging
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial

from adapters.platforms import PLATFORMS
from gateway.access.roles import Access
from gateway.chats.settings import ChatSettings
from gateway.inbound.router import Router
from gateway.monitoring.monitor import Monitor
from gateway.outbound.delivery import Delivery
from gateway.processes.duties import Duties
from gateway.processes.membership import Membership
from gateway.processes.shares import CLOCK, DELIVERY, own_of
from gateway.running.announcement import Announcement
from gateway.running.fairness import collect
from gateway.running.loss import loss_in, tell_owners
from gateway.running.own_bots import refuse
from gateway.running.parts import parts_of
from gateway.running.pipeline import Pipeline
from gateway.running.platforms.platform_supervisor import PlatformSupervisor, close
from gateway.running.upkeep import Upkeep
from gateway.toolkits import Toolkits
from gateway.turns.failures import once_there
from gateway.turns.scheduler import SessionScheduler
from gateway.turns.turn import Turn
from storage.errors import StoreError, StoreLost
from storage.news import Committed
from storage.store import Store

log = logging.getLogger(__name__)

LET_GO = 3.0
"""Seconds to say at the end that we are gone."""


@dataclass
class App:
    store: Store
    membership: Membership
    platforms: PlatformSupervisor
    pipeline: Pipeline
    tools: Toolkits
    upkeep: Upkeep
    monitor: Monitor
    announcement: Announcement

    async def run(self, *, ready: "asyncio.Event | None" = None) -> None:
        """Serve until cancelled, or until every adapter has come to its end (a terminal does).

        Misconfigured where a platform refuses our credentials from the first; StoreLost, saying
        what to do, where the database is damaged or taken away.
        """
        self.store.watch(self._committed)
        try:
            parts = parts_of(self.platforms, self.tools.shared)
            await self.monitor.open(parts, lambda: len(self.router.context.active))
            whose = partial(self.store.read, partial(refuse, bots=self.platforms.bots))
            await once_there(whose, "whose database it is")
            await once_there(partial(self._access.given.read, self.store), "who may talk")
            await self.settings.read(self.store)
            await once_there(self._take_part, "the duties of this process")
            if self.membership.role.works:
                await self.tools.start()
            async with asyncio.TaskGroup() as group:
                tasks = {"guard": self.store.guard(), **self.upkeep.tasks()}
                tasks |= {"loading": self.platforms.load(), **self.announcement.tasks(ready)}
                tasks |= {"monitor": self.monitor.run(), "duties": self.duties.run()}
                tasks |= {"collecting": collect(self.idle), "delivery": self.delivery.run()}
                begun = [group.create_task(task, name=name) for name, task in tasks.items()]
                self.monitor.depends_on(begun)
                await self.platforms.run()
                await self.pipeline.settle()
                for task in begun:
                    task.cancel()
        except BaseExceptionGroup as group:
            if (loss := loss_in(group)) is None:
                raise
            raise await self._lost(loss) from None
        finally:
            await self._close()

    def begin_no_more(self) -> None:
        """Take nothing new in and begin nothing; what runs may end. Other processes go on."""
        self.monitor.drain()
        self.platforms.take_no_more()
        self.upkeep.begin_no_more()

    def hasten(self) -> None:
        """It ends now: what waits for somebody else is given up, and goes on at the next start."""
        self.store.hasten()

    def idle(self) -> bool:
        """Whether this process does nothing, and has nothing to send."""
        return self.pipeline.idle()

    @property
    def running(self) -> Mapping[int, Turn]:
        """The turns that run now in this process, by session."""
        return self.upkeep.housekeeping.runner.running

    @property
    def router(self) -> Router:
        return self.pipeline.router

    @property
    def scheduler(self) -> SessionScheduler:
        return self.pipeline.scheduler

    @property
    def delivery(self) -> Delivery:
        return self.pipeline.delivery

    @property
    def settings(self) -> ChatSettings:
        return self.router.context.settings

    @property
    def duties(self) -> Duties:
        return self.membership.duties

    @property
    def _access(self) -> Access:
        return self.router.access

    def _committed(self, news: Committed) -> None:
        """Rights before all else: what they forbid is not begun."""
        self._access.given.committed(news)
        self.upkeep.housekeeping.committed(news)
        self.pipeline.committed(news)
        self.settings.changed(news.choices)
        self.upkeep.committed(news)

    async def _take_part(self) -> None:
        """In what processes share; before anything else, so that it is known what is ours."""
        idle, invitation = self.pipeline.nothing_under_way, self.announcement.invitation
        # A chat in a terminal sends to nobody else.
        if self.membership.role.delivers and self.platforms.serve_others:
            self.duties.want(DELIVERY, idle)
        for name in self.platforms.adapters:
            if name in PLATFORMS and PLATFORMS[name].local:
                self.duties.want(own_of(name), idle)
        invitation.take_part()
        if self.membership.role.works:
            self.duties.want(CLOCK, lambda _: True)
        await self.duties.begin()
        await invitation.make()

    async def _lost(self, loss: StoreLost) -> StoreLost:
        """Save what can be saved and tell the owners; the loss with all that is to be said."""
        await self.scheduler.close()
        text = ". ".join(part for part in (str(loss), await self.store.rescue()) if part)
        owners = self._access.owners()
        await tell_owners(f"🛑 The bot stops: {text}", owners, self.platforms.serving)
        return StoreLost(text)

    async def _close(self) -> None:
        self.hasten()
        await self.scheduler.close()
        await self.tools.close()
        await self.pipeline.close()
        for adapter in self.platforms.adapters.values():
            await close(adapter)
        await self._let_go()  # only now does the platform take it that nobody polls
        await self.store.close()
        await self.monitor.close()

    async def _let_go(self) -> None:
        """Others take over at once, instead of when they notice."""
        try:
            async with asyncio.timeout(LET_GO):
                await self.duties.end()
        except (StoreError, TimeoutError):
            log.info("the duties of this process end by themselves, in some seconds")
