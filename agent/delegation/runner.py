"""Carries out the steps of delegations: runs workers, overseers and judges, asks people, keeps
journals.

A delegation's journal is a subagent session of records, one for each event; each agent it runs has
a session of its own below it. Carrying a delegation on again, in another process too, folds the
journal and goes on where it was.
"""

import logging
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from typing import assert_never

from agent.delegation.child import Child, account_of
from agent.delegation.core.events import (
    AskHuman,
    AwaitHuman,
    Event,
    Finish,
    Interrupted,
    Judged,
    ModelFailed,
    RunJudge,
    RunOverseer,
    RunWorker,
    Stalled,
    Started,
    Task,
    TimedOut,
    event_draft,
    events_of,
)
from agent.delegation.core.judge import judge
from agent.delegation.core.machine import State, advance, fold, judged_output
from agent.delegation.escalation import ask_person, decision
from agent.delegation.handoff.render import history
from agent.delegation.prompts import OVERSEER, overseer_brief, worker_system, worker_task
from agent.delegation.result import launched_result, waiting_result
from agent.delegation.roles import OVERSEER_TOOLS, REPORT_OUTCOME, run_overseer, run_worker
from agent.delegation.settlement import (
    asked_question,
    asked_questions,
    finish_delegation,
    stored_result,
)
from agent.delegation.supervision import (
    Activity,
    NoHeartbeat,
    OutOfTime,
    Slots,
    Stopped,
    started_in_turn,
    write_diagnosis,
)
from agent.delegation.transcript import tool_calls_text, worker_paths
from agent.models.base import Model, ModelError, ModelErrorKind, ModelSpec
from agent.models.metering import MeteredModel
from agent.models.registry import Models
from agent.models.retry import failures_noted
from agent.runtime.journal import Journal
from agent.runtime.loop import Agent
from agent.runtime.people import Asker, People
from agent.tools.base import Tools
from storage.records.delegations import Delegation, DelegationDraft
from storage.records.entries import Json, Run, RunRole, SessionDraft, SessionKind
from storage.records.inbox_outbox import Arrival, DelegationRow, InboxKind
from storage.records.questions import Question
from storage.store import Store, Transaction

log = logging.getLogger(__name__)

OVERSEER_ITERATIONS = 10

ChildTools = Callable[["Subagents", Delegation, Task, Activity], Tools]
"""What a worker may use; what it delegates itself is run by the same."""


@dataclass(frozen=True, slots=True)
class Finished:
    result: Json


@dataclass(frozen=True, slots=True)
class Held:
    """A person must decide."""

    question: int
    result: Json
    """What the parent is told until then."""


@dataclass(frozen=True, slots=True)
class Launched:
    """It runs in the background."""

    result: Json


Performed = Finished | Held | Launched


@dataclass(frozen=True, slots=True)
class Origin:
    """The call that delegates; see Delegation."""

    session: int
    call_entry: int
    call_id: str
    address: str
    person: str
    root: int
    top: int | None = None


@dataclass(frozen=True, slots=True)
class Life:
    """How long a child may live, in seconds; 0 is for ever."""

    cap: float = 0.0
    stall: float = 0.0
    diagnoses: str = ""
    """Folder for the diagnosis of a child that timed out without a model call; "" for none."""


@dataclass
class Subagents:
    store: Store
    model: Model
    judge_model: Model
    """The same without patience: a judge has its own."""
    models: Models
    people: People
    child_tools: ChildTools
    slots: Slots
    life: Life = Life()
    max_calls: int = 16
    """As in Agent."""
    active: dict[int, Activity] = field(default_factory=dict)
    """The children that run now or wait for a place, by delegation."""

    async def begun(self, origin: Origin) -> list[Delegation]:
        """The delegations of a call, where it was begun before; in task order."""
        return await self.store.read(
            lambda tx: tx.delegations.of_call(origin.session, origin.call_entry, origin.call_id)
        )

    async def started(self, origin: Origin, tool: str) -> int:
        """How many delegations the turn that makes this call has begun."""
        session, entry = origin.session, origin.call_entry
        return await self.store.read(lambda tx: started_in_turn(tx, session, entry, tool))

    async def start(self, tasks: Sequence[Task], origin: Origin) -> list[Delegation]:
        """Store all delegations of a call at once."""
        return await self.store.run(
            lambda tx: [self._create(tx, task, origin, index) for index, task in enumerate(tasks)]
        )

    def _create(self, tx: Transaction, task: Task, origin: Origin, index: int) -> Delegation:
        journal = tx.tree.create(
            SessionDraft(SessionKind.SUBAGENT, "delegation", origin.session, origin.call_entry)
        )
        tx.tree.append(journal.id, event_draft(Started(task)), after=None)
        row = tx.delegations.create(
            DelegationDraft(
                session=origin.session,
                call_id=origin.call_id,
                call_entry=origin.call_entry,
                index=index,
                journal=journal.id,
                root=journal.id if task.background else origin.root,
                address=origin.address,
                goal=task.goal,
                model=self._spec(task.worker).model,
                person=origin.person,
                top=origin.top,
                background=task.background,
            )
        )
        if task.background:
            payload = asdict(DelegationRow(row.id))
            key, kind = f"background:{row.id}", InboxKind.BACKGROUND
            tx.inbox.receive(Arrival(key, kind, row.address, payload, session=journal.id))
        return row

    async def perform(self, delegation: Delegation, above: Activity | None = None) -> Performed:
        """Carry a delegation on within the limit of children; one for the background is only said
        to be launched: its inbox row, written when it was stored, is what runs it. `above` is the
        child that delegated, where one did."""
        if delegation.background and stored_result(delegation) is None:
            return Launched(launched_result(delegation))
        return await self.carry_on(delegation, above)

    async def carry_on(
        self, delegation: Delegation, above: Activity | None = None
    ) -> Finished | Held:
        """Go on, within the limit of children, until the delegation is finished or a person must
        decide."""
        if (result := stored_result(delegation)) is not None:
            return Finished(result)
        activity = Activity(delegation.id, above=above)
        self.active[delegation.id] = activity
        try:
            async with activity.placed(self.slots.of(delegation)):
                return await self._carry_on(delegation, activity)
        finally:
            del self.active[delegation.id]

    async def _carry_on(self, delegation: Delegation, activity: Activity) -> Finished | Held:
        journal = await Journal.claim(self.store, delegation.journal)
        state = fold(events_of(journal.path))
        while True:
            match state.step:
                case Finish() as finish:
                    return Finished(await self._finish(delegation, state, finish))
                case AskHuman() as step:
                    event: Event = await ask_person(journal, self.people, delegation, state, step)
                case AwaitHuman(number):
                    question = await self.store.read(partial(_question, number=number))
                    decided = decision(question)
                    if decided is None:
                        return _held(delegation, question)
                    event = await self._happened(journal, delegation, decided)
                case RunWorker() | RunOverseer() | RunJudge():
                    happened = await self._run(delegation, state, activity)
                    if isinstance(happened, Held):
                        return happened
                    event = await self._happened(journal, delegation, happened)
                case _:
                    assert_never(state.step)
            state = advance(state, event)

    async def _finish(self, delegation: Delegation, state: State, finish: Finish) -> Json:
        def work(tx: Transaction) -> Json:
            for question in asked_questions(tx, delegation):
                self.people.withdraw(tx, question.id)
            return finish_delegation(tx, delegation, state, finish)

        return await self.store.run(work)

    async def _happened(self, journal: Journal, delegation: Delegation, event: Event) -> Event:
        """Note what happened; whatever comes next, the delegation does not wait any more."""
        await journal.append(
            event_draft(event),
            lambda tx, _: tx.delegations.update(delegation.id, state="running"),
        )
        return event

    async def _run(self, delegation: Delegation, state: State, activity: Activity) -> Event | Held:
        """Run whoever is next, for as long as it may live."""
        try:
            async with activity.watched(self.life.cap, self.life.stall):
                with failures_noted(activity.failures):
                    return await self._run_agent(delegation, state, activity)
        except ModelError as error:
            return ModelFailed(str(error))
        except Stopped:
            return Interrupted()
        except NoHeartbeat:
            log.error("delegation %s: no heartbeat for %g s", delegation.id, self.life.stall)
            return Stalled(self.life.stall)
        except OutOfTime:
            log.error("delegation %s: stopped after %g s", delegation.id, self.life.cap)
            if not activity.calls and self.life.diagnoses:
                spec = self._spec(state.task.worker)
                await write_diagnosis(self.life.diagnoses, delegation, state, spec, activity)
            return TimedOut(self.life.cap)

    async def _run_agent(
        self, delegation: Delegation, state: State, activity: Activity
    ) -> Event | Held:
        match state.step:
            case RunWorker(attempt, told):
                event = await self._run_worker(delegation, state, attempt, told, activity)
                return event if event is not None else await self._nested_hold(delegation)
            case RunOverseer(cycle, delta):
                agent = Agent(
                    tier="overseer",
                    spec=self._spec(state.task.overseer),
                    system=OVERSEER,
                    tools={},
                    max_iterations=OVERSEER_ITERATIONS,
                    final_tools=OVERSEER_TOOLS,
                    max_calls=self.max_calls,
                )
                brief = overseer_brief(state, delta)
                run = Run(RunRole.OVERSEER, cycle)
                overseer = await self._child(delegation, agent, run, brief, activity)
                return await run_overseer(overseer, state)
            case RunJudge(outcome):
                return await self._judge(delegation, state, outcome, activity)
            case _:
                raise AssertionError(state.step)

    async def _run_worker(
        self,
        delegation: Delegation,
        state: State,
        attempt: int,
        told: Sequence[str],
        activity: Activity,
    ) -> Event | None:
        """Handed commands stand in the worker's history as calls. Some providers refuse calls of
        tools that are not offered; for those a new worker gets them as text."""
        as_text = Run(RunRole.WORKER_AS_TEXT, attempt)
        known = await self.store.read(lambda tx: tx.tree.children(delegation.journal))
        if all(child.run != as_text for child in known):
            worker = await self._worker(delegation, state, Run(RunRole.WORKER, attempt), activity)
            try:
                return await run_worker(worker, told)
            except ModelError as error:
                if error.kind is not ModelErrorKind.BAD_REQUEST or not worker.was_only_handed():
                    raise
                log.warning("delegation %s: %s; handed commands as text", delegation.id, error)
        worker = await self._worker(delegation, state, as_text, activity)
        return await run_worker(worker, told)

    async def _worker(
        self, delegation: Delegation, state: State, run: Run, activity: Activity
    ) -> Child:
        spec = self._spec(state.task.worker)
        if state.task.reasoning_effort:
            spec = replace(spec, reasoning_effort=state.task.reasoning_effort)
        agent = Agent(
            tier="worker",
            spec=spec,
            system=worker_system(state.table),
            tools=self.child_tools(self, delegation, state.task, activity),
            max_iterations=state.task.max_iterations,
            final_tools=(REPORT_OUTCOME,) if state.table is not None else (),
            max_calls=self.max_calls,
            waits_for_all=True,
        )
        commands_as_text = run.role is RunRole.WORKER_AS_TEXT
        task, handed = worker_task(state, commands_as_text), state.task.handed
        done = history(handed) if handed is not None and not commands_as_text else ()
        return await self._child(delegation, agent, run, task, activity, done)

    async def _child(
        self,
        delegation: Delegation,
        agent: Agent,
        run: Run,
        task: str,
        activity: Activity,
        handed: Sequence[Json] = (),
    ) -> Child:
        subject = {"delegation": delegation.top or delegation.id}
        asker = Asker(self.people, delegation.root, delegation.address, subject)
        return await Child.resume(
            self.store, self.model, asker, delegation, agent, run, task, activity, handed
        )

    async def _judge(
        self, delegation: Delegation, state: State, outcome: Finish, activity: Activity
    ) -> Judged:
        """Hold an outcome against the criteria. Fails closed: trouble is INCONCLUSIVE."""
        spec = self.models.tier("judge")
        await activity.may_go_on()
        activity.beat("judge")
        account = account_of(delegation, "judge")
        judgement = await judge(
            MeteredModel(self.judge_model, self.store, account),
            spec,
            objective=state.task.goal,
            criteria=state.task.acceptance_criteria,
            output=judged_output(outcome),
            tool_calls=await self._tool_calls(delegation) if state.task.judge_sees_tools else None,
            purpose=account.purpose,
        )
        return Judged(judgement.verdict, judgement.reasoning)

    async def _tool_calls(self, delegation: Delegation) -> str:
        paths = await self.store.read(lambda tx: worker_paths(tx, delegation.journal))
        return tool_calls_text(paths[-1]) if paths else ""

    async def _nested_hold(self, delegation: Delegation) -> Held:
        """What a child delegated itself waits for a person, so its own delegation does too."""

        def work(tx: Transaction) -> Question:
            tx.delegations.update(delegation.id, state="waiting", tier="human")
            asked = asked_question(tx, delegation)
            assert asked is not None
            return asked

        return _held(delegation, await self.store.run(work))

    def _spec(self, name: str) -> ModelSpec:
        """The model a task was given; the worker tier where the configuration lost it since."""
        return self.models.find(name) or self.models.tier("worker")


def _question(tx: Transaction, number: int) -> Question:
    return tx.questions.get(number)


def _held(delegation: Delegation, question: Question) -> Held:
    return Held(question.id, waiting_result(delegation.goal, question))
