"""What processes have set aside for model calls that run now, where each of them sees it: one row
for each process, which that process alone writes."""

import asyncio
import logging
import uuid
from collections import defaultdict, deque
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field

from agent.concurrency import kept_going
from agent.text.formats import midnight
from storage.errors import StoreError
from storage.records.entries import Json
from storage.store import Store, Transaction

log = logging.getLogger(__name__)

KIND = "reservations"
"""Of the rows."""
BOOKED_WITHIN = 5.0
"""Seconds from the end of a call in which what it cost is still set aside: by then the ledger has
it."""
FRESH = 2.0
"""Seconds in which who set something aside may still find that there is too little."""
LONGEST_END = 5.0
"""Seconds for the end of a reservation to be written down; the next one does it too."""


@dataclass(frozen=True, slots=True)
class Others:
    """What other processes have set aside."""

    dollars: dict[str, float]
    """By pot."""
    contended: bool
    """One of them may be about to let go of it again."""


@dataclass(frozen=True, slots=True)
class _Aside:
    pots: Sequence[str]
    dollars: float


@dataclass(slots=True)
class SharedReservations:
    store: Store
    _running: dict[str, _Aside] = field(default_factory=dict, init=False)
    _entering: set[str] = field(default_factory=set, init=False)
    """Of those that run: it is not decided whether there is enough."""
    _over: deque[tuple[float, _Aside]] = field(default_factory=deque, init=False)
    """When, on the loop's clock, calls ended, and what they cost."""

    async def enter(self, pots: Sequence[str], amount: float) -> str:
        """Set money aside, whether or not it is there; under which key."""
        key = uuid.uuid4().hex
        self._running[key] = _Aside(pots, amount)
        self._entering.add(key)
        try:
            await self._write()
        except BaseException:
            await self.drop(key)
            raise
        return key

    def decided(self, key: str) -> None:
        """There is enough."""
        self._entering.discard(key)

    def others(self, tx: Transaction, pots: Sequence[str]) -> Others:
        found, contended = dict.fromkeys(pots, 0.0), False
        for row in tx.ephemeral.of(KIND):
            body = row.body
            if row.owner == self.store.process or body["day"] != midnight(tx.now):
                continue
            parts = [body["running"]] + [body["over"]] * (row.age < BOOKED_WITHIN)
            for pot in pots:
                found[pot] += sum(part.get(pot, 0.0) for part in parts)
            contended = contended or (body["entering"] and row.age < FRESH)
        return Others(found, contended)

    async def settle(self, key: str, cost: float) -> None:
        """The call is over. Others count what it cost until it is in the ledger."""
        if (aside := self._running.get(key)) is not None and cost:
            now = asyncio.get_running_loop().time()
            self._over.append((now, _Aside(aside.pots, cost)))
        await self.drop(key)

    async def drop(self, key: str) -> None:
        self._running.pop(key, None)
        self._entering.discard(key)
        with suppress(TimeoutError):
            try:
                await kept_going(self._write(), LONGEST_END)
            except StoreError as error:
                log.warning("money stays set aside for a call that is over: %s", error)

    async def _write(self) -> None:
        """Writes are done in the order in which they were begun, so the newest state stays."""
        now, process = asyncio.get_running_loop().time(), self.store.process
        while self._over and now - self._over[0][0] >= BOOKED_WITHIN:
            self._over.popleft()
        body: Json = {
            "running": _summed(self._running.values()),
            "over": _summed(aside for _, aside in self._over),
            "entering": bool(self._entering),
        }

        def work(tx: Transaction) -> None:
            tx.ephemeral.put(KIND, process, process, {**body, "day": midnight(tx.now)})

        await self.store.run(work)


def _summed(each: Iterable[_Aside]) -> dict[str, float]:
    found: defaultdict[str, float] = defaultdict(float)
    for aside in each:
        for pot in aside.pots:
            found[pot] += aside.dollars
    return dict(found)
