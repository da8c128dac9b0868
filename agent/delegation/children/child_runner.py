"""Runs the agent that is next in a delegation: its worker, its overseer or its judge."""

import logging
from collections.abc import Sequence
from dataclasses import dataclass, replace

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
    Stopped,
    write_diagnosis,
)
from agent.delegation.children.transcript import findings, worker_paths
from agent.delegation.core.events import (
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
    TimedOut,
)
from agent.delegation.core.state import State
from agent.delegation.handoff.render import history
from agent.models.base import Model, ModelError, ModelErrorKind
from agent.models.registry import Models
from agent.models.retry import Waits, waits_noted
from agent.runtime.people import Asker, People
from agent.runtime.steps.agent import Agent
from agent.tools.base import looking
from storage.records.delegations import Delegation
from storage.records.entries import Json, Run, RunRole
from storage.store import Store

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Life:
    """How long a child may live, in seconds; 0 is for ever."""

    cap: float = 0.0
    stall: float = 0.0
    diagnoses: str = ""
    """Folder for the diagnosis of a child that timed out without a model call; "" for none."""


@dataclass(frozen=True, slots=True)
class Assignment:
    """A delegation whose next step is to run an agent."""

    delegation: Delegation
    state: State
    activity: Activity
    means: Means
    """The worker's; overseer and judge have those of its tools that only look."""


@dataclass(slots=True)
class ChildRunner:
    store: Store
    models: Models
    model: Model
    judge_model: Model
    """The same without patience: a judge has its own."""
    people: People
    compacting: Compacting
    life: Life = Life()
    max_calls: int = 16
    """As in Agent."""

    async def run(self, at: Assignment) -> Event | None:
        """Run whoever is next, for as long as it may live; what came of it. None where something
        that it delegated itself waits for a person."""
        delegation, activity, life = at.delegation, at.activity, self.life
        try:
            async with activity.watched(life.cap, life.stall):
                with waits_noted(Waits(activity.failures)):
                    return await self._run_agent(at)
        except ModelError as error:
            return await self._what_stands(at, ModelFailed(str(error)))
        except Stopped:
            return Interrupted()
        except NoHeartbeat:
            log.error("delegation %s: no heartbeat for %g s", delegation.id, life.stall)
            return await self._what_stands(at, Stalled(life.stall))
        except OutOfTime:
            log.error("delegation %s: stopped after %g s", delegation.id, life.cap)
            if not activity.calls and life.diagnoses:
                spec = self.models.of_task(at.state.task.worker)
                await write_diagnosis(life.diagnoses, delegation, at.state, spec, activity)
            return await self._what_stands(at, TimedOut(life.cap))

    async def _what_stands(self, at: Assignment, event: ModelFailed | Stalled | TimedOut) -> Event:
        """What a worker that ended so had found by then, without another call; `event` where that
        is nothing, or nobody was at work."""
        if not isinstance(at.state.step, RunWorker):
            return event
        paths = await self.store.read(lambda tx: worker_paths(tx, at.delegation.journal))
        found = findings(paths[-1]) if paths else ""
        return cut_short_by(event, found) if found else event

    async def _run_agent(self, at: Assignment) -> Event | None:
        match at.state.step:
            case RunWorker(attempt, told):
                return await self._run_worker(at, attempt, told)
            case RunOverseer(cycle, delta):
                return await run_overseer(await self._overseer(at, cycle, delta), at.state)
            case RunJudge(outcome):
                return await self._judge(at, outcome)
            case _:
                raise AssertionError(at.state.step)

    async def _run_worker(self, at: Assignment, attempt: int, told: Sequence[str]) -> Event | None:
        """Handed commands stand in the worker's history as calls. Some providers refuse calls of
        tools that are not offered; for those a new worker gets them as text."""
        delegation, as_text = at.delegation, Run(RunRole.WORKER_AS_TEXT, attempt)
        known = await self.store.read(lambda tx: tx.tree.children(delegation.journal))
        if all(child.run != as_text for child in known):
            worker = await self._worker(at, Run(RunRole.WORKER, attempt))
            try:
                return await run_worker(worker, told)
            except ModelError as error:
                if error.kind is not ModelErrorKind.BAD_REQUEST or not worker.was_only_handed():
                    raise
                log.warning("delegation %s: %s; handed commands as text", delegation.id, error)
        return await run_worker(await self._worker(at, as_text), told)

    async def _worker(self, at: Assignment, run: Run) -> Child:
        delegation, state = at.delegation, at.state
        spec = self.models.of_task(state.task.worker)
        if state.task.reasoning_effort:
            spec = replace(spec, reasoning_effort=state.task.reasoning_effort)
        agent = worker_agent(state, spec, at.means, self.max_calls)
        commands_as_text = run.role is RunRole.WORKER_AS_TEXT
        paths = await self.store.read(lambda tx: worker_paths(tx, delegation.journal, run.number))
        former = former_work(paths, state, spec)
        task, handed = worker_task(state, commands_as_text, former), state.task.handed
        done = history(handed) if handed is not None and not commands_as_text else ()
        return await self._child(at, agent, run, task, done)

    async def _overseer(self, at: Assignment, cycle: int, delta: Delta) -> Child:
        """It may look at what the worker may look at, and changes nothing."""
        spec = self.models.of_task(at.state.task.overseer)
        agent = overseer_agent(spec, looking(at.means.tools), self.max_calls)
        run, brief = Run(RunRole.OVERSEER, cycle), overseer_brief(at.state, delta)
        return await self._child(at, agent, run, brief, asks=False)

    async def _child(
        self,
        at: Assignment,
        agent: Agent,
        run: Run,
        task: str,
        handed: Sequence[Json] = (),
        *,
        asks: bool = True,
    ) -> Child:
        """`asks`: whether its calls may wait for people."""
        delegation = at.delegation
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
            at.activity,
            self.compacting,
            handed,
        )

    async def _judge(self, at: Assignment, outcome: Finish) -> Judged:
        await at.activity.may_go_on()
        at.activity.beat("judge")
        spec, task, tools = self.models.tier("judge"), at.state.task, at.means.tools
        judge = self.judge_model
        return await run_judge(self.store, judge, spec, at.delegation, task, outcome, tools)
