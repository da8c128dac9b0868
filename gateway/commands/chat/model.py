"""/model: which model answers on this branch, and choosing another.

What was chosen is an entry, so it belongs to the branch: it holds below that entry, after a
restart, in a fork and after a compaction too, and going back before it takes it back.
"""

from dataclasses import dataclass
from functools import partial

from adapters.base import CommandSpec
from agent.models.base import ModelSpec, Purpose
from agent.models.registry import Models
from agent.models.spending.budgets import left_today
from agent.runtime.chosen_model import chosen_at
from agent.text.markdown import bounded
from agent.text.suggestion import did_you_mean
from gateway.access.denials import MAY_NOT_TALK
from gateway.commands.buttons import button
from gateway.commands.context import Act, Command, CommandCall, Outcome, Reply, refused_as_dear
from gateway.commands.jobs import JobContext
from gateway.outbound.buttons import MenuItem
from gateway.turns.requests import ModelRequest, request, requested
from gateway.turns.turn import Turn
from gateway.views.entries import PERSONS, last_of
from gateway.views.models import NAME, facts, model_name, models_text, money, offered
from storage.records.entries import Draft, Entry, Kind, SessionDraft, SessionKind
from storage.records.inbox_outbox import Arrival, InboxKind
from storage.store import Transaction

MODEL = InboxKind.MODEL
"""The command, and the kind of the inbox row that it becomes while a turn runs."""
DEFAULT = "default"
MOST_BUTTONS = 12


def _model(tx: Transaction, call: CommandCall) -> Outcome:
    if not call.argument:
        return _list(tx, call)
    context, models = call.context, call.context.offered.models
    if not context.questions.access.may_talk(call.who):
        return Reply(MAY_NOT_TALK)
    name = _default_or(models, call.argument)
    spec = _called(models, name) if name else call.usual_model
    if spec is None:
        names = ", ".join(model_name(one.name) for one in offered(models))
        known = [one.name for one in offered(models)]
        meant = did_you_mean(call.argument, known, "/model {}")
        unknown = f"There is no model {model_name(call.argument)}.{meant} There are: {names}."
        return Reply(f"{unknown} /model shows them with their prices.")
    if name and (refused := refused_as_dear(call, [spec])):
        return Reply(refused)
    return Act(partial(_choose, call=call, name=name and spec.name, spec=spec))


def _default_or(models: Models, argument: str) -> str:
    """What is to be chosen; "" for the usual model. A model that is called so comes first."""
    is_default = argument.lower() == DEFAULT and models.find(argument) is None
    return "" if is_default else argument


def _called(models: Models, name: str) -> ModelSpec | None:
    """By its name; where none is written quite so, by its letters whatever their case."""
    found = models.find(name)
    alike = [one for one in models.specs() if one.name.casefold() == name.casefold()]
    return alike[0] if found is None and len(alike) == 1 else found


def _list(tx: Transaction, call: CommandCall) -> Reply:
    context, session = call.context, call.session
    models = context.offered.models
    chosen = chosen_at(tx, tx.tree.session(session).leaf) if session is not None else ""
    here = (models.find(chosen) if chosen else None) or call.usual_model
    specs = offered(models)
    left = left_today(tx, context.config.budgets, Purpose(call.address, call.who))
    items = [_item(models, spec, session) for spec in specs if spec.name != here.name]
    items = items[:MOST_BUTTONS]
    if chosen and models.find(DEFAULT) is None:
        items.append(_usual_again(session))
    return Reply(models_text(models, specs, here, chosen, left), items)


def _item(models: Models, spec: ModelSpec, session: int | None) -> MenuItem:
    name = bounded(spec.name, NAME)
    return button(name, f"model {spec.name}", within=session, whole=spec.name)


def _usual_again(session: int | None) -> MenuItem:
    return button("The usual one", f"model {DEFAULT}", within=session)


def _choose(tx: Transaction, call: CommandCall, name: str, spec: ModelSpec) -> Reply:
    """At the leaf. While a turn runs or is due, behind it, for it goes on after what it wrote
    last. In an empty session that is for its lane, too, for something may stand before."""
    session = tx.directory.conversation(call.address)
    if session is None:
        session = tx.tree.create(SessionDraft(SessionKind.CHAT)).id
        tx.directory.bind(call.address, session)
    leaf, waits = tx.tree.session(session).leaf, bool(tx.inbox.unfinished(session))
    if not waits and chosen_at(tx, leaf) == name:
        return Reply(f"{model_name(spec.name)} answers here already.")
    empty = tx.tree.numbered(session, 1) is None
    if waits or empty:
        payload = request(ModelRequest, call.message, model=name, told=not waits)
        tx.inbox.receive(Arrival(f"{MODEL}:{call.row.id}", MODEL, call.address, payload, session))
    else:
        tx.tree.append(session, _draft(name, call.who), after=leaf)
    if waits:
        return Reply(f"{model_name(spec.name)} is to answer here as soon as this turn is over.")
    context = call.context
    left = left_today(tx, context.config.budgets, Purpose(call.address, call.who))
    lines = [_told(spec), facts(context.offered.models, spec), *money(spec, left)]
    items = []
    if name and last_of(tx, leaf, PERSONS, 1):
        items.append(button("Ask it the last message", f"retry {name}", within=session))
    if name and context.offered.models.find(DEFAULT) is None:
        items.append(_usual_again(session))
    return Reply("\n".join(lines), items)


def _draft(name: str, who: str) -> Draft:
    return Draft(Kind.MODEL_CHANGE, {"model": name}, who)


def _told(spec: ModelSpec) -> str:
    return f"🔀 {model_name(spec.name)} answers on this branch from the next message on."


@dataclass(frozen=True, slots=True)
class ModelChange:
    """The job in the session's lane."""

    context: JobContext

    async def run(self, turn: Turn) -> None:
        context, asked = self.context, requested(ModelRequest, turn.rows[-1])
        spec = context.agent(turn.journal.session, turn.address, asked.model).spec

        def done(tx: Transaction, _: Entry) -> None:
            if asked.told:
                tx.inbox.finish(turn.row_ids)
            else:
                context.end(tx, turn, _told(spec))

        await turn.journal.append(_draft(asked.model, turn.person), done)


CHOOSING = (
    Command(
        CommandSpec(
            MODEL, "which model answers here; name another to choose it", "model", completes=True
        ),
        _model,
    ),
)
