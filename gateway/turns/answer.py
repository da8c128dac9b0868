"""The agent answers: one turn of the model's loop on what was said, decided or found out."""

from collections.abc import Awaitable, Callable, Collection
from dataclasses import dataclass
from functools import partial

from agent.compaction.service import Compacting
from agent.delegation.pending_calls import Results
from agent.models.base import Model, ModelSpec, Purpose
from agent.models.metering import Account
from agent.runtime.chosen_model import chosen_on
from agent.runtime.loop import Answered, Asleep, CalledFinal, Loop, OutOfIterations
from agent.runtime.next_step import Repeated, said_before
from agent.runtime.people import Asker
from agent.runtime.steps.agent import Agent, AgentRun
from agent.runtime.steps.model_calls import ModelCalls
from agent.runtime.steps.tool_runs import ToolRuns
from agent.text.markdown import bounded, escape
from gateway.media.incoming import is_ready
from gateway.questions.service import Questions
from gateway.streaming.live_answer import Place, Streaming
from gateway.streaming.model import Shown
from gateway.turns.failures import no_answer
from gateway.turns.messages import Received, author_of, link_message, message_draft
from gateway.turns.policy.busy_policy import BusyPolicy
from gateway.turns.policy.unasked import spoken
from gateway.turns.posts import TurnPosts
from gateway.turns.turn import Turn
from storage.records.entries import Entry, Json
from storage.records.inbox_outbox import InboxKind, InboxRow
from storage.store import Transaction


@dataclass(frozen=True, slots=True)
class AgentAnswer:
    model: Model
    parent: Callable[[int, str, str | None], Awaitable[Agent]]
    """Makes the parent agent for one turn of a session in a conversation (its address): with its
    own model, or one by its name. Waits for tools that have only just been started."""
    results: Results
    questions: Questions
    compacting: Compacting
    policy: BusyPolicy
    posts: TurnPosts
    streaming: Streaming
    received: Received

    async def run(self, turn: Turn) -> None:
        """To the last word, or to where a person must decide; the rows are finished with it."""
        journal = turn.journal
        model = turn.model or await chosen_on(journal.store, journal.path)
        agent = await self.parent(journal.session, turn.address, model)
        loop = self._loop(turn, agent)
        if turn.pending is not None:
            await self.results.resume(loop, turn.pending)
        match await self.compacting.run(loop):
            case OutOfIterations(limit):
                turn.given_up = True
                text = f"I stopped after {limit} steps without an answer. Write to go on."
                await no_answer(
                    self.posts.composer, turn, text, f"stopped after {limit} model calls"
                )
            case Repeated() as useless:
                await no_answer(
                    self.posts.composer,
                    turn,
                    _stopped(useless),
                    f"{useless.tool} failed {useless.times} times in the same way",
                )
            case Answered() | Asleep() | CalledFinal():
                if not turn.answered:
                    await turn.finish()

    def _loop(self, turn: Turn, agent: Agent) -> Loop:
        account = Account("parent", turn.journal.session, Purpose(turn.address, turn.person))
        run = AgentRun(agent, turn.journal, account)
        live = self.streaming.answer(_place(turn), turn.live)
        calls = ModelCalls(
            self.model if live is None else Shown(self.model, live),
            run,
            on_reply=partial(self.posts.of_reply, turn, agent),
            heard=None if live is None else live.heard,
            on_cut=partial(self.posts.of_cut, turn),
        )
        files = partial(self.posts.of_files, turn)
        tools = ToolRuns(run, self._asker(turn), on_files=files, person=turn.speaker)
        return Loop(calls, tools, partial(self._before_model, turn, agent.spec))

    async def _before_model(self, turn: Turn, spec: ModelSpec) -> None:
        if self.policy.busy_at(turn.address) == "steer":
            await self._steer(turn)
        await self.compacting.where_due(turn.journal, spec, Purpose(turn.address, turn.person))

    def _asker(self, turn: Turn) -> Asker:
        subject = {"person": turn.speaker}
        return Asker(self.questions, turn.journal.session, turn.address, subject)

    async def _steer(self, turn: Turn) -> None:
        """Talk that came during the turn is put before the model at its next call."""
        journal = turn.journal
        for row in await journal.store.read(lambda tx: tx.inbox.unfinished(journal.session)):
            if row.kind is not InboxKind.MESSAGE or row.entry is not None or row.id in turn.row_ids:
                continue
            if self.policy.joins(row, turn.rows[-1]) and is_ready(row):
                when = await journal.store.read(partial(self._received, row=row))
                draft = message_draft(row, received=when)
                await journal.append(draft, partial(_steered, row=row))
                turn.rows.append(row)

    def _received(self, tx: Transaction, row: InboxRow) -> Json:
        return self.received(tx, row.address, author_of(row))


def _steered(tx: Transaction, entry: Entry, row: InboxRow) -> None:
    link_message(tx, entry, row)
    spoken(tx, entry.session)


LONGEST_ERROR = 500
"""Characters of a tool's error that people are shown."""


def _stopped(useless: Repeated) -> str:
    tool, error = escape(bounded(useless.tool, 60)), useless.error.removeprefix("Error: ")
    return (
        f"I stopped: I called {tool} {useless.times} times in the same way, and it failed with the "
        f"same error each time: {escape(bounded(error, LONGEST_ERROR))}\n\nWrite to go on."
    )


def _place(turn: Turn) -> Place:
    inbox = turn.rows[0].id
    private, reply_to = turn.private, turn.reply_to
    said = partial(_said, turn)
    return Place(turn.address, turn.journal, inbox, lambda: turn.row_ids, reply_to, private, said)


def _said(turn: Turn) -> Collection[str]:
    return said_before(turn.journal.path)
