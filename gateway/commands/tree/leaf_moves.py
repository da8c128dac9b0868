"""Commands that move the leaf of a session: a plan is made, then carried out and answered.

The plan is made twice: first to see whether anything is to be moved at all, for no turn is ended
to show a list or to say that a number is not there; then in the transaction that moves.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

from adapters.base import CommandSpec
from gateway.commands.buttons import button, to_rephrase
from gateway.commands.context import (
    NOT_YOURS,
    NOTHING_YET,
    Command,
    CommandCall,
    CommandContext,
    Work,
    answer,
)
from gateway.commands.tree.branch_summary import move
from gateway.commands.tree.siblings import is_on_path
from gateway.outbound.buttons import MenuItem
from gateway.turns.limits import no_room_below
from gateway.views.entries import is_unanswered, last_of, mark, spot, where
from storage.records.entries import Entry
from storage.store import Transaction
from storage.tree.branches import SAID, children
from storage.tree.paths import fork_point


@dataclass(frozen=True, slots=True)
class Move:
    to: int | None
    why: str
    note: str = ""
    """Told before where one is now; Markdown."""
    rephrase: Entry | None = None
    """A person's message that is taken back, to be written anew."""


@dataclass(frozen=True, slots=True)
class Stay:
    """Nothing is moved; this is the answer."""

    text: str
    items: tuple[MenuItem, ...] = ()


Plan = Callable[[Transaction, CommandCall, int], Move | Stay]
"""What a command with `asked.leaf` comes to in a session."""


def moving(spec: CommandSpec, plan: Plan, *, hidden: bool = False, summed: bool = False) -> Command:
    """A command that moves the leaf as planned. `summed`: what is left is summarised as
    configured."""

    async def run(desk: CommandContext, asked: CommandCall) -> Work:
        session = asked.session
        if session is None:
            return answer(desk, asked, NOTHING_YET)

        def look(tx: Transaction) -> Move | Stay:
            return _planned(tx, replace(asked, leaf=tx.tree.session(session).leaf), session, plan)

        first = await desk.store.read(look)
        if isinstance(first, Stay):
            return answer(desk, asked, first.text, first.items)
        if not desk.turns.may_cut(session, asked.who, private=asked.message.private):
            return answer(desk, asked, NOT_YOURS)
        leaf = await asked.held.enter_async_context(desk.turns.still(session))
        there = replace(asked, leaf=leaf)

        def work(tx: Transaction) -> None:
            match _planned(tx, there, session, plan):
                case Stay(text, items):
                    desk.say(tx, asked, text, items)
                case Move() as planned:
                    _carry_out(tx, desk, there, session, planned, summed=summed)

        return work

    return Command(spec, run, moves=True, hidden=hidden)


def _planned(tx: Transaction, asked: CommandCall, session: int, plan: Plan) -> Move | Stay:
    if asked.leaf is None and not _has_entries(tx, session):
        return Stay(NOTHING_YET)
    planned = plan(tx, asked, session)
    if isinstance(planned, Move) and planned.to == asked.leaf:
        return Stay(f"Nothing is to be moved. {where(tx, asked.leaf)}")
    return planned


def _has_entries(tx: Transaction, session: int) -> bool:
    """Of its own, or those that a fork begins with."""
    return fork_point(tx.tree.session(session)) is not None or bool(tx.tree.strands(session))


def _carry_out(
    tx: Transaction,
    desk: CommandContext,
    asked: CommandCall,
    session: int,
    planned: Move,
    *,
    summed: bool,
) -> None:
    text = _told(tx, asked, planned)
    items = [button(asked, "↩ Back", "back", leaf=asked.leaf)]
    if is_unanswered(tx, planned.to):
        there = _answer_to(tx, session, planned.to)
        if there is not None:
            items.insert(0, button(asked, "Go to its answer", f"goto #{there.number}"))
        items.insert(0, button(asked, "Answer it", "retry"))
    if summed:
        return move(tx, desk, asked, planned.to, why=planned.why, text=text, items=items)
    if (full := no_room_below(tx, session, planned.to, desk.config.session)) is not None:
        return desk.say(tx, asked, full)
    tx.tree.move_leaf(session, planned.to, after=asked.leaf, by=asked.who, why=planned.why)
    desk.say(tx, asked, text, items)


def _answer_to(tx: Transaction, session: int | None, said: int | None) -> Entry | None:
    """The newest answer that stands right below a person's message."""
    below = children(tx, session, said) if session is not None else []
    answers = (one for one in below if one.body.get("role") == "assistant")
    return max(answers, key=lambda one: one.id, default=None)


def _told(tx: Transaction, asked: CommandCall, planned: Move) -> str:
    """Where one is now, what was left, and what there was to say."""
    lines = [planned.note, where(tx, planned.to)]
    if is_unanswered(tx, planned.to):
        there = _answer_to(tx, asked.session, planned.to)
        before = f"Its answer, #{there.number}, comes after that." if there is not None else ""
        lines.append(before or "That message has no answer yet.")
    for end in last_of(tx, asked.leaf, SAID, 1):
        if not is_on_path(tx, end, planned.to):
            lines.append(f"What you left is kept; it ends with {spot(end)}")
    if planned.rephrase is not None:
        message = planned.rephrase
        lines.append(f"#{message.number} {mark(message)} said:")
        lines.append(to_rephrase(asked, message))
    return "\n".join(line for line in lines if line)
