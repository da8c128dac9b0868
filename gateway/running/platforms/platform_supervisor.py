"""The platforms, each served for as long as the gateway runs: one that fails ends no other."""

import asyncio
import logging
import traceback
from collections.abc import Callable, Coroutine, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from adapters.base import Adapter, AdapterError, Misconfigured, Stopping
from adapters.events import Update
from adapters.platforms import TERMINAL
from agent.backoff import backoff
from gateway.inbound.router import Router
from gateway.inbound.threads import cursors
from gateway.outbound.connections import Connections
from gateway.processes.shares import Share
from gateway.running.loading import Loading
from gateway.running.own_bots import claim
from gateway.running.platforms.outage_news import OutageNews
from gateway.running.platforms.reception import Reception
from gateway.turns.failures import once_there
from storage.errors import StoreError
from storage.store import Store

log = logging.getLogger(__name__)

FIRST_PAUSE = 1.0
LONGEST_PAUSE = 30.0
LONGEST_REFUSED = 300.0
"""Seconds between tries in the end, where what is configured is refused: a person must mend it."""
REFUSED = "it refuses what is configured; the log says what to do"
AWAY = "it is not served for the moment; the log has why"
LATE = 10.0
"""Seconds from signing in until a platform that brings nothing is called away."""
STEADY = 30.0
"""Seconds for which a platform is served before an outage is called over."""


@dataclass
class _Outage:
    """Failures of a platform, from the first until it was served for a while."""

    pauses: Iterator[float] = field(default_factory=lambda: backoff(FIRST_PAUSE, LONGEST_PAUSE))
    """Seconds until it is tried again, each time."""
    refusals: Iterator[float] = field(default_factory=lambda: backoff(FIRST_PAUSE, LONGEST_REFUSED))
    """The same after a refusal."""
    refused: bool = False
    """Whether the last of them was one."""
    told: bool = False
    """Whether the owners have heard of it."""


@dataclass
class PlatformSupervisor:
    adapters: Mapping[str, Adapter]
    serving: Connections
    """Those that have started: only these can send."""
    store: Store
    router: Router
    news: OutageNews
    started: Callable[[], None]
    """Called when a platform can be sent to."""
    loading: Loading
    reception: Reception
    bots: Mapping[str, str] = field(default_factory=dict)
    """Platform → id of the bot, where the token says it."""
    all_ready: asyncio.Event = field(default_factory=asyncio.Event, init=False)
    """Set once every platform is served: updates are received from it, or another process does
    that."""
    signed_in: dict[str, str] = field(default_factory=dict, init=False)
    """Who the bot is on each platform, for people, once it has been there."""
    some_ready: asyncio.Event = field(default_factory=asyncio.Event, init=False)
    """The same of any platform."""
    settled: asyncio.Event = field(default_factory=asyncio.Event, init=False)
    """Set once some platform is served, and of every other one it is known whether it is."""
    _outages: dict[str, _Outage] = field(default_factory=dict, init=False)
    _seen: set[str] = field(default_factory=set, init=False)
    """Platforms that have been ready since the start of the process."""
    _ready: set[str] = field(default_factory=set, init=False)
    _late: set[str] = field(default_factory=set, init=False)
    """Those that let us sign in, and bring nothing."""
    _said: str = field(default="", init=False)
    _stopping: bool = field(default=False, init=False)
    _kinds: set[tuple[str, str]] = field(default_factory=set, init=False)
    """Faults whose traceback is in the log."""

    async def run(self) -> None:
        """Serve until cancelled, or until every adapter has come to its end (a terminal does).

        Misconfigured where a platform refuses what it is configured with, and has never been
        served with it.
        """
        async with asyncio.TaskGroup() as group:
            for adapter in self.adapters.values():
                group.create_task(self._keep(adapter), name=adapter.name)

    async def load(self) -> None:
        """Load what models need, beside the platforms."""
        await self.loading.run()
        self.say_ready()

    def take_no_more(self) -> None:
        """From now on nothing is received, and what there is to send still goes out."""
        self._stopping = True

    @property
    def serve_others(self) -> bool:
        """Whether there is a platform besides the terminal."""
        return bool(set(self.adapters) - {TERMINAL.name})

    @property
    def said(self) -> str:
        """Which platforms serve, for people; "" while that is not known."""
        return self._said

    async def _keep(self, adapter: Adapter) -> None:
        """Receive from one platform; whatever fails is tried again."""
        while True:
            try:
                return await self._serve(adapter)
            except Stopping:
                return  # It can be sent to until the end.
            except Misconfigured as error:
                if adapter.name not in self._seen:
                    raise
                problem: Exception = error
            except Exception as error:  # noqa: BLE001
                # The boundary between platforms: whatever fails here, the others are served.
                problem = error
            outage = self._outages.setdefault(adapter.name, _Outage())
            outage.refused = isinstance(problem, Misconfigured)
            pause = next(outage.refusals if outage.refused else outage.pauses)
            self._log(adapter, problem, pause)
            await self._fell(adapter, problem, outage)
            await asyncio.sleep(pause)

    async def _serve(self, adapter: Adapter) -> None:
        who = await adapter.start()
        log.info("%s: %s", adapter.name, who)
        if bot := self.bots.get(adapter.name):
            # Not before: a wrong token must not leave its id here.
            own = partial(claim, bots={adapter.name: bot})
            await once_there(partial(self.store.run, own), adapter.name)
        self.signed_in[adapter.name] = who
        self.serving.opened(adapter)
        self.started()  # what waited for it is in the outbox, and no commit tells of it
        up = asyncio.Event()
        watching = asyncio.create_task(self._rose(adapter, up), name=f"{adapter.name} is ready")
        try:
            if self.reception.wanted(adapter):
                await self._receive(adapter, up)
            else:
                up.set()
                await asyncio.Event().wait()
        finally:
            watching.cancel()
            await asyncio.wait([watching])

    async def _take_in(self, update: Update) -> None:
        if self._stopping:
            raise Stopping("the bot is being stopped")
        await self.router.receive(update)

    async def _receive(self, adapter: Adapter, up: asyncio.Event) -> None:
        """Whenever that is this process's to do, until the adapter comes to its end."""

        def stand_by() -> None:
            held = "polled" if adapter.feeds[0].startswith("poll:") else "held"
            log.info("Standing by: %s is %s by another process", adapter.name, held)
            up.set()

        async with self.reception.of(adapter) as share:
            while True:
                feeds = await self.reception.taken(share, stand_by)
                await adapter.prepare(feeds)
                # What was only taken in comes before what is new.
                await once_there(self.router.sweep, adapter.name)
                read = partial(self.store.read, partial(cursors, platform=adapter.name))
                read_so_far = await once_there(read, adapter.name)
                async with self.reception.receiving(adapter, feeds):
                    run = partial(adapter.run, self._take_in, read_so_far)
                    if await self._while_ours(share, feeds, run, _set_ready(adapter, up)):
                        return

    async def _while_ours(
        self,
        share: Share | None,
        feeds: Mapping[str, int],
        run: Callable[[], Coroutine[Any, Any, None]],
        set_ready: Coroutine[Any, Any, None],
    ) -> bool:
        """Whether it came to its end."""
        beside = [asyncio.create_task(set_ready)]
        ends: list[asyncio.Task[Any]] = []
        if share is not None:
            other = self.reception.duties.other_than(share, feeds)
            ends.append(asyncio.create_task(other, name=f"{share.partners} ours"))
            await asyncio.sleep(0)
        try:
            if any(task.done() for task in ends):
                return False  # it took too long to prepare
            ends.append(running := asyncio.create_task(run()))
            await asyncio.wait(ends, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in (*beside, *ends):
                task.cancel()
            await asyncio.wait((*beside, *ends))
        if running.cancelled():
            return False
        running.result()
        return True

    async def _rose(self, adapter: Adapter, up: asyncio.Event) -> None:
        """Say that a platform is served, and that an outage is over when it is."""
        if not await self._in_time(up):
            log.warning(
                "%s: signed in, but what is sent to the bot cannot be received yet; trying on",
                adapter.name,
            )
            self._late.add(adapter.name)
            self.say_ready()
            await up.wait()
        self._late.discard(adapter.name)
        self._seen.add(adapter.name)
        self._ready.add(adapter.name)
        self.some_ready.set()
        self.say_ready()
        if self._seen == set(self.adapters):
            self.all_ready.set()
        await asyncio.sleep(STEADY)
        outage = self._outages.pop(adapter.name, None)
        if outage is not None and outage.told:
            await self.news.tell(adapter.name, f"✅ {_title(adapter)} is served again.")

    async def _in_time(self, up: asyncio.Event) -> bool:
        try:
            async with asyncio.timeout(LATE):
                await up.wait()
        except TimeoutError:
            return False
        return True

    async def _fell(self, adapter: Adapter, problem: Exception, outage: _Outage) -> None:
        self.serving.closed(adapter.name)
        self._ready.discard(adapter.name)
        self._late.discard(adapter.name)
        await close(adapter)
        self.say_ready()
        if adapter.name in self._seen and not outage.told:
            outage.told = True
            await self.news.tell(
                adapter.name,
                f"⚠️ {_title(adapter)} is not served for the moment: {_reason(problem)} It is "
                "tried again and again, and what is to be sent there waits. You hear of it when "
                "it is served again.",
            )

    def _log(self, adapter: Adapter, problem: Exception, pause: float) -> None:
        """A fault that nobody foresaw with its traceback, but once."""
        expected = isinstance(problem, AdapterError | StoreError)
        kind = (adapter.name, repr(traceback.extract_tb(problem.__traceback__)[-1:]))
        said = str(problem) if expected else repr(problem)
        trace = None if expected or kind in self._kinds else problem
        self._kinds.add(kind)
        log.warning("%s: %s; again in %g s", adapter.name, said, pause, exc_info=trace)

    def why_not(self, platform: str) -> str:
        """Why no updates are received from it now, for operators; "" where they are."""
        if platform in self._ready:
            return ""
        outage = self._outages.get(platform)
        return REFUSED if outage is not None and outage.refused else AWAY

    def say_ready(self) -> None:
        """Which platforms serve, as soon as that is known of each, whether the models are loaded,
        and whenever either changes."""
        away = [name for name in self.adapters if name not in self._ready]
        if not set(away) <= set(self._outages) | self._late:
            return
        served = ", ".join(name for name in self.adapters if name in self._ready)
        parts = (served, f"away: {', '.join(away)}" if away else "", self.loading.said)
        said = "; ".join(part for part in parts if part)
        if self._ready:
            self.settled.set()
        if self._ready and said != self._said:
            log.info("Ready: %s", said)
        self._said = said


async def _set_ready(adapter: Adapter, up: asyncio.Event) -> None:
    await adapter.wait_ready()
    up.set()


async def close(adapter: Adapter) -> None:
    """Close it, come what may: it has failed already, or the others wait for their turn."""
    try:
        await adapter.close()
    except Exception:
        log.exception("%s could not be closed", adapter.name)


def _title(adapter: Adapter) -> str:
    return adapter.name.capitalize()


def _reason(problem: Exception) -> str:
    if isinstance(problem, AdapterError):
        return f"{str(problem).rstrip('.')}."
    return "something went wrong in the bot; its log says what."
