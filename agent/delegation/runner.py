"""Carries out the steps of delegations: has their agents run, asks people, keeps journals.

A delegation's journal is a subagent session of records, one for each event; each agent it runs has
a session of its own below it. Carrying a delegation on again, in another process too, folds the
journal and goes on where it was.
"""

import logging
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from functools import partial
from typing import assert_never

from agent.delegation.children.child_runner import Assignment, ChildRunner
from agent.delegation.children.presence import shown
from agent.delegation.children.prompts import Means
from agent.delegation.children.slots import Slots
from agent.delegation.children.supervision import (
    Activity,
    started_in_turn,
)
from agent.delegation.core.events import (
    AskHuman,
    AwaitHuman,
    Event,
    Finish,
    RunJudge,
    RunOverseer,
    RunWorker,
    Started,
    Task,
    event_draft,
    events_of,
)
from agent.delegation.core.machine import advance, fold
from agent.delegation.core.state import State
from agent.delegation.escalation import ask_person, decision
from agent.delegation.outcomes import Finished, Held, Launched, Performed, held
from agent.delegation.result import launched_result
from agent.delegation.settlement import (
    asked_by_tools,
    asked_question,
    asked_questions,
    finish_delegation,
    stored_result,
)
from agent.models.registry import Models
from agent.runtime.journal import Journal
from agent.runtime.people import People
from agent.spans import Attributes, span
from storage.records.delegations import Delegation, DelegationDraft
from storage.records.entries import Entry, Json, SessionDraft, SessionKind
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

    def begun(self, tx: Transaction) -> list[Delegation]:
        """The delegations of the call, where it was begun before; in task order."""
        return tx.delegations.of_call(self.session, self.call_entry, self.call_id)


@dataclass(frozen=True, slots=True)
class Subagents:
    store: Store
    models: Models
    people: People
    child_tools: ChildTools
    slots: Slots
    child_runner: ChildRunner
    active: dict[int, Activity] = field(default_factory=dict)
    """The children that run now or wait for a slot, by delegation."""

    async def started(self, origin: Origin, tool: str) -> int:
        """How many delegations the turn that makes this call has begun."""
        session, entry = origin.session, origin.call_entry
        return await self.store.read(lambda tx: started_in_turn(tx, session, entry, tool))

    async def start(self, tasks: Sequence[Task], origin: Origin) -> list[Delegation]:
        """Store all delegations of a call at once, unless whoever took the turn over has."""
        new = list(enumerate(tasks))
        return await self.store.run(
            lambda tx: origin.begun(tx) or [self._create(tx, origin, *one) for one in new]
        )

    def _create(self, tx: Transaction, origin: Origin, index: int, task: Task) -> Delegation:
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
                model=self.models.of_task(task.worker).model,
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
            with span("invoke_agent worker", _traced(delegation)):
                slot = activity.in_slot(self.slots.of(delegation))
                async with shown(self.store, activity), slot:
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
                    assignment = self._assignment(delegation, state, activity)
                    happened = await self.child_runner.run(assignment)
                    if happened is None:
                        return await self._nested_hold(delegation)
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

    def _assignment(self, delegation: Delegation, state: State, activity: Activity) -> Assignment:
        means = self.child_tools(self, delegation, state.task, activity)
        return Assignment(delegation, state, activity, means)

    async def _nested_hold(self, delegation: Delegation) -> Held:
        """What a child delegated itself waits for a person, so its own delegation does too."""

        def work(tx: Transaction) -> Question:
            tx.delegations.update(delegation.id, state="waiting", tier="human")
            asked = asked_question(tx, delegation)
            assert asked is not None
            return asked

        return held(delegation, await self.store.run(work))


def _traced(delegation: Delegation) -> Attributes:
    log.debug("delegation", extra={"delegation": delegation.id, "model": delegation.model})
    about = {"gen_ai.operation.name": "invoke_agent", "gen_ai.request.model": delegation.model}
    return {**about, "bough.delegation": delegation.id}


def _question(tx: Transaction, number: int) -> Question:
    return tx.questions.get(number)
