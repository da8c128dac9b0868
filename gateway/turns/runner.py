"""Message → turn → reply: what is due in a session is read from the store, and done.

Nothing about a turn is kept in memory that matters. A turn that died, was interrupted or was put
to sleep by a question is continued by the next one from the tail of the session.
"""

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial

from agent.concurrency import LONG
from agent.delegation.pending_calls import Results, pending_call, settle_running
from agent.models.base import ModelError
from agent.runtime.journal import Journal
from agent.runtime.path_cache import Paths
from agent.runtime.side_branch import on_its_branch
from gateway.media.incoming import Incoming, is_ready
from gateway.status.progress import Owner
from gateway.status.signs_of_life import SignsOfLife
from gateway.status.typing_indicator import typing
from gateway.streaming.live_answer import OnRecord
from gateway.turns.failures import Failures, explain, no_answer
from gateway.turns.messages import append_message, author_of, note_privacy
from gateway.turns.policy.busy_policy import BusyPolicy
from gateway.turns.policy.late import note
from gateway.turns.policy.limits import too_deep
from gateway.turns.turn import SAID, Job, Turn
from storage.errors import EpochLost, StoreUnavailable
from storage.records.delegations import Delegation
from storage.records.entries import Draft, Entry
from storage.records.inbox_outbox import InboxKind, InboxRow
from storage.store import Store, Transaction
from storage.tree.paths import from_first_kept

log = logging.getLogger(__name__)

Opening = Callable[[Transaction, int, str, str], Draft | None]
"""What stands in a session, by its id, before the first message, which comes from an address and a
person (identity); None where nothing does."""


@dataclass(frozen=True, slots=True)
class _Unread:
    """A leaf whose path may be long: it is to be read where no writer waits for it."""

    leaf: int


@dataclass(frozen=True, slots=True)
class _Unready:
    """Rows with files that are to be fetched before a turn begins with them."""

    rows: list[InboxRow]


_Found = Turn | _Unread | _Unready | None


@dataclass(frozen=True, slots=True)
class TurnRunner:
    store: Store
    failures: Failures
    policy: BusyPolicy
    results: Results
    signs: SignsOfLife
    answer: Job
    """Lets the agent answer."""
    jobs: Mapping[InboxKind, Job]
    """What else a turn may be, by the kind of its inbox row."""
    running: dict[int, Turn]
    """The turns that run now, by session; it is kept here."""
    opening: Opening
    incoming: Incoming
    _paths: Paths = field(default_factory=Paths, init=False)

    def begin(self, tx: Transaction, session: int) -> Turn | None:
        """Begin the turn that is due in a session where none runs, in the transaction that took a
        message in. None where that is for `advance`: more is due, or the path is to be read where
        no writer waits for it."""
        unfinished = tx.inbox.unfinished(session)
        if len(unfinished) > 1:
            return None
        found = self._begin_in(tx, session, unfinished, self._paths.get(session))
        return found if isinstance(found, Turn) else None

    async def advance(self, session: int, begun: Turn | None = None) -> None:
        """Do what is due in a session, first a turn that was begun; what fails each time is given
        up."""
        turns = [begun] if begun is not None else []
        await self.failures.turns(partial(self._advance, turns), self.policy.due, session)

    async def _advance(self, begun: list[Turn], session: int) -> None:
        """One turn after the other."""
        try:
            while (turn := begun.pop() if begun else await self._begin(session)) is not None:
                await self._do(turn)
                if not turn.left:
                    return  # What came since has woken the session itself.
        except EpochLost:
            log.info("session %s is claimed by a newer turn", session)

    async def _do(self, turn: Turn) -> None:
        session = turn.journal.session
        self.running[session] = turn
        try:
            delegation = turn.pending.delegation if turn.pending is not None else None
            if delegation is not None and delegation.root == session != delegation.session:
                await self._work_in_background(turn, delegation)
            else:
                row = turn.rows[0]
                owner = Owner(turn.address, row.id, turn.live.maybe)
                shown = self.signs.during(session, owner, row.time, lambda: turn.journal.path)
                async with shown:
                    await self._work(turn)
        finally:
            del self.running[session]
            if not turn.aside:
                journal = turn.journal
                self._paths.keep(session, from_first_kept(journal.path), journal.context)

    async def _begin(self, session: int) -> Turn | None:
        known = self._paths.get(session)
        while True:
            match await self._begin_with(session, known):
                case _Unread(leaf):
                    known = await self.store.read(partial(_context_path, leaf=leaf))
                case _Unready(rows):
                    async with typing(self.signs.notices, rows[-1].address):
                        await self.incoming.prepare(session, rows)
                case found:
                    return found

    async def _begin_with(self, session: int, known: tuple[Entry, ...]) -> _Found:
        def work(tx: Transaction) -> _Found:
            return self._begin_in(tx, session, tx.inbox.unfinished(session), known)

        return await self.store.run(work)

    def _begin_in(
        self, tx: Transaction, session: int, unfinished: list[InboxRow], known: tuple[Entry, ...]
    ) -> _Found:
        """The turn that is due. `known`: the path to the leaf, if it has not moved."""
        rows = self.policy.due(unfinished)
        if not rows:
            return None
        if dropped := [row for row in rows if self._is_for_nobody(row)]:
            tx.inbox.finish([row.id for row in dropped])
            return self._begin_in(tx, session, tx.inbox.unfinished(session), known)
        if unready := [row for row in rows if not is_ready(row)]:
            return _Unready(unready)
        claimed = tx.tree.claim(session)
        is_leaf = known and known[-1].id == claimed.leaf
        if claimed.leaf is not None and not is_leaf and tx.tree.entry(claimed.leaf).depth > LONG:
            return _Unread(claimed.leaf)
        path = list(known if is_leaf else tx.tree.context_path(claimed.leaf))
        fresh = [row for row in rows if row.kind in SAID and row.entry is None]
        if fresh and path and (full := too_deep(path[-1].depth, self.policy.config)) is not None:
            self._refuse(tx, rows, full)
            due = tx.inbox.unfinished(session)  # others may have something due
            return self._begin_in(tx, session, due, known)
        if fresh:
            settle_running(tx, session, path)
        opens = [row for row in rows if row in fresh or row.kind is InboxKind.MODEL]
        for row in opens:
            note_privacy(tx, row)
        if opens and not path:
            path += self._opened(tx, session, opens[-1])
        for row in fresh:
            path.append(
                append_message(tx, row, session, path[-1].id if path else None, note(row, tx.now))
            )
        context = self._paths.context(session)
        journal = Journal(self.store, session, claimed.epoch, tuple(path), context=context)
        call = pending_call(tx, rows[0])
        if call is not None and call.session == session:
            journal = on_its_branch(tx, journal, call.entry)
        live = OnRecord(len(fresh) < len(rows))
        left = len(unfinished) > len(rows)
        return Turn(journal, rows, left, pending=call, begun=tx.now, live=live)

    def _is_for_nobody(self, row: InboxRow) -> bool:
        """Whether it happened by itself for somebody who may not talk any more: a command of theirs
        ended, say."""
        who = author_of(row) if row.kind is InboxKind.EVENT and row.entry is None else ""
        return bool(who) and not self.policy.access.may_talk(who)

    def _opened(self, tx: Transaction, session: int, row: InboxRow) -> list[Entry]:
        draft = self.opening(tx, session, row.address, author_of(row))
        return [] if draft is None else [tx.tree.append(session, draft, after=None)]

    def _refuse(self, tx: Transaction, rows: list[InboxRow], why: str) -> None:
        for parcel in self.failures.composer.post(rows[-1].address, why):
            tx.outbox.enqueue(parcel)
        tx.inbox.finish([row.id for row in rows])

    async def _work(self, turn: Turn) -> None:
        composer = self.failures.composer
        try:
            job = self.jobs.get(turn.rows[-1].kind, self.answer)
            await job(turn)
        except ModelError as error:
            log.error("session %s: %s: %s", turn.journal.session, error.kind, error)
            await no_answer(composer, turn, explain(error), str(error))
        except (EpochLost, StoreUnavailable):
            raise
        except Exception as error:
            # A fault of ours must neither lose the message in silence nor be tried for ever.
            log.exception("session %s: the turn failed", turn.journal.session)
            text = "⚠️ Something went wrong in the bot. Its log says what; please try again."
            await no_answer(composer, turn, text, repr(error))

    async def _work_in_background(self, turn: Turn, delegation: Delegation) -> None:
        await self.results.work_in_background(delegation)
        await self.store.run(lambda tx: tx.inbox.finish(turn.row_ids))


def _context_path(tx: Transaction, leaf: int) -> tuple[Entry, ...]:
    return tx.tree.context_path(leaf)
