"""What goes on, and what there is: /stop, /questions, /agents, /usage. They act at once."""

from dataclasses import dataclass
from functools import partial

from adapters.base import CommandSpec
from gateway.commands.buttons import button
from gateway.commands.context import Act, Action, Command, CommandCall, Outcome, Reply, Slow
from gateway.commands.performer import say
from gateway.status.child_control import post_panel
from gateway.turns.policy.unasked import GO_ON, MOST, go_on
from gateway.views.delegations import NOTHING_DELEGATED, agents_text, family
from gateway.views.transcripts import transcript
from gateway.views.usage import conversation_usage, short_usage, whole_usage
from storage.records.questions import Question
from storage.store import Transaction

QUESTIONS_SHOWN = 10
GOES_ON = f"▶️ I go on. After {MOST} more without a word from anybody I stop again."
WENT_ON = "It goes on already."
ALL = "all"
"""Of /usage: everything."""


def _stop(tx: Transaction, call: CommandCall) -> Outcome:
    async def stop() -> Reply:
        stopped = call.session is not None and await call.context.turns.stop(call.session)
        return Reply("Stopped." if stopped else "Nothing was running.")

    return Slow(stop)


@dataclass(frozen=True, slots=True)
class GoOn(Action):
    """Let a session begin turns by itself again, which was kept from it after many in a row."""

    session: int
    name = GO_ON

    def plan(self, tx: Transaction, call: CommandCall) -> Outcome:
        def work(tx: Transaction) -> Reply:
            return Reply(GOES_ON if go_on(tx, self.session, call.who) else WENT_ON)

        return Act(work)


def _questions(tx: Transaction, call: CommandCall) -> Outcome:
    """How many are open, and those that have waited longest, with their buttons."""
    return Act(partial(_post_questions, call=call))


def _post_questions(tx: Transaction, call: CommandCall) -> None:
    questions = call.context.questions
    visible = questions.visible(tx, call.who, call.address, call.message.private)
    say(tx, call, Reply(_how_many(visible)))
    for question in visible[:QUESTIONS_SHOWN]:
        questions.post(tx, question, call.address)


def _how_many(visible: list[Question]) -> str:
    count = len(visible)
    if count == 0:
        return "No question is open."
    text = "1 question is open:" if count == 1 else f"{count} questions are open:"
    return text if count <= QUESTIONS_SHOWN else f"{text} the oldest {QUESTIONS_SHOWN} follow."


def _agents(tx: Transaction, call: CommandCall) -> Outcome:
    """The delegations of this conversation as a tree, with buttons for those that run; with a
    number, what that one's children said, turn by turn."""
    session = call.session
    if session is None:
        return Reply(NOTHING_DELEGATED)
    if call.argument:
        return Reply(*transcript(tx, session, call.argument))

    async def follow() -> Act:
        call.context.panel.follow(session, call.address)
        return Act(partial(_post_panel, call=call, session=session))

    return Slow(follow)


def _post_panel(tx: Transaction, call: CommandCall, session: int) -> Reply | None:
    context, forest = call.context, family(tx, session)
    active = context.panel.doing(tx, [row for row, _ in forest])
    posted = post_panel(
        tx,
        context.composer,
        forest,
        active,
        session=session,
        address=call.address,
        handle=call.message.handle,
        by=call.who,
    )
    return None if posted else Reply(agents_text(forest, active, tx.now))


def _usage(tx: Transaction, call: CommandCall) -> Outcome:
    """What this conversation cost; for an owner in private, what all did. `/usage all` says by
    which tier, model, person and day."""
    whole = call.message.private and call.context.questions.access.is_owner(call.who)
    if call.argument.casefold() not in (ALL, "more"):
        text = short_usage(tx, call.address, whole=whole)
        return Reply(text, [button("More", f"usage {ALL}")], by=call.who)
    text = conversation_usage(tx, call.address)
    return Reply(f"{text}\n\n{whole_usage(tx)}" if whole else text)


ACTIVITY = (
    Command(CommandSpec("stop", "stop what is running and withdraw open questions"), _stop),
    Command(CommandSpec("questions", "what waits for a decision, with buttons"), _questions),
    Command(
        CommandSpec(
            "agents", "running and recent delegations; with a number, its transcript", "number"
        ),
        _agents,
    ),
    Command(CommandSpec("tasks", "the same as /agents", "number"), _agents),
    Command(
        CommandSpec(
            "usage", "what the models cost, today and in the last 30 days", "all", discreet=True
        ),
        _usage,
    ),
)
