"""The turn that is due in a session: what of its inbox is answered next, and on which path."""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial

from agent.concurrency import LONG
from agent.delegation.pending_calls import pending_call, settle_running
from agent.runtime.journal import Journal
from agent.runtime.path_cache import Known, Paths
from agent.runtime.side_branch import on_its_branch
from gateway.media.incoming import Incoming, is_ready
from gateway.outbound.composer import Composer
from gateway.status.notices import Notices
from gateway.status.typing_indicator import typing
from gateway.streaming.live_answer import OnRecord
from gateway.turns.messages import Received, append_message, author_of, note_privacy
from gateway.turns.policy.busy_policy import BusyPolicy
from gateway.turns.policy.late import note
from gateway.turns.policy.limits import too_deep
from gateway.turns.policy.unasked import UnaskedTurns
from gateway.turns.turn import SAID, Turn
from storage.records.entries import Draft, Entry
from storage.records.inbox_outbox import Arrival, InboxKind, InboxRow
from storage.records.record_entries import TurnStopped, record_draft
from storage.store import Store, Transaction
from storage.tree.paths import from_first_kept

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


@dataclass(slots=True)
class DueTurns:
    """Begins turns, each in one transaction, which claims its session."""

    store: Store
    policy: BusyPolicy
    composer: Composer
    notices: Notices
    opening: Opening
    incoming: Incoming
    unasked: UnaskedTurns
    held: Callable[[Transaction, int], bool]
    """Whether somebody in another process keeps turns of a session from running."""
    received: Received
    _paths: Paths = field(default_factory=Paths, init=False)
    _closed: bool = field(default=False, init=False)

    def begin(self, tx: Transaction, session: int) -> Turn | None:
        """Begin the turn that is due in a session where none runs, in the transaction that took a
        message in. None where that is for `next`: more is due, or the path is to be read where
        no writer waits for it, or none begins any more."""
        if self._closed:
            return None
        unfinished = tx.inbox.unfinished(session)
        if len(unfinished) > 1:
            return None
        found = self._begin_in(tx, session, unfinished, self._paths.get(session))
        return found if isinstance(found, Turn) else None

    def due(self, tx: Transaction, session: int, unfinished: list[InboxRow]) -> list[InboxRow]:
        """What the next turn answers of a session's unfinished rows."""
        return self.policy.due(self.unasked.ready(tx, session, unfinished))

    def begin_no_more(self) -> None:
        """Let the turns that run come to their end, and begin no other in this process: what is due
        stays in the inbox."""
        self._closed = True

    def ended(self, turn: Turn) -> None:
        """Keep the path that it has come to, for the next one."""
        if turn.aside:
            return
        journal = turn.journal
        path = from_first_kept(journal.path)
        self._paths.keep(journal.session, path, journal.epoch, journal.context)

    async def next(self, session: int) -> Turn | None:
        """Begin the turn that is due in a session where none runs, once the files are there that
        came for it; None where none is."""
        known = self._paths.get(session)
        while True:
            if self._closed:
                return None
            match await self._begin_with(session, known):
                case _Unread(leaf):
                    read = partial(_context_path, session=session, leaf=leaf)
                    known = await self.store.read(read)
                case _Unready(rows):
                    async with typing(self.notices, rows[-1].address):
                        await self.incoming.prepare(session, rows)
                case found:
                    return found

    async def _begin_with(self, session: int, known: Known) -> _Found:
        def work(tx: Transaction) -> _Found:
            return self._begin_in(tx, session, tx.inbox.unfinished(session), known)

        return await self.store.run(work)

    def _begin_in(
        self, tx: Transaction, session: int, unfinished: list[InboxRow], known: Known
    ) -> _Found:
        """The turn that is due. `known`: the path to the leaf, if that is still so."""
        if self.held(tx, session):
            return None
        if not (rows := self.due(tx, session, unfinished)):
            self.unasked.tell(tx, session, unfinished)
            return None
        if dropped := [row for row in rows if self._is_for_nobody(row)]:
            tx.inbox.finish([row.id for row in dropped])
            return self._begin_in(tx, session, tx.inbox.unfinished(session), known)
        if unready := [row for row in rows if not is_ready(row)]:
            return _Unready(unready)
        claimed = tx.tree.claim(session)
        is_leaf = known.holds(claimed.leaf, claimed.epoch)
        if claimed.leaf is not None and not is_leaf and tx.tree.entry(claimed.leaf).depth > LONG:
            return _Unread(claimed.leaf)
        path = list(known.path if is_leaf else tx.tree.context_path(claimed.leaf))
        if path and any(map(_is_fresh, rows)):
            full = too_deep(path[-1].depth, self.policy.config)
            if full is not None:
                self._refuse(tx, rows, full)
                due = tx.inbox.unfinished(session)  # others may have something due
                return self._begin_in(tx, session, due, known)
        self.unasked.begins(tx, session, rows[0], claimed.unasked)
        if path and (put_off := _put_off(unfinished, rows)):
            _begin_later(tx, session, put_off, rows[0], path)
        left = len(unfinished) > len(rows)
        return self._turn(tx, session, claimed.epoch, path, rows, left=left)

    def _turn(
        self,
        tx: Transaction,
        session: int,
        epoch: int,
        path: list[Entry],
        rows: list[InboxRow],
        *,
        left: bool,
    ) -> Turn:
        """What was said is appended to `path`. `left`: see Turn."""
        fresh = [row for row in rows if _is_fresh(row)]
        if fresh:
            settle_running(tx, session, path)
        opens = [row for row in rows if row in fresh or row.kind is InboxKind.MODEL]
        for row in opens:
            note_privacy(tx, row)
        if opens and not path:
            path += self._opened(tx, session, opens[-1])
        for row in fresh:
            after, late = path[-1].id if path else None, note(row, tx.now)
            when = self.received(tx, row.address, author_of(row))
            path.append(append_message(tx, row, session, after, late, when))
        context = self._paths.context(session)
        journal = Journal(self.store, session, epoch, tuple(path), context=context)
        call = pending_call(tx, rows[0])
        if call is not None and call.session == session:
            journal = on_its_branch(tx, journal, call.entry)
        live = OnRecord(len(fresh) < len(rows))
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
        for parcel in self.composer.post(rows[-1].address, why):
            tx.outbox.enqueue(parcel)
        tx.inbox.finish([row.id for row in rows])


def _put_off(unfinished: list[InboxRow], rows: list[InboxRow]) -> list[InboxRow]:
    """The rows of a turn that was cut for somebody else, who is answered first."""
    if rows[0].kind is not InboxKind.MESSAGE or rows[0].entry is not None:
        return []
    return [row for row in unfinished if row.entry is not None and row.kind is InboxKind.MESSAGE]


def _begin_later(
    tx: Transaction, session: int, rows: list[InboxRow], before: InboxRow, path: list[Entry]
) -> None:
    """Have rows answered behind another, as if they came now: below what that one comes to."""
    settle_running(tx, session, path)
    draft = record_draft(TurnStopped(put_off=True))
    path.append(tx.tree.append(session, draft, after=path[-1].id))
    tx.inbox.finish([row.id for row in rows])
    for row in rows:
        key = f"{row.key}:behind:{before.id}"
        tx.inbox.receive(Arrival(key, row.kind, row.address, row.payload, session))


def _is_fresh(row: InboxRow) -> bool:
    """Whether it becomes a message of the session with this turn."""
    return row.kind in SAID and row.entry is None


def _context_path(tx: Transaction, session: int, leaf: int) -> Known:
    return Known(tx.tree.context_path(leaf), tx.tree.session(session).epoch)
