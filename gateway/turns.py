"""Message → agent turn → reply: what is due in a session is read from the store, and done.

Nothing about a turn is kept in memory that matters. A turn that died, was interrupted or was put
to sleep by a question is continued by the next one from the tail of the session.
"""

import logging
from collections.abc import Callable, Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass, field, replace
from functools import partial

from adapters.base import Adapter
from agent.activity import Activity
from agent.journal import Alongside, Journal
from agent.loop import Agent, Answered, Asleep, CalledFinal, Loop, OutOfIterations
from agent.markup import escape
from agent.model import RETRIED, Model, ModelError, ModelErrorKind, Reply
from agent.tools.think import thoughts_in
from gateway.access import Access
from gateway.config import SessionConfig
from gateway.inbound import append_message, author_of, link_message, message_draft
from gateway.lanes import Lanes
from gateway.listing import progress_text
from gateway.parcels import Composer
from gateway.paths import Paths
from gateway.progress import progress
from gateway.questions import Questions
from gateway.results import Results
from gateway.settle import settle_late, settle_running, settle_waiting
from gateway.typing import typing
from storage.boxes import InboxRow, Parcel
from storage.delegations import Delegation
from storage.entries import Draft, Entry, Kind, record
from storage.errors import EpochLost, StoreUnavailable
from storage.ledger import LedgerLine
from storage.store import Store, Transaction

log = logging.getLogger(__name__)


@dataclass(slots=True)
class Turn:
    """One turn: what it answers, and the pen of the session."""

    journal: Journal
    rows: list[InboxRow]
    """Grows when talk is steered in."""
    left: bool
    """There was more in the session than this turn answers."""
    asked_by: str = ""
    """Where it is about a delegation: identity of who asked for that."""
    answered: bool = False
    """The last word is on its way, and the rows are finished with it."""

    @property
    def address(self) -> str:
        return self.rows[-1].address

    @property
    def person(self) -> str:
        """Identity of who asked."""
        return author_of(self.rows[-1]) or self.asked_by

    @property
    def row_ids(self) -> list[int]:
        return [row.id for row in self.rows]

    @property
    def reply_to(self) -> str:
        """The message that a reply in a group names."""
        payload = self.rows[-1].payload
        return "" if payload.get("private", True) else str(payload["message_id"])


@dataclass
class Turns:
    store: Store
    model: Model
    parent: Callable[[int], Agent]
    """Makes the parent agent for one turn of a session."""
    results: Results
    questions: Questions
    composer: Composer
    access: Access
    config: SessionConfig
    adapters: Mapping[str, Adapter]
    active: Mapping[int, Activity]
    """The children that run now."""
    lanes: Lanes = field(init=False)
    _busy: dict[int, Turn] = field(default_factory=dict, init=False)
    _paths: Paths = field(default_factory=Paths, init=False)

    def __post_init__(self) -> None:
        self.lanes = Lanes(self.advance)

    def arrived(self, session: int, author: str, *, private: bool) -> None:
        """A message for a session is committed: it interrupts the running turn, or waits for it."""
        turn = self._busy.get(session)
        if turn is not None and self._interrupts(turn, author, private=private):
            self.lanes.interrupt(session)
        else:
            self.lanes.wake(session)

    async def stop(self, session: int) -> bool:
        """End the running turn and withdraw what waits for people; False where nothing was."""
        async with AsyncExitStack() as held:
            running = await held.enter_async_context(self.lanes.hold(session))
            for row in await self.store.read(lambda tx: tx.delegations.unfinished(session)):
                if row.background:
                    await held.enter_async_context(self.lanes.hold(row.root))
            stopped = await self.store.run(partial(self._stop, session=session))
        return running or stopped

    async def interrupt(self, session: int) -> None:
        """End the running turn without an answer; what waits for people goes on waiting, and what
        they decided is carried out."""
        async with self.lanes.hold(session):
            await self.store.run(partial(self._stop, session=session, everything=False))
        self.lanes.wake(session)

    async def advance(self, session: int) -> None:
        """Do one turn's worth of what is due in a session; wakes it again while more is due."""
        turn = await self._begin(session)
        if turn is None:
            return
        self._busy[session] = turn
        try:
            delegation = await self.results.delegation(turn.rows[0])
            turn.asked_by = delegation.person if delegation is not None else ""
            if delegation is not None and delegation.root == session != delegation.session:
                await self._work_in_background(turn, delegation)
            else:
                describe = partial(self._describe_children, session)
                async with (
                    typing(self.adapters, turn.address),
                    progress(self.adapters, turn.address, describe),
                ):
                    await self._answer(turn)
        except EpochLost:
            log.info("session %s is held by a newer turn", session)
            return
        finally:
            del self._busy[session]
            self._paths.keep(session, turn.journal.path)
        if turn.left:  # What came since has woken the lane itself.
            self.lanes.wake(session)

    async def _describe_children(self, session: int) -> str:
        now, rows = await self.store.read(lambda tx: (tx.now, tx.delegations.unfinished(session)))
        return progress_text(rows, self.active, now)

    def _interrupts(self, turn: Turn, author: str, *, private: bool) -> bool:
        """Talk interrupts a turn of talk: its author's, or, from an owner, anybody's. Work that a
        person's decision started goes on."""
        if self.config.busy != "interrupt" or turn.rows[-1].kind != "message":
            return False
        return private or self._may_join(turn.rows[-1], author)

    def _may_join(self, row: InboxRow, author: str) -> bool:
        return author == author_of(row) or self.access.is_owner(author)

    def _stop(self, tx: Transaction, session: int, everything: bool = True) -> bool:
        """Put the books right after a turn was cut; with `everything`, also end what waits for
        people or runs in the background."""
        rows = [row for row in tx.inbox.unfinished(session) if everything or row.kind == "message"]
        held = tx.tree.claim(session)
        path = list(tx.tree.context_path(held.leaf))
        settle_running(tx, session, path)
        ended = self._end_all(tx, session, path) if everything else 0
        if rows:
            after = path[-1].id if path else None
            tx.tree.append(session, Draft(Kind.RECORD, record("stopped")), after=after)
            tx.inbox.finish([row.id for row in rows])
        return bool(rows or ended)

    def _end_all(self, tx: Transaction, session: int, path: list[Entry]) -> int:
        unfinished = tx.delegations.unfinished(session)
        for root in {session, *(row.root for row in unfinished)}:
            self.questions.withdraw_all(tx, root)
        for row in unfinished:
            if row.background:
                tx.inbox.finish([waiting.id for waiting in tx.inbox.unfinished(row.root)])
        settle_waiting(tx, session, path)
        settle_late(tx, session, path)
        return len(unfinished)

    async def _begin(self, session: int) -> Turn | None:
        known = self._paths.get(session)

        def work(tx: Transaction) -> Turn | None:
            unfinished = tx.inbox.unfinished(session)
            rows = self._due(unfinished)
            if not rows:
                return None
            held = tx.tree.claim(session)
            is_leaf = known and known[-1].id == held.leaf
            path = list(known if is_leaf else tx.tree.context_path(held.leaf))
            fresh = [row for row in rows if row.kind == "message" and row.entry is None]
            if fresh:
                settle_running(tx, session, path)
            for row in fresh:
                path.append(append_message(tx, row, session, path[-1].id if path else None))
            journal = Journal(self.store, session, held.epoch, tuple(path))
            return Turn(journal, rows, left=len(unfinished) > len(rows))

        return await self.store.run(work)

    def _due(self, rows: list[InboxRow]) -> list[InboxRow]:
        """What the next turn answers: a turn that was cut, with the talk that cut it; else what
        came first, with what its author said since."""
        started = [row for row in rows if row.entry is not None]
        fresh = [row for row in rows if row.entry is None]
        if not started:
            started, fresh = fresh[:1], fresh[1:]
        if not started or started[-1].kind != "message" or self.config.busy != "interrupt":
            return started
        for row in fresh:
            if row.kind != "message" or not self._may_join(started[-1], author_of(row)):
                break
            started.append(row)
        return started

    async def _answer(self, turn: Turn) -> None:
        try:
            await self._carry_on(turn)
            agent = self.parent(turn.journal.session)
            loop = Loop(
                self.model,
                agent,
                turn.journal,
                address=turn.address,
                person=turn.person,
                on_reply=partial(self._on_reply, turn, agent.spec.model),
                before_model=partial(self._steer, turn) if self.config.busy == "steer" else None,
            )
            match await loop.run():
                case OutOfIterations(limit):
                    text = f"I stopped after {limit} steps without an answer. Write to go on."
                    await self._fail(turn, text, f"stopped after {limit} model calls")
                case Answered() | Asleep() | CalledFinal():
                    if not turn.answered:
                        await self.store.run(lambda tx: tx.inbox.finish(turn.row_ids))
        except ModelError as error:
            log.error("session %s: %s: %s", turn.journal.session, error.kind, error)
            await self._fail(turn, _explain(error), str(error))
        except (EpochLost, StoreUnavailable):
            raise
        except Exception as error:
            # A fault of ours must neither lose the message in silence nor be tried for ever.
            log.exception("session %s: the turn failed", turn.journal.session)
            text = "⚠️ Something went wrong in the bot. Its log says what; please try again."
            await self._fail(turn, text, repr(error))

    async def _carry_on(self, turn: Turn) -> None:
        """Take in the results that this turn is about."""
        for row in turn.rows:
            delegation = await self.results.delegation(row)
            if delegation is not None:
                await self.results.carry_on(turn.journal, row, delegation)

    async def _work_in_background(self, turn: Turn, delegation: Delegation) -> None:
        if await self.results.work_in_background(delegation):
            self.lanes.wake(delegation.session)
        await self.store.run(lambda tx: tx.inbox.finish(turn.row_ids))

    def _on_reply(self, turn: Turn, model: str, reply: Reply) -> Alongside:
        """What the model says goes out in the transaction that stores it; the last word ends the
        turn there too."""
        thoughts = thoughts_in(reply.tool_calls) if self.config.show_thoughts else []
        said = [*(f"💭 {escape(thought)}" for thought in thoughts), reply.content]
        parcels = [p for text in said if text.strip() for p in self._compose(turn, text)]
        last = turn.answered = not reply.tool_calls
        rows = turn.row_ids
        session = turn.journal.session
        answered_by = reply.model or model
        line = LedgerLine("parent", answered_by, reply.usage, session, turn.address, turn.person)

        def alongside(tx: Transaction, entry: Entry) -> None:
            tx.ledger.add(line)
            for parcel in parcels:
                tx.outbox.enqueue(replace(parcel, entry=entry.id))
            if last:
                tx.inbox.finish(rows)

        return alongside

    def _compose(self, turn: Turn, text: str) -> list[Parcel]:
        return self.composer.post(turn.address, text, reply_to=turn.reply_to)

    async def _steer(self, turn: Turn) -> None:
        """Talk that came during the turn is put before the model at its next call."""
        session = turn.journal.session
        for row in await self.store.read(lambda tx: tx.inbox.unfinished(session)):
            if row.kind != "message" or row.entry is not None or row.id in turn.row_ids:
                continue
            if self._may_join(turn.rows[-1], author_of(row)):
                await turn.journal.append(message_draft(row), partial(link_message, row=row))
                turn.rows.append(row)

    async def _fail(self, turn: Turn, text: str, error: str) -> None:
        """Tell people that there is no answer, and why; the turn is over."""
        parcels = self._compose(turn, text)
        rows = turn.row_ids

        def alongside(tx: Transaction, _: Entry) -> None:
            for parcel in parcels:
                tx.outbox.enqueue(parcel)
            tx.inbox.finish(rows)

        await turn.journal.append(Draft(Kind.RECORD, record("failed", error=error)), alongside)


def _explain(error: ModelError) -> str:
    """What people are told where a model could not be asked, and what they can do."""
    match error.kind:
        case ModelErrorKind.BUDGET:
            return f"⚠️ {error}"
        case ModelErrorKind.CONTEXT_LENGTH:
            advice = "This conversation is too long for it: /new begins another."
        case kind if kind in RETRIED:
            advice = "Please try again later."
        case _:
            advice = "Trying again will not help: tell the bot's owner."
    return f"⚠️ The model could not answer: {error}. {advice}"
