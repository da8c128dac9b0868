"""/fan: several answers to the last message side by side, to choose from.

Each arm of the fan is a branch below that message, with a journal of its own. It begins with a
record that says whose it is, so that after a crash it is found and continued, and nothing is
answered twice.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial

from adapters.base import CommandSpec
from agent.concurrency import together
from agent.models.base import ModelError, Purpose
from agent.models.metering import Account
from agent.runtime.chosen_model import chosen_on
from agent.runtime.journal import Journal
from agent.runtime.loop import Answered, Asleep, CalledFinal, Loop, OutOfIterations
from agent.runtime.next_step import Repeated
from agent.runtime.steps.agent import Agent, AgentRun
from agent.runtime.steps.model_calls import ModelCalls
from agent.runtime.steps.tool_runs import ToolRuns
from agent.text.markdown import bounded, escape
from agent.tools.base import Effects, toolbox
from gateway.commands.buttons import button
from gateway.commands.context import NOTHING_YET, Action, Command, CommandCall, Move, Outcome, Reply
from gateway.commands.jobs import JobContext
from gateway.commands.tree.retry import again, answerable
from gateway.commands.tree.siblings import end_below
from gateway.outbound.buttons import MenuItem, send_menu
from gateway.turns.requests import FanRequest, requested
from gateway.turns.turn import Turn
from gateway.views.entries import words
from storage.records.entries import Entry
from storage.records.inbox_outbox import InboxKind, OutboxDraft
from storage.records.record_entries import Failed, FanArm, held_in, record_draft
from storage.store import Transaction

FAN = InboxKind.FAN
"""The command, and the kind of the inbox row that it becomes."""
COUNTS = ("2", "3", "4", "5")
HOW = (
    "Say how many answers, from 2 to 5, and, if you like, by which models, no more than answers: "
    "/fan 3, or /fan 2 worker parent."
)
ERROR_SHOWN = 300
NAME_SHOWN = 40


def _fan(tx: Transaction, call: CommandCall) -> Outcome:
    count, *models = call.argument.split() or [""]
    if count not in COUNTS or len(models) > int(count):
        return Reply(HOW)
    if call.session is None:
        return Reply(NOTHING_YET)
    said = answerable(tx, call, call.session, models)
    if isinstance(said, Reply):
        return said
    names = [models[arm % len(models)] if models else "" for arm in range(int(count))]
    here = tx.tree.session(call.session).leaf  # it moves when they have answered
    reply = Reply(f"Asking for {count} answers side by side…")
    job = again(call, FAN, said, FanRequest, models=tuple(names))
    return Move(call.session, here, FAN, reply, job)


@dataclass(frozen=True, slots=True)
class Pick(Action):
    """Go on with one of the answers."""

    session: int
    entry: int
    heading: str
    name = "pick"
    moves = True

    def plan(self, tx: Transaction, call: CommandCall) -> Outcome:
        tip = end_below(tx, self.session, tx.tree.entry(self.entry))
        return Move(self.session, tip, self.name, Reply(f"Going on with {self.heading}."))


@dataclass(frozen=True, slots=True)
class _Arm:
    number: int
    """From 1."""
    heading: str
    """In Markdown."""
    agent: Agent
    journal: Journal


@dataclass(frozen=True, slots=True)
class _Outcome:
    arm: _Arm
    answer: Entry | None
    error: str = ""


@dataclass(frozen=True, slots=True)
class Fan:
    """The job in the session's lane."""

    context: JobContext

    async def run(self, turn: Turn) -> None:
        """Run all arms, then tell; the leaf goes to the first that answered."""
        ends = await self.context.store.run(partial(_ends, turn=turn))
        paths = await self.context.store.read(
            lambda tx: [tx.tree.context_path(end) for end in ends]
        )
        models = requested(FanRequest, turn.rows[-1]).models
        chosen = await chosen_on(self.context.store, paths[0])
        arms = [
            self._arm(turn, number, models, path, chosen)
            for number, path in enumerate(paths, start=1)
        ]
        outcomes = await together(self._answer(turn, arm) for arm in arms)
        await self.context.store.run(partial(self._end, turn=turn, outcomes=outcomes))

    def _arm(
        self,
        turn: Turn,
        number: int,
        models: Sequence[str],
        path: tuple[Entry, ...],
        chosen: str,
    ) -> _Arm:
        """`chosen`: the model of the branch, for an arm that names none."""
        of = turn.journal
        journal = Journal(of.store, of.session, of.epoch, path, aside=True)
        agent = self.context.agent(of.session, turn.address, models[number - 1] or chosen)
        # The arms work side by side, and all but one are left.
        tools = agent.tools.values()
        allowed = toolbox(*(tool for tool in tools if tool.traits.effects is not Effects.CHANGES))
        name = models[number - 1] or agent.spec.model
        return _Arm(
            number,
            f"{number}/{len(models)} · {escape(bounded(name, NAME_SHOWN))}",
            replace(agent, tools=allowed),
            journal,
        )

    async def _answer(self, turn: Turn, arm: _Arm) -> _Outcome:
        """One arm to its end. One that failed before a crash stays failed."""
        last = arm.journal.path[-1]
        if (failed := held_in(last, Failed)) is not None:
            return _Outcome(arm, None, failed.error)
        try:
            match await self._loop(turn, arm).run():
                case Answered(entry):
                    return _Outcome(arm, entry)
                case OutOfIterations(limit):
                    error = f"stopped after {limit} steps"
                case Repeated(tool, times):
                    error = f"stopped: {tool} failed {times} times in the same way"
                case Asleep() | CalledFinal():
                    error = "stopped without an answer"
        except ModelError as failure:
            error = str(failure)
        await arm.journal.append(record_draft(Failed(error)))
        return _Outcome(arm, None, error)

    def _loop(self, turn: Turn, arm: _Arm) -> Loop:
        context, spec = self.context, arm.agent.spec
        purpose = Purpose(turn.address, turn.person)
        run = AgentRun(arm.agent, arm.journal, Account("parent", turn.journal.session, purpose))
        return Loop(
            ModelCalls(context.model, run),
            ToolRuns(run),
            before_model=partial(context.compacting.where_due, arm.journal, spec, purpose),
        )

    def _end(self, tx: Transaction, turn: Turn, outcomes: list[_Outcome]) -> None:
        turn.journal.hold(tx)
        session = tx.tree.session(turn.journal.session)
        for outcome in outcomes:
            for parcel in self._compose(turn, outcome):
                tx.outbox.enqueue(parcel)
        answered = [one for one in outcomes if one.answer is not None]
        if answered:
            tip = answered[0].arm.journal.path[-1].id
            tx.tree.move_leaf(session.id, tip, after=session.leaf, by=turn.person, why=FAN)
        items = [_pick_item(session.id, one) for one in answered]
        items[:1] = [replace(first, beside=False) for first in items[:1]]
        shown = items if len(items) > 1 else []
        parcels = self.context.composer.post(turn.address, _closing(answered))
        send_menu(tx, parcels, shown, private=turn.private)
        tx.inbox.finish(turn.row_ids)

    def _compose(self, turn: Turn, outcome: _Outcome) -> list[OutboxDraft]:
        entry, heading = outcome.answer, f"**{outcome.arm.heading}**"
        if entry is None:
            error = escape(bounded(outcome.error, ERROR_SHOWN))
            return self.context.composer.post(turn.address, f"{heading}\n\n⚠️ No answer: {error}")
        text = f"{heading}\n\n{words(entry)}"
        return self.context.composer.post(turn.address, text, entry=entry.id)


def _ends(tx: Transaction, turn: Turn) -> list[int]:
    """The last entries of a fan's arms as far as they have come, begun where they are not."""
    row, journal = turn.rows[-1], turn.journal
    session = journal.session
    assert row.entry is not None
    below = tx.tree.child_entries(session, row.entry)
    arms = [(held_in(child, FanArm), child) for child in below]
    begun = {arm.arm: child for arm, child in arms if arm is not None and arm.row == row.id}
    ends = []
    for arm, model in enumerate(requested(FanRequest, row).models, start=1):
        first = begun.get(arm)
        if first is None:
            draft = record_draft(FanArm(row.id, arm, model))
            first = tx.tree.append(session, draft, after=row.entry, epoch=journal.epoch, aside=True)
        ends.append(end_below(tx, session, first))
    return ends


def _closing(answered: list[_Outcome]) -> str:
    if not answered:
        return "⚠️ None of them answered. The conversation is where it was."
    heading = answered[0].arm.heading
    if len(answered) == 1:
        return f"The conversation goes on with {heading}, the only answer."
    return f"The conversation goes on with {heading}. Choose another, or just go on."


def _pick_item(session: int, outcome: _Outcome) -> MenuItem:
    entry, arm = outcome.answer, outcome.arm
    assert entry is not None
    pick = Pick(session, entry.id, arm.heading)
    return button(f"Go on with {arm.number}", pick, beside=True)


FANNING = (
    Command(
        CommandSpec(
            FAN,
            "2 to 5 answers to the last message side by side; they only read",
            "answers",
            completes=True,
        ),
        _fan,
        moves=True,
    ),
)
