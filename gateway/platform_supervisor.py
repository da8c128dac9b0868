"""The platforms, each served for as long as the gateway runs: one that fails ends no other."""

import asyncio
import logging
import traceback
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial

from adapters.base import Adapter, AdapterError, Misconfigured
from adapters.platforms import private_chat
from agent.backoff import backoff
from gateway.inbound.router import Router
from gateway.inbound.threads import cursors
from gateway.loading import Loading
from gateway.outbound.composer import Composer
from gateway.outbound.connections import Connections
from gateway.turns.failures import once_there
from storage.errors import StoreError
from storage.store import Store, Transaction

log = logging.getLogger(__name__)

FIRST_PAUSE = 1.0
LONGEST_PAUSE = 30.0
STEADY = 30.0
"""Seconds for which a platform is served before an outage is called over."""


@dataclass
class _Outage:
    """Failures of a platform, from the first until it was served for a while."""

    pauses: Iterator[float] = field(default_factory=lambda: backoff(FIRST_PAUSE, LONGEST_PAUSE))
    """Seconds until it is tried again, each time."""
    told: bool = False
    """Whether the owners have heard of it."""


@dataclass
class PlatformSupervisor:
    adapters: Mapping[str, Adapter]
    serving: Connections
    """Those that have started: only these can send."""
    store: Store
    router: Router
    composer: Composer
    owners: Callable[[], tuple[str, ...]]
    """Identities of those who are now."""
    started: Callable[[], None]
    """Called when a platform can be sent to."""
    loading: Loading
    all_ready: asyncio.Event = field(default_factory=asyncio.Event, init=False)
    """Set once updates have been received from every platform."""
    signed_in: dict[str, str] = field(default_factory=dict, init=False)
    """Who the bot is on each platform, for people, once it has been there."""
    some_ready: asyncio.Event = field(default_factory=asyncio.Event, init=False)
    """Set once updates have been received from any platform."""
    _outages: dict[str, _Outage] = field(default_factory=dict, init=False)
    _seen: set[str] = field(default_factory=set, init=False)
    """Platforms that have been ready since the start of the process."""
    _ready: set[str] = field(default_factory=set, init=False)
    _said: str = field(default="", init=False)
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

    async def _keep(self, adapter: Adapter) -> None:
        """Receive from one platform; whatever fails is tried again."""
        while True:
            try:
                return await self._serve(adapter)
            except Misconfigured as error:
                if adapter.name not in self._seen:
                    raise
                problem: Exception = error
            except Exception as error:  # noqa: BLE001
                # The boundary between platforms: whatever fails here, the others are served.
                problem = error
            outage = self._outages.setdefault(adapter.name, _Outage())
            pause = next(outage.pauses)
            self._log(adapter, problem, pause)
            await self._fell(adapter, problem, outage)
            await asyncio.sleep(pause)

    async def _serve(self, adapter: Adapter) -> None:
        who = await adapter.start()
        log.info("%s: %s", adapter.name, who)
        self.signed_in[adapter.name] = who
        self.serving.opened(adapter)
        self.started()  # what waited for it is in the outbox, and no commit tells of it
        # What was only taken in comes before what is new.
        await once_there(self.router.sweep, adapter.name)
        read = partial(self.store.read, partial(cursors, platform=adapter.name))
        read_so_far = await once_there(read, adapter.name)
        watching = asyncio.create_task(self._rose(adapter), name=f"{adapter.name} is ready")
        try:
            await adapter.run(self.router.receive, read_so_far)
        finally:
            watching.cancel()
            await asyncio.wait([watching])

    async def _rose(self, adapter: Adapter) -> None:
        """Say that a platform is served, and that an outage is over when it is."""
        await adapter.wait_ready()
        self._seen.add(adapter.name)
        self._ready.add(adapter.name)
        self.some_ready.set()
        self.say_ready()
        if self._seen == set(self.adapters):
            self.all_ready.set()
        await asyncio.sleep(STEADY)
        outage = self._outages.pop(adapter.name, None)
        if outage is not None and outage.told:
            await self._tell(adapter, f"✅ {_title(adapter)} is served again.")

    async def _fell(self, adapter: Adapter, problem: Exception, outage: _Outage) -> None:
        self.serving.closed(adapter.name)
        self._ready.discard(adapter.name)
        await close(adapter)
        self.say_ready()
        if adapter.name in self._seen and not outage.told:
            outage.told = True
            await self._tell(
                adapter,
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

    def say_ready(self) -> None:
        """Which platforms serve, as soon as that is known of each, whether the models are loaded,
        and whenever either changes."""
        away = [name for name in self.adapters if name not in self._ready]
        if not set(away) <= set(self._outages):
            return
        said = ", ".join(name for name in self.adapters if name in self._ready)
        said += f"; away: {', '.join(away)}" if away else ""
        said += f"; {self.loading.said}" if self.loading.said else ""
        if self._ready and said != self._said:
            log.info("Ready: %s", said)
        self._said = said

    async def _tell(self, about: Adapter, text: str) -> None:
        """The owners on the other platforms, in private."""
        others = set(self.serving) - {about.name}
        reached = [
            chat.address
            for owner in self.owners()
            if (chat := private_chat(owner)) is not None and chat.platform in others
        ]
        try:
            await self.store.run(partial(self._post, chats=reached, text=text))
        except StoreError:
            log.exception("the owners were not told: %s", text)

    def _post(self, tx: Transaction, chats: list[str], text: str) -> None:
        for chat in chats:
            for parcel in self.composer.post(chat, text):
                tx.outbox.enqueue(parcel)


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
