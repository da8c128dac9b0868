"""Carries out the steps of delegations: runs workers and overseers, asks people, keeps journals.

A delegation's journal is a subagent session of records, one for each event; each agent it runs has
a session of its own below it. Performing a delegation again, in another process too, folds the
journal and goes on where it was.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import assert_never

from agent.child import Child
from agent.delegation import State, advance, fold
from agent.delegation_events import (
    Answered,
    Asked,
    AskHuman,
    AwaitHuman,
    Event,
    Expired,
    Finish,
    Interrupted,
    ModelFailed,
    RunOverseer,
    RunWorker,
    Started,
    Task,
    event_from_json,
    event_to_json,
)
from agent.journal import Alongside, Journal
from agent.loop import Agent
from agent.model import Model, ModelError, ModelSpec
from agent.models import Models
from agent.overseer_run import OVERSEER_TOOLS, run_overseer
from agent.prompts import OVERSEER, human_question, overseer_brief, worker_system, worker_task
from agent.result import finished_result, to_text, waiting_result
from agent.tools.registry import Tools
from agent.worker import REPORT_OUTCOME, run_worker
from storage.delegations import Delegation, DelegationDraft
from storage.entries import Draft, Entry, Kind, SessionDraft, SessionKind, record
from storage.questions import Question, QuestionDraft, QuestionState
from storage.store import Store, Transaction

OVERSEER_ITERATIONS = 10
EVENT = "delegation"
FINAL_STATES = frozenset({"completed", "failed", "interrupted", "timeout", "rejected"})

Ask = Callable[[Transaction, QuestionDraft], Question]
"""Stores a question and posts it where the policy says, within one transaction."""


@dataclass(frozen=True, slots=True)
class Finished:
    result: str
    """The result as JSON text."""


@dataclass(frozen=True, slots=True)
class Held:
    """A person must decide."""

    question: int
    result: str
    """What the parent is told until then, as JSON text."""


Performed = Finished | Held


@dataclass(frozen=True, slots=True)
class Subagents:
    store: Store
    model: Model
    models: Models
    ask: Ask
    worker_tools: Tools

    async def start(
        self, task: Task, *, session: int, call_entry: int, call_id: str, address: str
    ) -> Delegation:
        """Store a delegation; the one that is there where the call was begun before."""

        def work(tx: Transaction) -> Delegation:
            known = tx.delegations.of_call(session, call_entry, call_id)
            if known:
                return known[0]
            journal = tx.tree.create(
                SessionDraft(SessionKind.SUBAGENT, "delegation", session, call_entry)
            )
            tx.tree.append(journal.id, _event_draft(Started(task)), after=None)
            return tx.delegations.create(
                DelegationDraft(
                    session=session,
                    call_id=call_id,
                    call_entry=call_entry,
                    index=0,
                    journal=journal.id,
                    address=address,
                    goal=task.goal,
                    model=self._spec(task.worker).model,
                )
            )

        return await self.store.run(work)

    async def perform(self, delegation: Delegation) -> Performed:
        """Go on until the delegation is finished or a person must decide."""
        journal = await Journal.claim(self.store, delegation.journal)
        state = fold(events_of(journal.path))
        while True:
            match state.step:
                case Finish() as finish:
                    return Finished(await self._finish(delegation, state, finish))
                case AwaitHuman(question):
                    event = await self._decision(question)
                    if event is None:
                        return Held(question, await self._hold(delegation, state, question))
                    await journal.append(_event_draft(event), _running(delegation.id))
                case AskHuman() as step:
                    event = await self._ask(journal, delegation, state, step)
                case RunWorker() | RunOverseer():
                    event = await self._run_agent(delegation, state)
                    await journal.append(_event_draft(event))
                case _:
                    assert_never(state.step)
            state = advance(state, event)

    async def _run_agent(self, delegation: Delegation, state: State) -> Event:
        try:
            match state.step:
                case RunWorker(attempt, correction):
                    worker = await self._worker(delegation, state, attempt)
                    return await run_worker(worker, correction)
                case RunOverseer(cycle, delta):
                    agent = Agent(
                        tier="overseer",
                        spec=self._spec(state.task.overseer),
                        system=OVERSEER,
                        tools={},
                        max_iterations=OVERSEER_ITERATIONS,
                        final_tools=OVERSEER_TOOLS,
                    )
                    brief = overseer_brief(state, delta)
                    overseer = await self._child(delegation, agent, f"overseer {cycle}", brief)
                    return await run_overseer(overseer, state)
                case _:
                    raise AssertionError(state.step)
        except ModelError as error:
            return ModelFailed(str(error))

    async def _worker(self, delegation: Delegation, state: State, attempt: int) -> Child:
        agent = Agent(
            tier="worker",
            spec=self._spec(state.task.worker),
            system=worker_system(state.table),
            tools=self.worker_tools,
            max_iterations=state.task.max_iterations,
            final_tools=(REPORT_OUTCOME,) if state.table is not None else (),
        )
        return await self._child(delegation, agent, f"worker {attempt}", worker_task(state))

    async def _child(self, delegation: Delegation, agent: Agent, title: str, task: str) -> Child:
        return await Child.resume(self.store, self.model, delegation, agent, title, task)

    async def _ask(
        self, journal: Journal, delegation: Delegation, state: State, step: AskHuman
    ) -> Asked:
        """Store the question and the event that says so, in one transaction."""
        draft = QuestionDraft(
            kind="escalation",
            text=human_question(state, step.text),
            choices=step.choices,
            session=delegation.session,
            address=delegation.address,
            subject={"delegation": delegation.id},
        )

        def ask(tx: Transaction) -> Draft:
            tx.delegations.update(delegation.id, state="waiting", tier="human")
            return _event_draft(Asked(self.ask(tx, draft).id))

        entry = await journal.append(ask)
        asked = event_from_json(entry.body["data"])
        assert isinstance(asked, Asked)
        return asked

    async def _decision(self, question: int) -> Event | None:
        """What became of a question; None while it is open."""
        asked = await self.store.read(lambda tx: tx.questions.get(question))
        match asked.state:
            case QuestionState.OPEN:
                return None
            case QuestionState.DECIDED:
                assert asked.choice is not None
                return Answered(asked.choice, asked.decided_name or asked.decided_by)
            case QuestionState.EXPIRED:
                return Expired("failed" if asked.choice == "failed" else "rejected")
            case QuestionState.WITHDRAWN:
                return Interrupted()
            case _:
                assert_never(asked.state)

    async def _hold(self, delegation: Delegation, state: State, question: int) -> str:
        asked = await self.store.read(lambda tx: tx.questions.get(question))
        return to_text(waiting_result(state, asked))

    async def _finish(self, delegation: Delegation, state: State, finish: Finish) -> str:
        def work(tx: Transaction) -> str:
            return finish_delegation(tx, delegation.id, state, finish)

        return await self.store.run(work)

    def _spec(self, name: str) -> ModelSpec:
        """The model a task was given; the worker tier where the configuration lost it since."""
        return self.models.find(name) or self.models.tier("worker")


def finish_delegation(tx: Transaction, delegation: int, state: State, finish: Finish) -> str:
    """Note the end of a delegation; its result as JSON text."""
    row = tx.delegations.get(delegation)
    result = to_text(finished_result(state, finish, row.usage))
    tx.delegations.update(delegation, state=finish.status, result=result)
    return result


def interrupt_call(tx: Transaction, session: int, call_entry: int, call_id: str) -> str | None:
    """End the delegations of a call that somebody interrupted; the call's result, None where the
    call delegated nothing."""
    result = None
    for row in tx.delegations.of_call(session, call_entry, call_id):
        held = tx.tree.claim(row.journal)
        path = tx.tree.context_path(held.leaf)
        state = fold(events_of(path))
        if not isinstance(state.step, Finish):
            tx.tree.append(row.journal, _event_draft(Interrupted()), after=held.leaf)
            state = advance(state, Interrupted())
        assert isinstance(state.step, Finish)
        result = finish_delegation(tx, row.id, state, state.step)
    return result


def waiting_call(tx: Transaction, session: int, call_entry: int, call_id: str) -> Held | None:
    """What a call waits for, where it delegated and a person must decide (or just has)."""
    for row in tx.delegations.of_call(session, call_entry, call_id):
        state = fold(events_of(tx.tree.context_path(tx.tree.session(row.journal).leaf)))
        if isinstance(state.step, AwaitHuman):
            asked = tx.questions.get(state.step.question)
            if asked.state is not QuestionState.WITHDRAWN:
                return Held(asked.id, to_text(waiting_result(state, asked)))
    return None


def events_of(path: tuple[Entry, ...]) -> list[Event]:
    return [event_from_json(e.body["data"]) for e in path if e.body.get("record") == EVENT]


def _event_draft(event: Event) -> Draft:
    return Draft(Kind.RECORD, record(EVENT, data=event_to_json(event)))


def _running(delegation: int) -> Alongside:
    return lambda tx, _: tx.delegations.update(delegation, state="running")
