"""At most one turn for each session: a wake-up starts it or makes it run again."""

import asyncio
import logging
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Protocol

from gateway.turns.turn import Turn
from storage.errors import StoreUnavailable
from storage.faults import Faults

log = logging.getLogger(__name__)

Advance = Callable[[int, Turn | None], Awaitable[None]]


class SessionScheduler(Protocol):
    """A wake-up need not carry anything: the store knows what is due. So one that is lost or comes
    twice does no harm."""

    def wake(self, session: int, begun: Turn | None = None) -> None:
        """Make sure that a turn looks at the session after now. `begun`: the turn that is due, as
        the transaction before this call found it; forgotten where anything comes in between."""
        ...

    def free(self, session: int) -> bool:
        """Whether no turn runs or is kept from running. In any thread: who holds the session only
        after a transaction has asked finds what that one wrote."""
        ...

    def interrupt(self, session: int) -> None:
        """Cancel the running turn and look at the session anew."""
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

    def start(self, advance: Advance) -> None:
        """Run turns from now on, by `advance`, which does what is due in a session: first the turn
        that was begun, where there is one."""
        self._advance = advance
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
        busy = session in self._workers or session in self._held
        return self._advance is not None and not busy

    def idle(self) -> bool:
        return not self._workers

    def interrupt(self, session: int) -> None:
        turn = self._turns.get(session)
        if turn is not None:
            turn.cancel("interrupted")
        self.wake(session)

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
        except StoreUnavailable as error:
            self._faults.failed("a turn cannot go on; it is tried again", error)
        except Exception:
            # The boundary of a turn: one that fails must not take the others with it.
            log.exception("the turn of session %s failed; it is tried again by the sweep", session)
