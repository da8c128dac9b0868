"""Duties that are shared with other processes on one database."""

import asyncio
import logging
import time
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from itertools import count
from zlib import crc32

from gateway.processes.duties import Duties, Hold, Idle, Lapsed, cut_off
from gateway.processes.shares import Share, surplus
from gateway.processes.switchboard import Switchboard
from storage.ephemeral import PROCESS
from storage.errors import StoreUnavailable
from storage.faults import Faults
from storage.store import Store, Transaction

log = logging.getLogger(__name__)

EVERY = 2.0
LASTS = 8.0
MARGIN = 1.0
"""Seconds: between renewals, for which a lease is had, and by how much sooner we take it for lost:
clocks may run a little apart."""
PATIENCE = 3
"""Heartbeats for which only what is idle is let go of."""
TIDY_EVERY = 600.0
TOPIC = "duties"


@dataclass(slots=True)
class _Held:
    tenure: int
    until: float
    """By our clock, when it is not surely ours any more."""
    yielding: bool = False
    """Let go of once nothing of it is under way, and nothing of it is begun."""
    holds: set[Hold] = field(default_factory=set)

    def cut(self, which: Callable[[Hold], bool]) -> None:
        """End work that is under way."""
        now = asyncio.get_running_loop().time()
        for hold in self.holds:
            if hold.timeout is not None and not hold.timeout.expired() and which(hold):
                hold.timeout.reschedule(now)

    def put_off(self, until: float) -> None:
        """Let work go on until then, by the event loop's clock."""
        for hold in self.holds:
            goes_on = hold.acts or not self.yielding
            if hold.timeout is not None and not hold.timeout.expired() and goes_on:
                hold.timeout.reschedule(until)


@dataclass(slots=True)
class _Wanted:
    share: Share
    idle: Idle
    partners: int = 1
    crowded: int = 0
    """Heartbeats since we have more than is fair."""


@dataclass(frozen=True, slots=True)
class _Plan:
    shares: Mapping[Share, frozenset[str]]
    """What we have of each, to be renewed."""
    let_go: frozenset[str]
    first: bool
    tidy: bool


@dataclass(frozen=True, slots=True)
class _Renewed:
    had: frozenset[str]
    living: frozenset[str]
    partners: Mapping[Share, int]


class LeasedDuties(Duties):
    """`clock` gives seconds that never jump and go on while the process is stopped: the event
    loop's own."""

    alone = False

    def __init__(
        self,
        store: Store,
        switchboard: Switchboard,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._store = store
        self._clock = clock
        self._held: dict[str, _Held] = {}
        self._wanted: dict[Share, _Wanted] = {}
        self._left: set[str] = set()
        """Leases to be let go of."""
        self._living: frozenset[str] = frozenset()
        self._alive_until = -1.0
        self._tenures = count(1)
        self._listeners: list[Callable[[], None]] = []
        self._changed = asyncio.Event()
        self._poked = asyncio.Event()
        self._beating = asyncio.Lock()
        self._begun = self._ended = False
        self._tidy_at = clock()
        self._faults = Faults(log)
        switchboard.on(TOPIC, lambda _: self._poked.set())

    # What is asked for with every message

    def tenure(self, name: str) -> int | None:
        held = self._held.get(name)
        if held is None or held.yielding or held.until <= self._clock():
            return None
        return held.tenure

    def mine(self, share: Share) -> Mapping[str, int]:
        found = ((name, self.tenure(name)) for name in share.names)
        return {name: tenure for name, tenure in found if tenure is not None}

    def part(self, share: Share) -> float:
        return len(self.mine(share)) / len(share.names) if share.names else 0.0

    def alive(self) -> bool:
        return self._clock() < self._alive_until

    @property
    def living(self) -> frozenset[str]:
        return self._living - {self._store.process}

    def want(self, share: Share, idle: Idle) -> None:
        self._wanted[share] = _Wanted(share, idle)
        self._left.discard(self._partner(share))
        self._poked.set()

    def leave(self, share: Share) -> None:
        if self._wanted.pop(share, None) is None:
            return
        gone = {name for name in share.names if self._held.pop(name, None) is not None}
        self._left |= gone | {self._partner(share)}
        self._poked.set()
        self._tell()

    def watch(self, listener: Callable[[], None]) -> None:
        self._listeners.append(listener)

    def settled(self) -> None:
        if any(held.yielding for held in self._held.values()):
            self._poked.set()

    async def other_than(self, share: Share, had: Mapping[str, int]) -> Mapping[str, int]:
        while (mine := self.mine(share)) == had:
            ends = [held.until for name in had if (held := self._held.get(name)) is not None]
            changed, left = self._changed, min(ends) - self._clock() if ends else None
            with suppress(TimeoutError):
                async with asyncio.timeout(left):
                    await changed.wait()
        return mine

    @asynccontextmanager
    async def hold(self, name: str, tenure: int) -> AsyncIterator[Hold]:
        held = self._held.get(name)
        if held is None or self.tenure(name) != tenure:
            raise Lapsed
        hold = Hold()
        held.holds.add(hold)
        try:
            # Still renewed while it is yielded: what is under way may come to its end.
            until = self._on_the_loop(held.until)
            async with cut_off(hold, until, lambda: held.until > self._clock()):
                yield hold
        finally:
            held.holds.discard(hold)

    # The heartbeat

    async def begin(self) -> None:
        await self.beat()

    async def run(self) -> None:
        while True:
            self._poked.clear()
            try:
                again = await self.beat()
            except StoreUnavailable as error:
                again = False
                self._faults.failed("duties cannot be renewed", error)
            except Exception:
                # The boundary of a task that goes on as long as the process does: what is not
                # renewed is lost by itself.
                again = False
                log.exception("duties cannot be renewed; it is tried again")
            if not again:
                with suppress(TimeoutError):
                    async with asyncio.timeout(EVERY):
                        await self._poked.wait()

    async def end(self) -> None:
        self._ended = True
        self._held.clear()
        self._tell()
        async with self._beating:

            def work(tx: Transaction) -> None:
                tx.leases.release(self._store.process)
                tx.signal(TOPIC, {})

            await self._store.run(work)

    async def beat(self) -> bool:
        """Renew, take and let go; whether there is more to let go of at once. StoreUnavailable."""
        async with self._beating:
            if self._ended:
                return False
            plan = self._plan()
            began = self._clock()
            renewed = await self._store.run(partial(_renew, process=self._store.process, plan=plan))
            self._left -= plan.let_go
            self._begun = True
            self._learn(renewed, began)
            return any(self._surplus(wanted) for wanted in self._wanted.values())

    def _plan(self) -> _Plan:
        """What is let go of is not ours any more from here on, before anybody hears of it."""
        let_go = set(self._left)
        before = set(self._held)
        for wanted in self._wanted.values():
            for name in self._surplus(wanted):
                self._yield(name)
            for name in wanted.share.names:
                held = self._held.get(name)
                if held is not None and held.yielding and wanted.idle(name):
                    del self._held[name]
                    let_go.add(name)
        if before != set(self._held):
            self._tell()
        now = self._clock()
        if tidy := now >= self._tidy_at:
            self._tidy_at = now + TIDY_EVERY
        shares = {
            share: frozenset(name for name in share.names if name in self._held)
            for share in self._wanted
        }
        return _Plan(shares, frozenset(let_go), not self._begun, tidy)

    def _surplus(self, wanted: _Wanted) -> list[str]:
        share = wanted.share
        mine = [name for name in share.names if self.has(name)]
        busy = frozenset(name for name in mine if not wanted.idle(name))
        patient = wanted.crowded < PATIENCE
        return surplus(mine, share.fair(wanted.partners), busy, patient=patient)

    def _yield(self, name: str) -> None:
        held = self._held[name]
        held.yielding = True
        held.cut(lambda hold: not hold.acts)
        self._tell()

    def _learn(self, renewed: _Renewed, began: float) -> None:
        if self._ended:
            return
        now, until = self._clock(), began + LASTS - MARGIN
        before = {name: held.tenure for name, held in self._held.items()}
        self._living, self._alive_until = renewed.living, until
        wanted_names = {name for share in self._wanted for name in share.names}
        for name in renewed.had & wanted_names:
            held = self._held.get(name)
            if held is None or held.until <= now:
                # It may have been another's in between.
                self._held[name] = _Held(next(self._tenures), until)
                continue
            held.until = until
            held.put_off(self._on_the_loop(until))
        for name in self._held.keys() - renewed.had:
            lost = self._held.pop(name)
            lost.until = now
            lost.cut(lambda _: True)
        for share, wanted in self._wanted.items():
            wanted.partners = max(renewed.partners.get(share, 1), 1)
            crowded = len(self.mine(share)) > share.fair(wanted.partners)
            wanted.crowded = wanted.crowded + 1 if crowded else 0
        if before != {name: held.tenure for name, held in self._held.items()}:
            self._tell()

    def _tell(self) -> None:
        self._changed.set()
        self._changed = asyncio.Event()
        for listener in self._listeners:
            listener()

    def _partner(self, share: Share) -> str:
        return f"{share.partners}{self._store.process}"

    def _on_the_loop(self, until: float) -> float:
        return asyncio.get_running_loop().time() + until - self._clock()


def _renew(tx: Transaction, process: str, plan: _Plan) -> _Renewed:
    """In one transaction. What nobody has is taken, as much as is fair."""
    leases = tx.leases
    if plan.tidy:
        leases.tidy()
    if plan.let_go:
        leases.release(process, plan.let_go)
    standing = [f"{PROCESS}{process}", *(f"{share.partners}{process}" for share in plan.shares)]
    kept = frozenset[str]().union(*plan.shares.values())
    holders = leases.renew(kept.union(standing), process, LASTS)
    partners = {
        share: sum(name.startswith(share.partners) for name in holders) for share in plan.shares
    }
    more: set[str] = set()
    for share, ours in plan.shares.items():
        free = [
            name
            for name in share.names
            if name not in plan.let_go | ours and holders.get(name, process) == process
        ]
        # Each in an order of its own: who asks at the same time asks for others.
        free.sort(key=lambda name: crc32(f"{process} {name}".encode()))
        more |= set(free[: max(share.fair(partners[share]) - len(ours), 0)])
    renewed = frozenset(name for name in kept if holders.get(name) == process)
    had = renewed | leases.take(more, process, LASTS)
    if plan.let_go or plan.first:
        tx.signal(TOPIC, {})
    living = frozenset(name.removeprefix(PROCESS) for name in holders if name.startswith(PROCESS))
    return _Renewed(had, living, partners)


def duties_of(store: Store, switchboard: Switchboard) -> Duties:
    return Duties() if store.jobs is None else LeasedDuties(store, switchboard)
