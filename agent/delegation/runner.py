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

from agent.compaction.service import Compacting
from agent.delegation.children.child import Child
from agent.delegation.children.former import former_work
from agent.delegation.children.judging import run_judge
from agent.delegation.children.prompts import Means, overseer_brief, worker_task
from agent.delegation.children.roles import (
    cut_short_by,
    overseer_agent,
    run_overseer,
    run_worker,
    worker_agent,
)
from agent.delegation.children.supervision import (
    Activity,
    NoHeartbeat,
    OutOfTime,
    Slots,
    Stopped,
    started_in_turn,
    write_diagnosis,
)
from agent.delegation.children.transcript import findings, worker_paths
from agent.delegation.core.events import (
    AskHuman,
    AwaitHuman,
    Delta,
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
from agent.delegation.core.machine import advance, fold
from agent.delegation.core.state import State
from agent.delegation.escalation import ask_person, decision
from agent.delegation.handoff.render import history
from agent.delegation.outcomes import Finished, Held, Launched, Performed, held
from agent.delegation.result import launched_result
from agent.delegation.settlement import (
    asked_by_tools,
    asked_question,
    asked_questions,
    finish_delegation,
    stored_result,
)
from agent.models.base import Model, ModelError, ModelErrorKind, ModelSpec
from agent.models.registry import Models
from agent.models.retry import failures_noted
from agent.runtime.journal import Journal
from agent.runtime.loop import Agent
from agent.runtime.people import Asker, People
from agent.tools.base import looking
from storage.records.delegations import Delegation, DelegationDraft
from storage.records.entries import Entry, Json, Run, RunRole, SessionDraft, SessionKind
from storage.records.inbox_outbox import Arrival, DelegationRow, InboxKind
from storage.records.questions import Question
from storage.store import Store, Transaction

log = logging.getLogger(__name__)

ChildTools = Callable[["Subagents", Delegation, Task, Activity], Means]
"""What a worker works with; what it delegates itself is run by the same."""


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
    compacting: Compacting
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
                        return held(delegation, question)
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
        """Note what happened; whatever comes next, the delegation does not wait any more, and
        nobody is to approve what a worker wanted to call that has come to its end."""

        def alongside(tx: Transaction, _: Entry) -> None:
            tx.delegations.update(delegation.id, state="running")
            if tx.questions.open(delegation.root):
                for question in asked_by_tools(tx, delegation):
                    self.people.withdraw(tx, question.id)

        await journal.append(event_draft(event), alongside)
        return event

    async def _run(self, delegation: Delegation, state: State, activity: Activity) -> Event | Held:
        """Run whoever is next, for as long as it may live."""
        try:
            async with activity.watched(self.life.cap, self.life.stall):
                with failures_noted(activity.failures):
                    return await self._run_agent(delegation, state, activity)
        except ModelError as error:
            failed = ModelFailed(str(error))
            return await self._what_stands(delegation, state, failed)
        except Stopped:
            return Interrupted()
        except NoHeartbeat:
            log.error("delegation %s: no heartbeat for %g s", delegation.id, self.life.stall)
            return await self._what_stands(delegation, state, Stalled(self.life.stall))
        except OutOfTime:
            log.error("delegation %s: stopped after %g s", delegation.id, self.life.cap)
            if not activity.calls and self.life.diagnoses:
                spec = self._spec(state.task.worker)
                await write_diagnosis(self.life.diagnoses, delegation, state, spec, activity)
            return await self._what_stands(delegation, state, TimedOut(self.life.cap))

    async def _what_stands(
        self, delegation: Delegation, state: State, event: ModelFailed | Stalled | TimedOut
    ) -> Event:
        """What a worker that ended so had found by then, without another call; `event` where that
        is nothing, or nobody was at work."""
        if not isinstance(state.step, RunWorker):
            return event
        paths = await self.store.read(lambda tx: worker_paths(tx, delegation.journal))
        found = findings(paths[-1]) if paths else ""
        return cut_short_by(event, found) if found else event

    async def _run_agent(
        self, delegation: Delegation, state: State, activity: Activity
    ) -> Event | Held:
        match state.step:
            case RunWorker(attempt, told):
                event = await self._run_worker(delegation, state, attempt, told, activity)
                return event if event is not None else await self._nested_hold(delegation)
            case RunOverseer(cycle, delta):
                overseer = await self._overseer(delegation, state, cycle, delta, activity)
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
        means = self.child_tools(self, delegation, state.task, activity)
        agent = worker_agent(state, spec, means, self.max_calls)
        commands_as_text = run.role is RunRole.WORKER_AS_TEXT
        paths = await self.store.read(lambda tx: worker_paths(tx, delegation.journal, run.number))
        former = former_work(paths, state, spec)
        task, handed = worker_task(state, commands_as_text, former), state.task.handed
        done = history(handed) if handed is not None and not commands_as_text else ()
        return await self._child(delegation, agent, run, task, activity, done)

    async def _overseer(
        self, delegation: Delegation, state: State, cycle: int, delta: Delta, activity: Activity
    ) -> Child:
        """It may look at what the worker may look at, and changes nothing."""
        means = self.child_tools(self, delegation, state.task, activity)
        agent = overseer_agent(
            self._spec(state.task.overseer), looking(means.tools), self.max_calls
        )
        run, brief = Run(RunRole.OVERSEER, cycle), overseer_brief(state, delta)
        return await self._child(delegation, agent, run, brief, activity, asks=False)

    async def _child(
        self,
        delegation: Delegation,
        agent: Agent,
        run: Run,
        task: str,
        activity: Activity,
        handed: Sequence[Json] = (),
        *,
        asks: bool = True,
    ) -> Child:
        """`asks`: whether its calls may wait for people."""
        subject = {"delegation": delegation.top or delegation.id}
        asker = Asker(self.people, delegation.root, delegation.address, subject)
        return await Child.resume(
            self.store,
            self.model,
            asker if asks else None,
            delegation,
            agent,
            run,
            task,
            activity,
            self.compacting,
            handed,
        )

    async def _judge(
        self, delegation: Delegation, state: State, outcome: Finish, activity: Activity
    ) -> Judged:
        await activity.may_go_on()
        activity.beat("judge")
        spec, task = self.models.tier("judge"), state.task
        tools = self.child_tools(self, delegation, task, activity).tools
        return await run_judge(self.store, self.judge_model, spec, delegation, task, outcome, tools)

    async def _nested_hold(self, delegation: Delegation) -> Held:
        """What a child delegated itself waits for a person, so its own delegation does too."""

        def work(tx: Transaction) -> Question:
            tx.delegations.update(delegation.id, state="waiting", tier="human")
            asked = asked_question(tx, delegation)
            assert asked is not None
            return asked

        return held(delegation, await self.store.run(work))

    def _spec(self, name: str) -> ModelSpec:
        """The model a task was given; the worker tier where the configuration lost it since."""
        return self.models.find(name) or self.models.tier("worker")


def _question(tx: Transaction, number: int) -> Question:
    return tx.questions.get(number)
