"""At most one turn for each session: a wake-up starts it or makes it run again."""

import asyncio
import logging
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Protocol

from agent.backoff import backoff
from gateway.turns.turn import Turn
from storage.errors import StoreUnavailable
from storage.faults import Faults
from storage.records.inbox_outbox import InboxRow
from storage.store import Transaction

log = logging.getLogger(__name__)

FIRST_PAUSE = 0.25
LONGEST_PAUSE = 30.0
"""Seconds until a turn that the store did not let go on is tried again, the first time and at most.
"""

Advance = Callable[[int, Turn | None], Awaitable[None]]
Begin = Callable[[Transaction, int], Turn | None]
"""Begins the turn that is due in a session, where it can be begun within that transaction."""


class SessionScheduler(Protocol):
    """A wake-up need not carry anything: the store knows what is due. So one that is lost or comes
    twice does no harm."""

    def wake(self, session: int, begun: Turn | None = None) -> None:
        """Make sure that a turn looks at the session after now. `begun`: the turn that is due, as
        the transaction before this call found it; forgotten where anything comes in between."""
        ...

    def begin(self, tx: Transaction, row: InboxRow, begin: Begin) -> Turn | None:
        """In the transaction that takes a row in: begin the turn that is due, where this process
        may and none runs or is kept from running. Gives what `wake` is to go on with, once that is
        committed; None also where that is seen to."""
        ...

    def interrupt(self, session: int) -> None:
        """Cancel the running turn and look at the session anew."""
        ...

    def idle(self) -> bool:
        """Whether no turn runs in this process."""
        ...

    async def close(self) -> None:
        """Cancel everything and wait for the end of it."""
        ...

    def hold(self, session: int) -> AbstractAsyncContextManager[bool]:
        """Cancel the running turn, wait for its end, and let none begin within the block: whoever
        puts the books right must not be overtaken. Gives whether a turn ran. At its end the session
        is looked at: the rows of a turn that was cut are no news to the store."""
        ...


class InProcessScheduler:
    """All turns run in this process; their tasks are owned here. What is woken before `start` waits
    for it."""

    def __init__(self) -> None:
        self._advance: Advance | None = None
        self._workers: dict[int, asyncio.Task[None]] = {}
        self._turns: dict[int, asyncio.Task[None]] = {}
        self._due: dict[int, Turn | None] = {}
        self._held: Counter[int] = Counter()
        self._closed = False
        self._faults = Faults(log)
        self._again: Callable[[int], None] = self.wake
        self._pauses: dict[int, Iterator[float]] = {}
        """Of sessions whose last turn the store did not let go on."""
        self._timers: dict[int, asyncio.TimerHandle] = {}

    def start(self, advance: Advance, again: Callable[[int], None] | None = None) -> None:
        """Run turns from now on, by `advance`, which does what is due in a session: first the turn
        that was begun, where there is one. `again`: what wakes a session once more whose turn the
        store did not let go on; without it, `wake`."""
        self._advance = advance
        self._again = again or self.wake
        for session in tuple(self._due):
            self.wake(session)

    def wake(self, session: int, begun: Turn | None = None) -> None:
        if self._closed:
            return
        self._due[session] = begun if session not in self._turns else None
        if self._advance is not None and session not in self._workers:
            worker = self._work(session, self._advance)
            self._workers[session] = asyncio.create_task(worker, name=f"session {session}")

    def free(self, session: int) -> bool:
        """Whether no turn runs or is kept from running. In any thread: who holds the session only
        after a transaction has asked finds what that one wrote."""
        busy = session in self._workers or session in self._held
        return self._advance is not None and not busy

    def begin(self, tx: Transaction, row: InboxRow, begin: Begin) -> Turn | None:
        session = row.session
        return begin(tx, session) if session is not None and self.free(session) else None

    def idle(self) -> bool:
        return not self._workers

    def interrupt(self, session: int) -> None:
        self.cut(session)
        self.wake(session)

    def cut(self, session: int) -> None:
        """Cancel the running turn, where one runs."""
        turn = self._turns.get(session)
        if turn is not None:
            turn.cancel("interrupted")

    async def run(self, session: int, begun: Turn | None = None) -> None:
        """Look at a session, and return when nothing runs in it. Where that is cancelled, so is the
        turn, and its end is waited for. `begun`: as for `wake`."""
        self.wake(session, begun)
        while (worker := self._workers.get(session)) is not None:
            try:
                await asyncio.wait([worker])
            except asyncio.CancelledError:
                self.cut(session)
                await asyncio.wait([worker])
                raise

    @asynccontextmanager
    async def hold(self, session: int) -> AsyncIterator[bool]:
        self._held[session] += 1
        try:
            turn = self._turns.get(session)
            if turn is not None:
                turn.cancel("stopped")
                await asyncio.wait([turn])
            yield turn is not None
        finally:
            self._held[session] -= 1
            if not self._held[session]:
                del self._held[session]
            self.wake(session)

    async def close(self) -> None:
        """Cancel everything and wait for the end of it."""
        self._closed = True
        for timer in self._timers.values():
            timer.cancel()
        tasks = [*self._turns.values(), *self._workers.values()]
        for task in tasks:
            task.cancel("closed")
        if tasks:
            await asyncio.wait(tasks)

    async def _work(self, session: int, advance: Advance) -> None:
        try:
            while session in self._due and session not in self._held:
                run = self._turn(session, self._due.pop(session), advance)
                turn = asyncio.create_task(run, name=f"turn of session {session}")
                self._turns[session] = turn
                await asyncio.wait([turn])
                del self._turns[session]
        finally:
            del self._workers[session]

    async def _turn(self, session: int, begun: Turn | None, advance: Advance) -> None:
        try:
            await advance(session, begun)
            self._pauses.pop(session, None)
        except StoreUnavailable as error:
            self._faults.failed("a turn cannot go on; it is tried again", error)
            self._try_later(session)
        except Exception:
            # The boundary of a turn: one that fails must not take the others with it.
            log.exception("the turn of session %s failed; it is tried again by the sweep", session)

    def _try_later(self, session: int) -> None:
        """The sweep would find it too, but people wait."""
        if self._closed:
            return
        if (timer := self._timers.pop(session, None)) is not None:
            timer.cancel()
        pauses = self._pauses.setdefault(session, backoff(FIRST_PAUSE, LONGEST_PAUSE, jitter=True))
        loop = asyncio.get_running_loop()
        self._timers[session] = loop.call_later(next(pauses), self._wake_again, session)

    def _wake_again(self, session: int) -> None:
        self._timers.pop(session, None)
        self._again(session)
