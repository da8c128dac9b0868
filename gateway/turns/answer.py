"""The agent answers: one turn of the model's loop on what was said, decided or found out."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

from agent.compaction.service import Compacting
from agent.delegation.pending_calls import Results
from agent.models.base import Model, ModelSpec, Purpose, Reply
from agent.models.metering import Account
from agent.runtime.journal import Alongside
from agent.runtime.loop import Agent, Answered, Asleep, CalledFinal, Loop, OutOfIterations
from agent.runtime.people import Asker
from agent.text.markdown import escape
from agent.tools.think import thoughts_in
from gateway.outbound.buttons import send_menu
from gateway.outbound.composer import Composer
from gateway.questions.service import Questions
from gateway.turns.busy_policy import BusyPolicy
from gateway.turns.failures import no_answer
from gateway.turns.messages import link_message, message_draft
from gateway.turns.turn import AnswerItems, Turn
from storage.records.entries import Entry
from storage.records.inbox_outbox import InboxKind
from storage.store import Store, Transaction


@dataclass(frozen=True, slots=True)
class AgentAnswer:
    store: Store
    model: Model
    parent: Callable[[int, str | None], Agent]
    """Makes the parent agent for one turn of a session: with its own model, or one by its name."""
    results: Results
    questions: Questions
    compacting: Compacting
    composer: Composer
    policy: BusyPolicy
    items: AnswerItems
    """The buttons of an answer."""

    async def run(self, turn: Turn) -> None:
        """To the last word, or to where a person must decide; the rows are finished with it."""
        agent = self.parent(turn.journal.session, turn.model)
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
        match await self.compacting.run(loop):
            case OutOfIterations(limit):
                text = f"I stopped after {limit} steps without an answer. Write to go on."
                await no_answer(self.composer, turn, text, f"stopped after {limit} model calls")
            case Answered() | Asleep() | CalledFinal():
                if not turn.answered:
                    await self.store.run(lambda tx: tx.inbox.finish(turn.row_ids))

    async def _before_model(self, turn: Turn, spec: ModelSpec) -> None:
        if self.policy.config.busy == "steer":
            await self._steer(turn)
        await self.compacting.where_due(turn.journal, spec, Purpose(turn.address, turn.person))

    def _asker(self, turn: Turn) -> Asker:
        subject = {"person": turn.person}
        return Asker(self.questions, turn.journal.session, turn.address, subject)

    def _on_reply(self, turn: Turn, agent: Agent, reply: Reply) -> Alongside:
        """What the model says goes out in the transaction that stores it; the last word ends the
        turn there too."""
        calls = reply.tool_calls[: agent.max_calls]
        thoughts = thoughts_in(calls) if self.policy.config.show_thoughts else []
        said = [*(f"💭 {escape(thought)}" for thought in thoughts), reply.content]
        parcels = [
            parcel
            for text in said
            if text.strip()
            for parcel in self.composer.post(turn.address, text, reply_to=turn.reply_to)
        ]
        last = turn.answered = not reply.tool_calls
        rows = turn.row_ids

        def alongside(tx: Transaction, entry: Entry) -> None:
            shown = [replace(parcel, entry=entry.id) for parcel in parcels]
            if last and shown:
                items = self.items(tx, turn, entry)
                send_menu(tx, shown, items, private=turn.private)
            else:
                for parcel in shown:
                    tx.outbox.enqueue(parcel)
            if last:
                tx.inbox.finish(rows)

        return alongside

    async def _steer(self, turn: Turn) -> None:
        """Talk that came during the turn is put before the model at its next call."""
        session = turn.journal.session
        for row in await self.store.read(lambda tx: tx.inbox.unfinished(session)):
            if row.kind is not InboxKind.MESSAGE or row.entry is not None or row.id in turn.row_ids:
                continue
            if self.policy.joins(row, turn.rows[-1]):
                await turn.journal.append(message_draft(row), partial(link_message, row=row))
                turn.rows.append(row)
