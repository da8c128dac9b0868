"""Moving the leaf of the conversation's session: what is told, and what is offered on arrival."""

from dataclasses import dataclass

from gateway.commands.buttons import button, to_rephrase
from gateway.commands.context import Action, CommandCall, Move, Outcome, Reply
from gateway.commands.tree.branch_summary import summed_up
from gateway.commands.tree.siblings import is_on_path
from gateway.turns.policy.limits import no_room_below
from gateway.views.entries import is_unanswered, last_of, mark, spot, where
from storage.records.entries import Entry
from storage.store import Transaction
from storage.tree.branches import SAID, children


def moved(
    tx: Transaction,
    call: CommandCall,
    session: int,
    to: int | None,
    why: str,
    *,
    note: str = "",
    rephrase: Entry | None = None,
    summed: bool = False,
) -> Outcome:
    """A move of the leaf, and where that leads. `note`: told before it, Markdown; `rephrase`: a
    person's message that is taken back, to be written anew; `summed`: what is left is summarised
    as configured."""
    leaf = tx.tree.session(session).leaf
    if to == leaf:
        return Reply(f"Nothing is to be moved. {where(tx, leaf)}")
    if (full := no_room_below(tx, session, to, call.context.config.session)) is not None:
        return Reply(full)
    text = "\n".join(_told(tx, call, session, leaf, to, note, rephrase))
    items = [button("↩ Back", Back(leaf), within=session)]
    if is_unanswered(tx, to):
        there = _answer_to(tx, session, to)
        if there is not None:
            items.insert(0, button("Go to its answer", f"goto #{there.number}", within=session))
        items.insert(0, button("Answer it", "retry", within=session))
    move = Move(session, to, why, Reply(text, items))
    return summed_up(tx, call, move) if summed else move


def _told(
    tx: Transaction,
    call: CommandCall,
    session: int,
    leaf: int | None,
    to: int | None,
    note: str,
    rephrase: Entry | None,
) -> list[str]:
    """Where one is now, what was left, and what there was to say."""
    lines = [note] if note else []
    lines.append(where(tx, to))
    if is_unanswered(tx, to):
        there = _answer_to(tx, session, to)
        before = f"Its answer, #{there.number}, comes after that." if there is not None else ""
        lines.append(before or "That message has no answer yet.")
    for end in last_of(tx, leaf, SAID, 1):
        if not is_on_path(tx, end, to):
            lines.append(f"What you left is kept; it ends with {spot(end)}")
    if rephrase is not None:
        lines.append(f"#{rephrase.number} {mark(rephrase)} said:")
        lines.append(to_rephrase(call, rephrase))
    return lines


def _answer_to(tx: Transaction, session: int, said: int | None) -> Entry | None:
    """The newest answer that stands right below a person's message."""
    below = children(tx, session, said)
    answers = (one for one in below if one.body.get("role") == "assistant")
    return max(answers, key=lambda one: one.id, default=None)


@dataclass(frozen=True, slots=True)
class Back(Action):
    """To where the leaf was when the button was made."""

    leaf: int | None
    name = "back"
    moves = True

    def plan(self, tx: Transaction, call: CommandCall) -> Outcome:
        assert call.session is not None, "it was made within a session"
        return moved(tx, call, call.session, self.leaf, "goto")
