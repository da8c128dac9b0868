"""How many children run at once: slots, of which each child takes one and gives it back.

What a session delegates to the background may be run by any process, so where there are several
its slots are rows: a line in which whoever stands among the first has one. A process that lives no
more stands in no line, and who takes over its child takes over the place in the line.
"""

import asyncio
import logging
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol
from weakref import WeakValueDictionary

from agent.concurrency import kept_going, within
from storage.errors import StoreError
from storage.records.delegations import Delegation
from storage.records.entries import Json
from storage.store import Store, Transaction

log = logging.getLogger(__name__)

TOPIC = "slots"
"""Under which processes tell each other that a slot became free."""
LOOK_EVERY = 2.0
"""Seconds between looks of who waits: of a process that dies nobody is told."""
LONGEST_END = 5.0
"""Seconds for giving a slot back."""
FACT = "slots:{}"
"""By session: who stands in the line, as pairs of delegation and process."""


class Slot(Protocol):
    async def take(self, waits: Callable[[], None]) -> None:
        """Wait for it; `waits` is called where it is not free at once. Cancelled, it is nobody's.
        StoreError."""
        ...

    async def give_back(self) -> None: ...


class Semaphores:
    """A limit for each session that delegates; what it delegates to the background has one of its
    own, so that an answer never waits for hours of background work."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self._known: WeakValueDictionary[tuple[int, bool], asyncio.Semaphore] = (
            WeakValueDictionary()
        )

    def of(self, delegation: Delegation) -> asyncio.Semaphore:
        """Hold it while the delegation runs; it lasts for as long as anybody does."""
        key = (delegation.session, delegation.background)
        return self._known.setdefault(key, asyncio.Semaphore(self.limit))


@dataclass(frozen=True, slots=True)
class LocalSlot:
    """Of those of this process."""

    semaphore: asyncio.Semaphore

    async def take(self, waits: Callable[[], None]) -> None:
        if self.semaphore.locked():
            waits()
        await self.semaphore.acquire()

    async def give_back(self) -> None:
        self.semaphore.release()


@dataclass
class Slots:
    """Those of a process. One of several hands `heard` what others say under TOPIC."""

    store: Store
    semaphores: Semaphores
    _waiting: dict[int, set[asyncio.Event]] = field(default_factory=dict, init=False)
    """By the session that delegates."""
    _here: set[int] = field(default_factory=set, init=False)
    """Delegations of this process that stand in a line, or are to."""

    def of(self, delegation: Delegation) -> Slot:
        """A turn and the children that it waits for run in one process; the others anywhere."""
        if self.store.jobs is None or not delegation.background:
            return LocalSlot(self.semaphores.of(delegation))
        return SharedSlot(self, delegation.session, delegation.id)

    def heard(self, message: Json) -> None:
        self._wake(int(message["session"]))

    async def stand(self, session: int, delegation: int) -> bool:
        """Stand in the line, or go on standing there; whether it is among the first."""

        def work(tx: Transaction) -> bool:
            living = tx.ephemeral.living() | {self.store.process}
            line = [
                [who, process]
                for who, process in tx.directory.fact(FACT.format(session)) or ()
                if who == delegation or (process in living and self._is_wanted(who, process))
            ]
            mine = [delegation, self.store.process]
            line = [mine if one[0] == delegation else one for one in line]
            if mine not in line:
                line.append(mine)
            self._keep(tx, session, line)
            return line.index(mine) < self.semaphores.limit

        self._here.add(delegation)
        return await self.store.run(work)

    async def leave(self, session: int, delegation: int) -> None:
        """Where that cannot be written down now, the next one who stands there does it."""
        self._here.discard(delegation)

        def work(tx: Transaction) -> None:
            line = tx.directory.fact(FACT.format(session)) or []
            mine = [delegation, self.store.process]
            if mine in line:
                self._keep(tx, session, [one for one in line if one != mine])
                tx.signal(TOPIC, {"session": session})

        try:
            await kept_going(self.store.run(work), LONGEST_END)
        except (StoreError, TimeoutError) as error:
            log.warning("the slot of delegation %d is given back later: %s", delegation, error)
        finally:
            self._wake(session)

    async def news(self, session: int) -> None:
        """Wait until somebody left the line, or it is time to look."""
        event = asyncio.Event()
        self._waiting.setdefault(session, set()).add(event)
        try:
            await within(event, LOOK_EVERY)
        finally:
            self._waiting[session].discard(event)
            if not self._waiting[session]:
                del self._waiting[session]

    def _is_wanted(self, delegation: int, process: str) -> bool:
        return process != self.store.process or delegation in self._here

    def _keep(self, tx: Transaction, session: int, line: list[list[int | str]]) -> None:
        if line != tx.directory.fact(FACT.format(session)):
            tx.directory.set_fact(FACT.format(session), line)

    def _wake(self, session: int) -> None:
        for event in self._waiting.get(session, ()):
            event.set()


@dataclass(frozen=True, slots=True)
class SharedSlot:
    """Of those of all processes."""

    slots: Slots
    session: int
    delegation: int

    async def take(self, waits: Callable[[], None]) -> None:
        try:
            if await self.slots.stand(self.session, self.delegation):
                return
            waits()
            while not await self.slots.stand(self.session, self.delegation):
                await self.slots.news(self.session)
        except BaseException:
            await self.give_back()
            raise

    async def give_back(self) -> None:
        await self.slots.leave(self.session, self.delegation)
