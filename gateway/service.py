"""A gateway that runs: its tasks, from the first connection to the last message sent."""

import asyncio
import logging
import sys
import time
from collections.abc import Awaitable, Callable
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from functools import partial

from adapters.platforms import PLATFORMS, TERMINAL
from gateway.access.announcing import NOBODY, NOBODY_YET, invitation, who_may_talk
from gateway.access.menus import OwnersMenus
from gateway.access.roles import Access
from gateway.chats.settings import ChatSettings
from gateway.commands.people.requests import end_lapsed
from gateway.config import Config
from gateway.inbound.router import Router
from gateway.loading import Loading
from gateway.loss import loss_in, tell_owners
from gateway.outbound.delivery import Delivery
from gateway.outbound.live_messages import close_left
from gateway.platform_supervisor import PlatformSupervisor, close
from gateway.questions.service import Questions
from gateway.schedules.due import DueSchedules
from gateway.toolkits import Toolkits
from gateway.turns.failures import Tries, once_there
from gateway.turns.runner import TurnRunner
from gateway.turns.scheduler import InProcessScheduler
from storage.errors import StoreLost, StoreUnavailable
from storage.faults import Faults
from storage.search.indexer import follow
from storage.store import Committed, Store

log = logging.getLogger(__name__)

SWEEP_EVERY = 30.0
FORGET_EVERY = 3_600.0
TICK_EVERY = 1.0
"""Seconds between looks at what a question's policy makes due."""
ALIVE = "alive"


@dataclass
class App:
    config: Config
    store: Store
    platforms: PlatformSupervisor
    scheduler: InProcessScheduler
    runner: TurnRunner
    router: Router
    questions: Questions
    delivery: Delivery
    loading: Loading
    tools: Toolkits
    schedules: DueSchedules
    _menus: OwnersMenus = field(init=False)
    _forget_at: float = field(default=0.0, init=False)
    """When to look for files that no message shows; time.monotonic()."""
    _faults: Faults = field(default_factory=lambda: Faults(log), init=False)

    def __post_init__(self) -> None:
        self._menus = OwnersMenus(self.store, self._access, self.platforms.serving)

    async def run(self, *, ready: "asyncio.Event | None" = None) -> None:
        """Serve until cancelled, or until every adapter has come to its end (a terminal does).

        Misconfigured where a platform refuses our credentials from the first; StoreLost, saying
        what to do, where the database is damaged or taken away.
        """
        self.scheduler.start(self.runner.advance)
        self.store.watch(self._committed)
        try:
            await once_there(partial(self._access.given.read, self.store), "who may talk")
            await self.settings.read(self.store)
            await self.tools.start()
            async with asyncio.TaskGroup() as group:
                housekeeping = [
                    group.create_task(self.store.guard(), name="guard"),
                    group.create_task(self.delivery.run(), name="delivery"),
                    group.create_task(self._sweep(), name="sweep"),
                    group.create_task(self._tick(), name="tick"),
                    group.create_task(self._look_ahead(), name="schedules"),
                    group.create_task(follow(self.store), name="follower"),
                    group.create_task(self._keep_menus(), name="menus"),
                    group.create_task(self._announce(ready), name="announce"),
                    group.create_task(self._invite(), name="invitation"),
                    group.create_task(self._load(), name="loading"),
                ]
                await self.platforms.run()
                await self._settle()
                for task in housekeeping:
                    task.cancel()
        except BaseExceptionGroup as group:
            if (loss := loss_in(group)) is None:
                raise
            raise await self._lost(loss) from None
        finally:
            await self._close()

    def _committed(self, news: Committed) -> None:
        """Whatever put it there: rows in a session's inbox are worked on, rows in the outbox sent,
        and what is scheduled is looked at.
        What no commit of this process tells of is found by the sweep."""
        self._access.given.committed(news)
        if news.rights:
            self._menus.changed()
        self._cut({identity for identity, right in news.rights.items() if right is None})
        for session in news.sessions:
            self.scheduler.wake(session)
        if news.outbox:
            self.delivery.notify()
        if news.schedules:
            self.schedules.changed()
        self.settings.changed(news.choices)

    @property
    def settings(self) -> ChatSettings:
        return self.router.context.settings

    @property
    def _access(self) -> Access:
        return self.router.access

    def _cut(self, gone: AbstractSet[str]) -> None:
        """End the turns of people who may not talk any more: their rows are finished."""
        for session, turn in list(self.runner.running.items()):
            if turn.person in gone:
                self.scheduler.interrupt(session)

    async def _lost(self, loss: StoreLost) -> StoreLost:
        """Save what can be saved and tell the owners; the loss with all that is to be said."""
        await self.scheduler.close()
        text = ". ".join(part for part in (str(loss), await self.store.rescue()) if part)
        owners = self._access.owners()
        await tell_owners(f"🛑 The bot stops: {text}", owners, self.platforms.serving)
        return StoreLost(text)

    async def _announce(self, ready: "asyncio.Event | None") -> None:
        await self.platforms.all_ready.wait()
        self._say_who_may_talk()
        if ready is not None:
            ready.set()
        if warning := await self.store.warning():
            log.warning("%s", warning)
            await tell_owners(f"⚠️ {warning}.", self._access.owners(), self.platforms.serving)

    async def _load(self) -> None:
        await self.loading.run()
        self.platforms.say_ready()

    def _say_who_may_talk(self) -> None:
        if not self._serves_others:
            return
        parent = self.router.context.models.tier("parent")
        log.info("Configuration: %s. Model: %s", self.config.file, parent.model)
        if self._access.someone_talks():
            log.info("Who may talk: %s", who_may_talk(self._access))
        else:
            log.warning("%s", NOBODY_YET if self.router.owner_code.open else NOBODY)

    @property
    def _serves_others(self) -> bool:
        """Whether there is a platform besides the terminal."""
        return bool(set(self.platforms.adapters) - {TERMINAL.name})

    async def _invite(self) -> None:
        """Where nobody owns the bot, show who started it the code that makes an owner. Not in the
        log, which may be kept and read by others: to standard error itself."""
        pairing = self.config.access.pairing
        if not (self._serves_others and pairing) or self._access.owners():
            return
        code = self.router.owner_code.make()
        await self.platforms.some_ready.wait()
        print(invitation(code, self.platforms.signed_in), file=sys.stderr, flush=True)

    async def _sweep(self) -> None:
        reposted = False
        while True:
            reposted = reposted or await self._try(self._repost, "open questions cannot be renewed")
            await self._try(self._look_after, "unfinished work cannot be looked through")
            if time.monotonic() >= self._forget_at:
                self._forget_at = time.monotonic() + FORGET_EVERY
                await self._try(self._forget, "files that nobody needs cannot be removed")
            await asyncio.sleep(SWEEP_EVERY)

    async def _forget(self) -> None:
        if removed := await self.runner.incoming.blobs.sweep():
            log.info("removed %d files that no message shows", removed)

    async def _look_after(self) -> None:
        await self.router.sweep()
        await self.router.note_ignored()
        await self._look_after_people()
        await self.settings.read(self.store)  # what another process changed
        await self.store.run(lambda tx: tx.directory.set_fact(ALIVE, tx.now))
        await self.store.run(partial(close_left, composer=self.questions.composer))
        self.delivery.notify()  # of what another process put in: `bough sessions` writes beside us

    async def _look_after_people(self) -> None:
        """End rights whose time is over, forget old requests, and see what other processes did."""
        lapsed = await self.store.run(
            partial(end_lapsed, access=self._access, composer=self.router.context.composer)
        )
        gone = await self._access.given.read(self.store)
        self._cut(gone)
        for identity in lapsed | gone:
            if not self._access.may_talk(identity):
                await self.router.context.turns.stop_all_of(identity)
        self._menus.changed()

    async def _repost(self) -> None:
        """Fresh copies of open questions where the old buttons cannot be trusted any more."""
        alive = await self.store.read(lambda tx: tx.directory.fact(ALIVE))
        away = time.time() - alive if alive is not None else 0.0
        for name in self.platforms.adapters:
            kept = PLATFORMS[name].presses_kept if name in PLATFORMS else None
            # Below 0 the clock was set back, and nobody knows how long it was.
            if kept is None or 0 <= away < kept:
                continue
            count = await self.store.run(partial(self.questions.repost, platform=name))
            if count:
                log.info("%s: %d open questions were posted afresh", name, count)

    async def _keep_menus(self) -> None:
        while True:
            await self._menus.wait()
            await self._try(self._menus.look, "the menus of owners cannot be set")

    async def _look_ahead(self) -> None:
        """Begin what is scheduled, each at its time."""
        while True:
            await self._try(self.schedules.look, "what is scheduled cannot be looked after")
            await self.schedules.wait()

    async def _tick(self) -> None:
        """Escalate and expire questions when they are due."""
        failures = Tries()
        stuck: set[int] = set()
        ask_on = partial(self._ask_on, failures, stuck)
        while True:
            await self._try(ask_on, "questions cannot be looked after")
            await asyncio.sleep(TICK_EVERY)

    async def _ask_on(self, failures: Tries, stuck: set[int]) -> None:
        """Each question by itself: one that fails must not stop the others. `stuck`: those that
        failed each time; only a person can decide them now."""
        due = await self.store.read(partial(self.questions.due, now=time.time()))
        for question in due:
            if question in stuck:
                continue
            try:
                await self.store.run(partial(self.questions.tick, question=question))
            except StoreUnavailable:
                raise
            except Exception:
                log.exception("question %d cannot be looked after", question)
                if not failures.again(question):
                    stuck.add(question)
            else:
                failures.forget(question)

    async def _try(self, work: Callable[[], Awaitable[None]], what: str) -> bool:
        """The boundary of a task that goes on as long as the gateway does: what fails now is tried
        the next time, and no other task ends with it. Whether it worked."""
        try:
            await work()
        except StoreUnavailable as error:
            self._faults.failed(what, error)
        except Exception:
            log.exception("%s; it is tried again", what)
        else:
            return True
        return False

    async def _settle(self) -> None:
        """Wait until what came in is answered and sent."""
        while not (self.scheduler.idle() and self.delivery.idle()):  # noqa: ASYNC110
            await asyncio.sleep(0.02)

    async def _close(self) -> None:
        await self.scheduler.close()
        await self.tools.close()
        await self.router.context.panel.close()
        await self.router.close()
        for adapter in self.platforms.adapters.values():
            await close(adapter)
        await self.store.close()
