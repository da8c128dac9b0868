"""Sessions that many processes share: a wake-up is a job that one of them fetches, to run the turn
that is due as it would alone. Who takes a message in whose answer it would send as well takes its
job with it, and begins the turn at once. Whoever keeps turns from running says so in the store."""

import asyncio
import logging
import secrets
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from functools import partial

from agent.concurrency import kept_going
from gateway.processes.switchboard import Switchboard
from gateway.turns.cancellation import turn_on_record
from gateway.turns.scheduler import Begin, InProcessScheduler
from gateway.turns.turn import Turn
from storage.errors import StoreUnavailable
from storage.faults import Faults
from storage.jobs import Jobs
from storage.records.entries import Json
from storage.records.inbox_outbox import InboxRow
from storage.store import Store, Transaction

log = logging.getLogger(__name__)

CUT = "cut"
"""What is said to whoever runs the turn of a session: end it."""
HOLD = "hold:{}:"
LONGEST_HOLD = 60.0
"""Seconds after which a hold is over whose process died."""
LOOK_EVERY = 0.02
SAY_EVERY = 0.5
"""Seconds, while the end of a turn is waited for: until it is looked for again, and until it is
asked for again."""
PATIENCE = 10.0
"""Seconds for a turn to end that was cut. One that has not by then is of a process that stands
still, and is shut out."""


class SharedScheduler:
    """`local` runs what this process fetches."""

    def __init__(
        self,
        local: InProcessScheduler,
        store: Store,
        jobs: Jobs,
        switchboard: Switchboard,
        is_near: Callable[[str], bool] = lambda _: False,
    ) -> None:
        """`is_near`: whether this process sends to an address, in any thread: as all have the same
        share of those, what they take in and work on by themselves is the same share too."""
        self._local = local
        self._is_near = is_near
        self._store = store
        self._jobs = jobs
        self._switchboard = switchboard
        self._saying: set[asyncio.Task[None]] = set()
        self._faults = Faults(log)
        switchboard.on(CUT, self._told_to_cut)

    def wake(self, session: int, begun: Turn | None = None) -> None:
        assert begun is None, "a turn begins with whoever fetches its job"
        self._do(self._jobs.wake([session]))

    def begin(self, tx: Transaction, row: InboxRow, begin: Begin) -> None:
        if row.session is None or not self._is_near(row.address):
            return
        taken = tx.take(row.session)
        if taken is not None:
            taken.work = partial(self._local.run, row.session, begin(tx, row.session))

    def idle(self) -> bool:
        return self._local.idle() and not self._saying

    def interrupt(self, session: int) -> None:
        self._local.cut(session)
        self._do(self._interrupt(session))

    @asynccontextmanager
    async def hold(self, session: int) -> AsyncIterator[bool]:
        name = HOLD.format(session) + secrets.token_hex(4)
        owner = self._store.process
        ran = await self._store.run(partial(_take, name=name, owner=owner, session=session))
        try:
            yield await self._ended(session) and ran
        finally:
            await kept_going(self._let_go(session, name), PATIENCE)

    async def close(self) -> None:
        if self._saying:
            await asyncio.wait(self._saying)
        await self._local.close()

    async def _ended(self, session: int) -> bool:
        """Wait until no turn runs anywhere; False where none did."""
        if not await self._jobs.working(session):
            return False
        loop = asyncio.get_running_loop()
        give_up = loop.time() + PATIENCE
        say_again = 0.0
        while await self._jobs.working(session):
            now = loop.time()
            if now >= give_up:
                log.warning("the turn of session %d did not end when it was cut", session)
                await self._store.run(lambda tx: tx.tree.claim(session))
                break
            if now >= say_again:
                say_again = now + SAY_EVERY
                self._local.cut(session)
                await self._switchboard.say(CUT, {"session": session})
            await asyncio.sleep(LOOK_EVERY)
        return True

    async def _let_go(self, session: int, name: str) -> None:
        owner = self._store.process
        await self._store.run(lambda tx: tx.leases.release(owner, [name]))
        await self._jobs.wake([session])

    async def _interrupt(self, session: int) -> None:
        await self._switchboard.say(CUT, {"session": session})
        await self._jobs.wake([session])

    def _told_to_cut(self, message: Json) -> None:
        self._local.cut(int(message["session"]))

    def _do(self, saying: Coroutine[object, object, None]) -> None:
        task = asyncio.create_task(self._said(saying), name="wake-up")
        self._saying.add(task)
        task.add_done_callback(self._saying.discard)

    async def _said(self, saying: Coroutine[object, object, None]) -> None:
        try:
            await saying
        except StoreUnavailable as error:
            self._faults.failed("nobody could be woken; the sweep does it", error)


def is_held(tx: Transaction, session: int) -> bool:
    """Whether somebody keeps turns of a session from running."""
    return bool(tx.leases.holders(HOLD.format(session)))


def _take(tx: Transaction, name: str, owner: str, session: int) -> bool:
    """Hold a session; whether a turn was begun in it."""
    tx.leases.take([name], owner, LONGEST_HOLD)
    # Who begins a turn at the same time, and does not see this, writes to the same row.
    tx.tree.rename(session, tx.tree.session(session).title)
    return turn_on_record(tx, session) is not None
