"""The control of a session from outside its turns: talk arrives, somebody stops it, goes elsewhere,
or moves the leaf while no turn runs."""

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from functools import partial

from agent.delegation.pending_calls import Unsettled, unsettled
from gateway.questions.service import Questions
from gateway.turns.cancellation import TurnAt, begun, end_everything, end_rows
from gateway.turns.policy.busy_policy import BusyPolicy
from gateway.turns.scheduler import SessionScheduler
from gateway.turns.turn import RESULTS, Turn
from storage.records.inbox_outbox import InboxKind, InboxRow
from storage.store import Store, Transaction


@dataclass(frozen=True, slots=True)
class SessionControl:
    store: Store
    scheduler: SessionScheduler
    questions: Questions
    policy: BusyPolicy
    running: Mapping[int, Turn]
    """The turns that run now in this process, by session."""
    turn_at: TurnAt
    """The turns that run now, by session."""
    end_commands: Callable[[int], Awaitable[int]]
    """Ends what a session's agents run in the background; gives how many there were."""

    def arrived(self, row: InboxRow) -> None:
        """A message for a session is committed: it interrupts the running turn, or waits for it,
        unless that turn answers it already."""
        assert row.session is not None
        turn = self.running.get(row.session)
        if turn is not None and row.id not in turn.row_ids and self.policy.interrupts(turn, row):
            self.scheduler.interrupt(row.session)

    async def stop(self, session: int) -> bool:
        """End the running turn and the commands in the background, and withdraw what waits for
        people; False where nothing was."""
        commands = await self.end_commands(session)
        async with AsyncExitStack() as held:
            running = await held.enter_async_context(self.scheduler.hold(session))
            for row in await self.store.read(lambda tx: tx.delegations.unfinished(session)):
                if row.background:
                    await held.enter_async_context(self.scheduler.hold(row.root))
            # Its path may be long, and is looked at where no writer waits for it.
            known = await self.store.read(partial(_unsettled, session=session))
            stopped = await self.store.run(
                partial(end_everything, session=session, questions=self.questions, known=known)
            )
        return running or stopped or bool(commands)

    async def stop_all_of(self, identity: str) -> None:
        """The same in each session that nobody but a person, who may not talk any more, ever was
        in: what they left there is for nobody."""
        for session in await self.store.read(partial(_alone_in, identity=identity)):
            await self.stop(session)

    async def leave(self, session: int, address: str) -> None:
        """A conversation goes on with another session: what was said there is not answered any
        more. What waits for people goes on waiting, what they decided is carried out, and other
        conversations in the session are answered."""

        def work(tx: Transaction, cut: bool) -> None:
            rows = [row for row in tx.inbox.unfinished(session) if row.address == address]
            # An event that no turn began with is no talk: it is answered wherever it belongs to.
            said = [
                row
                for row in rows
                if row.kind not in RESULTS
                and (row.kind is not InboxKind.EVENT or row.entry is not None)
            ]
            if cut:
                end_rows(tx, session, said)
            else:
                tx.inbox.finish([row.id for row in said if row.entry is None])

        turn = await self.store.read(lambda tx: self.turn_at(tx, session))
        if turn is not None and turn.address != address:
            return await self.store.run(partial(work, cut=False))
        async with self.scheduler.hold(session):
            await self.store.run(partial(work, cut=True))

    @asynccontextmanager
    async def still(self, session: int) -> AsyncIterator[int | None]:
        """End the running turn without an answer, and let none begin within the block; gives the
        leaf. What waits for people, and talk that no turn has begun with, stays."""
        async with self.scheduler.hold(session):
            yield await self.store.run(partial(self.cut, session=session))

    def cut(self, tx: Transaction, session: int) -> int | None:
        """Put the books right after the running turn was ended, as `still` does; gives the leaf."""
        end_rows(tx, session, begun(tx, session))
        return tx.tree.session(session).leaf

    def may_cut(self, tx: Transaction, session: int, who: str, *, private: bool) -> bool:
        """Whether a person may end the turn that runs now, if one does."""
        turn = self.turn_at(tx, session)
        person = turn.person if turn is not None else None
        return self.policy.may_cut(person, who, private=private)


def _unsettled(tx: Transaction, session: int) -> Unsettled:
    return unsettled(tx, tx.tree.session(session).leaf)


def _alone_in(tx: Transaction, identity: str) -> list[int]:
    """Sessions that are a person's alone, where they talk now or something is to be ended."""

    def is_alone(session: int) -> bool:
        others = (one for one in tx.directory.members(session) if one != identity)
        return all(tx.directory.private_with(one) == identity for one in others)

    def is_busy(session: int) -> bool:
        waits = tx.questions.open(session) or tx.delegations.unfinished(session)
        return bool(tx.directory.addresses(session) or waits)

    return [one for one in tx.directory.joined([identity]) if is_alone(one) and is_busy(one)]
