"""Message → agent turn → reply: what is due in a session is read from the store, and done.

Nothing about a turn is kept in memory that matters. A turn that died, was interrupted or was put
to sleep by a question is continued by the next one from the tail of the session.
"""

import logging
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field, replace
from functools import partial

from adapters.base import Adapter
from agent.compaction.service import Compacting
from agent.concurrency import LONG
from agent.delegation.pending_calls import Results, pending_call, settle_running
from agent.delegation.prompts import in_company
from agent.delegation.supervision import Activity
from agent.models.base import RETRIED, Model, ModelError, ModelErrorKind, ModelSpec, Purpose, Reply
from agent.models.metering import Account
from agent.runtime.journal import Alongside, Journal
from agent.runtime.loop import Agent, Answered, Asleep, CalledFinal, Loop, OutOfIterations, Result
from agent.runtime.path_cache import Paths
from agent.runtime.people import Asker
from agent.runtime.side_branch import on_its_branch
from agent.text.markdown import escape
from agent.tools.think import thoughts_in
from gateway.config import SessionConfig
from gateway.outbound.buttons import Menus
from gateway.outbound.composer import Composer
from gateway.questions.service import Questions
from gateway.status.agents_panel import Live
from gateway.status.progress import progress
from gateway.status.typing_indicator import typing
from gateway.turns.busy_policy import BusyPolicy
from gateway.turns.cancellation import begun, end_everything, end_rows
from gateway.turns.failures import Failures
from gateway.turns.limits import too_deep
from gateway.turns.messages import append_message, link_message, message_draft
from gateway.turns.scheduler import SessionScheduler
from gateway.turns.turn import RESULTS, AnswerItems, Job, Turn
from gateway.views.delegations import progress_text
from storage.errors import EpochLost, StoreUnavailable
from storage.records.delegations import Delegation
from storage.records.entries import Entry
from storage.records.inbox_outbox import (
    InboxKind,
    InboxRow,
    OutboxDraft,
)
from storage.records.record_entries import Failed, record_draft
from storage.records.speakers import several_speak
from storage.store import Store, Transaction
from storage.tree.paths import from_first_kept

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class _Unread:
    """A leaf whose path may be long: it is to be read where no writer waits for it."""

    leaf: int


@dataclass
class Turns:
    store: Store
    model: Model
    parent: Callable[[int, str | None], Agent]
    """Makes the parent agent for one turn of a session: with its own model, or one by its name."""
    results: Results
    questions: Questions
    composer: Composer
    menus: Menus
    joining: BusyPolicy
    config: SessionConfig
    adapters: Mapping[str, Adapter]
    active: Mapping[int, Activity]
    """The children that run now."""
    live: Live
    compacting: Compacting
    jobs: dict[InboxKind, Job] = field(default_factory=dict)
    """What else than an answer a turn may be, by the kind of its inbox row."""
    answer_items: AnswerItems = lambda tx, turn, entry: []
    """The buttons of an answer."""
    lanes: SessionScheduler = field(init=False)
    _busy: dict[int, Turn] = field(default_factory=dict, init=False)
    _paths: Paths = field(default_factory=Paths, init=False)

    def __post_init__(self) -> None:
        failures = Failures(self.store, self.composer)
        self.lanes = SessionScheduler(partial(failures.turns, self.advance, self.joining.due))

    def arrived(self, session: int, author: str, *, address: str, private: bool) -> None:
        """A message for a session is committed: it interrupts the running turn, or waits for it."""
        turn = self._busy.get(session)
        if turn is not None and self.joining.interrupts(
            turn, author, address=address, private=private
        ):
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
            stopped = await self.store.run(
                partial(end_everything, session=session, questions=self.questions)
            )
        return running or stopped

    async def leave(self, session: int, address: str) -> None:
        """A conversation goes on with another session: what was said there is not answered any
        more. What waits for people goes on waiting, what they decided is carried out, and other
        conversations in the session are answered."""

        def work(tx: Transaction, cut: bool) -> None:
            rows = [row for row in tx.inbox.unfinished(session) if row.address == address]
            said = [row for row in rows if row.kind not in RESULTS]
            if cut:
                end_rows(tx, session, said)
            else:
                tx.inbox.finish([row.id for row in said if row.entry is None])

        turn = self._busy.get(session)
        if turn is not None and turn.address != address:
            return await self.store.run(partial(work, cut=False))
        async with self.lanes.hold(session):
            await self.store.run(partial(work, cut=True))
        self.lanes.wake(session)

    @asynccontextmanager
    async def still(self, session: int) -> AsyncIterator[int | None]:
        """End the running turn without an answer, and let none begin within the block; gives the
        leaf. What waits for people, and talk that no turn has begun with, stays."""
        try:
            async with self.lanes.hold(session):
                yield await self.store.run(partial(self.cut, session=session))
        finally:
            self.lanes.wake(session)

    def cut(self, tx: Transaction, session: int) -> int | None:
        """Put the books right after the running turn was ended, as `still` does; gives the leaf."""
        end_rows(tx, session, begun(tx, session))
        return tx.tree.session(session).leaf

    def may_cut(self, session: int, who: str, *, private: bool) -> bool:
        """Whether a person may end the turn that runs now, if one does."""
        return self.joining.may_cut(self._busy.get(session), who, private=private)

    async def advance(self, session: int) -> None:
        """Do one turn's worth of what is due in a session; wakes it again while more is due."""
        turn = await self._begin(session)
        if turn is None:
            return
        self._busy[session] = turn
        try:
            delegation = turn.pending.delegation if turn.pending is not None else None
            if delegation is not None and delegation.root == session != delegation.session:
                await self._work_in_background(turn, delegation)
            else:
                describe = partial(self._describe_children, session, turn.address)
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
            if not turn.aside:
                self._paths.keep(session, from_first_kept(turn.journal.path))
        if turn.left:  # What came since has woken the lane itself.
            self.lanes.wake(session)

    async def _describe_children(self, session: int, address: str) -> str:
        if self.live.shows(address):
            return ""  # /agents tells the same there, and is edited as often
        now, rows = await self.store.read(lambda tx: (tx.now, tx.delegations.unfinished(session)))
        return progress_text(rows, self.active, now)

    async def _begin(self, session: int) -> Turn | None:
        found = await self._begin_with(session, self._paths.get(session))
        while isinstance(found, _Unread):
            path = await self.store.read(partial(_context_path, leaf=found.leaf))
            found = await self._begin_with(session, path)
        return found

    async def _begin_with(self, session: int, known: tuple[Entry, ...]) -> "Turn | _Unread | None":
        """The turn that is due. `known`: the path to the leaf, if it has not moved."""

        def work(tx: Transaction) -> Turn | _Unread | None:
            unfinished = tx.inbox.unfinished(session)
            rows = self.joining.due(unfinished)
            if not rows:
                return None
            held = tx.tree.claim(session)
            is_leaf = known and known[-1].id == held.leaf
            if held.leaf is not None and not is_leaf and tx.tree.entry(held.leaf).depth > LONG:
                return _Unread(held.leaf)
            path = list(known if is_leaf else tx.tree.context_path(held.leaf))
            fresh = [row for row in rows if row.kind is InboxKind.MESSAGE and row.entry is None]
            if fresh and path and (full := too_deep(path[-1].depth, self.config)) is not None:
                self._refuse(tx, rows, full)
                return work(tx)  # others may have something due
            if fresh:
                settle_running(tx, session, path)
            for row in fresh:
                path.append(append_message(tx, row, session, path[-1].id if path else None))
            journal = Journal(self.store, session, held.epoch, tuple(path))
            call = pending_call(tx, rows[0])
            if call is not None and call.session == session:
                journal = on_its_branch(tx, journal, call.entry)
            return Turn(journal, rows, left=len(unfinished) > len(rows), pending=call)

        return await self.store.run(work)

    def _refuse(self, tx: Transaction, rows: list[InboxRow], why: str) -> None:
        for parcel in self.composer.post(rows[-1].address, why):
            tx.outbox.enqueue(parcel)
        tx.inbox.finish([row.id for row in rows])

    async def _answer(self, turn: Turn) -> None:
        try:
            job = self.jobs.get(turn.rows[-1].kind, self._converse)
            await job(turn)
        except ModelError as error:
            log.error("session %s: %s: %s", turn.journal.session, error.kind, error)
            await self.fail(turn, _explain(error), str(error))
        except (EpochLost, StoreUnavailable):
            raise
        except Exception as error:
            # A fault of ours must neither lose the message in silence nor be tried for ever.
            log.exception("session %s: the turn failed", turn.journal.session)
            text = "⚠️ Something went wrong in the bot. Its log says what; please try again."
            await self.fail(turn, text, repr(error))

    async def _converse(self, turn: Turn) -> None:
        """Let the agent answer what was said, decided or found out."""
        agent = self.agent(turn.journal, turn.model)
        loop = Loop(
            self.model,
            agent,
            turn.journal,
            Account("parent", turn.journal.session, Purpose(turn.address, turn.person)),
            asker=self._asker(turn),
            on_reply=partial(self._on_reply, turn, agent),
            before_model=partial(self._before_model, turn, agent.spec),
        )
        if turn.pending is not None:
            await self.results.resume(loop, turn.pending)
        match await self._run(loop):
            case OutOfIterations(limit):
                text = f"I stopped after {limit} steps without an answer. Write to go on."
                await self.fail(turn, text, f"stopped after {limit} model calls")
            case Answered() | Asleep() | CalledFinal():
                if not turn.answered:
                    await self.store.run(lambda tx: tx.inbox.finish(turn.row_ids))

    def agent(self, journal: Journal, model: str | None) -> Agent:
        """The parent agent, told how to read who speaks where several do. That is decided by the
        path alone, so that its instructions stay the same for as long as they can."""
        agent = self.parent(journal.session, model)
        if not several_speak(journal.path):
            return agent
        return replace(agent, system=in_company(agent.system))

    async def _run(self, loop: Loop) -> Result:
        """Once more after a compaction, where the provider says that the context is too long."""
        try:
            return await loop.run()
        except ModelError as error:
            if error.kind is not ModelErrorKind.CONTEXT_LENGTH:
                raise
            purpose, spec = loop.account.purpose, loop.agent.spec
            if not await self.compacting.compact(loop.journal, spec, purpose, refused=True):
                raise
        return await loop.run()

    async def _before_model(self, turn: Turn, spec: ModelSpec) -> None:
        if self.config.busy == "steer":
            await self._steer(turn)
        await self.compacting.where_due(turn.journal, spec, Purpose(turn.address, turn.person))

    def _asker(self, turn: Turn) -> Asker:
        subject = {"person": turn.person}
        return Asker(self.questions, turn.journal.session, turn.address, subject)

    async def _work_in_background(self, turn: Turn, delegation: Delegation) -> None:
        if await self.results.work_in_background(delegation):
            self.lanes.wake(delegation.session)
        await self.store.run(lambda tx: tx.inbox.finish(turn.row_ids))

    def _on_reply(self, turn: Turn, agent: Agent, reply: Reply) -> Alongside:
        """What the model says goes out in the transaction that stores it; the last word ends the
        turn there too."""
        thoughts = (
            thoughts_in(reply.tool_calls[: agent.max_calls]) if self.config.show_thoughts else []
        )
        said = [*(f"💭 {escape(thought)}" for thought in thoughts), reply.content]
        parcels = [p for text in said if text.strip() for p in self._compose(turn, text)]
        last = turn.answered = not reply.tool_calls
        rows = turn.row_ids

        def alongside(tx: Transaction, entry: Entry) -> None:
            shown = [replace(parcel, entry=entry.id) for parcel in parcels]
            if last and shown:
                items = self.answer_items(tx, turn, entry)
                self.menus.send(tx, shown, items, private=turn.private)
            else:
                for parcel in shown:
                    tx.outbox.enqueue(parcel)
            if last:
                tx.inbox.finish(rows)

        return alongside

    def _compose(self, turn: Turn, text: str) -> list[OutboxDraft]:
        return self.composer.post(turn.address, text, reply_to=turn.reply_to)

    async def _steer(self, turn: Turn) -> None:
        """Talk that came during the turn is put before the model at its next call."""
        session = turn.journal.session
        for row in await self.store.read(lambda tx: tx.inbox.unfinished(session)):
            if row.kind is not InboxKind.MESSAGE or row.entry is not None or row.id in turn.row_ids:
                continue
            if self.joining.joins(row, turn.rows[-1]):
                await turn.journal.append(message_draft(row), partial(link_message, row=row))
                turn.rows.append(row)

    async def fail(self, turn: Turn, text: str, error: str) -> None:
        """Tell people that there is no answer, and why; the turn is over."""
        parcels = self._compose(turn, text)
        rows = turn.row_ids

        def alongside(tx: Transaction, _: Entry) -> None:
            for parcel in parcels:
                tx.outbox.enqueue(parcel)
            tx.inbox.finish(rows)

        await turn.journal.append(record_draft(Failed(error)), alongside)


def _context_path(tx: Transaction, leaf: int) -> tuple[Entry, ...]:
    return tx.tree.context_path(leaf)


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
    return f"⚠️ The model could not answer: {escape(str(error))}. {advice}"
