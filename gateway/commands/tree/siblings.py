"""Alternatives: what stands side by side in the tree, and the buttons that lead from one to the
next.

Answers to one message, and messages in one place, are children of the same entry. An answer that
has such neighbours, its own or its question's, carries arrows: ◀ 2/3 ▶.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain

from adapters.base import CommandSpec
from gateway.commands.buttons import button
from gateway.commands.context import (
    Action,
    Command,
    CommandCall,
    Job,
    Move,
    Outcome,
    Reply,
    in_session,
)
from gateway.commands.tree.branch_summary import summed_up
from gateway.outbound.buttons import MenuItem
from gateway.turns.policy.limits import no_room_below
from gateway.turns.turn import SAID, Turn
from gateway.views.entries import find_entry, last_of, words
from gateway.views.outline import spoken
from storage.records.entries import Entry, Kind
from storage.records.inbox_outbox import InboxKind
from storage.records.record_entries import RecordKind, is_record
from storage.store import Transaction
from storage.tree.branches import children, inherited_strands
from storage.tree.paths import is_on, newest_tip

SIBLING = "sibling"
"""The command, and why the leaf moves."""
ANSWERS = frozenset({"assistant"})
NO_ANSWER = "_Nothing was answered on this branch._"
NOT_THERE = "There is no such entry here. /tree shows what there is."


def answer_items(tx: Transaction, turn: Turn, entry: Entry) -> list[MenuItem]:
    """The buttons of an answer that was just stored. In a conversation without branches this is
    one look at the children of one entry."""
    if turn.aside:
        return [button("Go there", f"goto #{entry.number}", within=turn.journal.session)]
    above = newest_exchange(chain((entry,), reversed(turn.journal.path)))
    if turn.rows[-1].kind in SAID:
        # All below what was said now is new: nothing can stand beside it yet.
        above = (one for one in above if is_said(one) or one.kind is Kind.BRANCH_SUMMARY)
    items = arrows(tx, turn.journal.session, above)
    reply = _branch_from_there(tx, turn)
    return [*items, reply] if reply is not None else items


def newest_exchange(up: Iterable[Entry]) -> Iterator[Entry]:
    """Of entries going up: the newest answer with all that led to it, up to what people said, and
    to a summary that was brought along right above that; what was said since, too."""
    answered = said = False
    for entry in up:
        if is_said(entry):
            said = answered
        elif not said:
            answered = True
        elif entry.kind is not Kind.BRANCH_SUMMARY:
            return
        yield entry


def is_said(entry: Entry) -> bool:
    """Whether it is what a person said."""
    return entry.kind is Kind.MESSAGE and entry.body.get("role") == "user"


def arrows(tx: Transaction, session: int, entries: Iterable[Entry]) -> list[MenuItem]:
    """Buttons to what stands beside the first of these entries that has such neighbours."""
    for entry in entries:
        group = _alternatives(tx, session, entry)
        if len(group) > 1:
            return _arrows(session, group, entry)
    return []


def _alternatives(tx: Transaction, session: int, entry: Entry) -> list[Entry]:
    """An entry with what stands beside it, oldest first; nothing where it is no alternative."""
    below = children(tx, session, entry.parent)
    found = [child for child in below if _is_alternative(child)]
    return found if any(child.id == entry.id for child in found) else []


def _is_alternative(entry: Entry) -> bool:
    if is_record(entry, RecordKind.FAN):
        return True
    return entry.kind in (Kind.MESSAGE, Kind.BRANCH_SUMMARY)


def _arrows(session: int, group: Sequence[Entry], here: Entry) -> list[MenuItem]:
    """They go round: after the last one comes the first."""
    at = next(index for index, entry in enumerate(group) if entry.id == here.id)

    def to(label: str, target: Entry, beside: bool = True) -> MenuItem:
        return button(label, Sibling(session, target.id), beside=beside)

    return [
        to("◀", group[at - 1], beside=False),
        to(f"{at + 1}/{len(group)}", here),
        to("▶", group[(at + 1) % len(group)]),
    ]


def _branch_from_there(tx: Transaction, turn: Turn) -> MenuItem | None:
    """For an answer to a reply: the way to where the message it replies to stands. None where that
    is the newest exchange, which is where the conversation goes on anyway."""
    replies = (
        row for row in turn.rows if row.kind is InboxKind.MESSAGE and row.payload.get("reply_to")
    )
    row = next(replies, None)
    if row is None:
        return None
    linked = tx.outbox.linked_entry(row.address, row.payload["reply_to"])
    if linked is None:
        return None
    path, said = turn.journal.path, tx.inbox.get(row.id).entry
    before = (entry for entry in reversed(path) if said is not None and entry.id < said)
    if any(entry.id == linked for entry in newest_exchange(before)):
        return None
    target, session = tx.tree.entry(linked), turn.journal.session
    if target.session != session and not is_on_path(tx, target, path[-1].id):
        return None
    to = target.parent if is_said(target) else target.id
    tx.inbox.hold(row)
    return button("Branch from there", Reask(session, row.id, to))


def is_on_path(tx: Transaction, entry: Entry, leaf: int | None) -> bool:
    here = tx.tree.route(entry.id)[-1]
    return is_on(tx.tree.route(leaf), here.strand, here.last_depth)


def end_below(tx: Transaction, session: int, entry: Entry) -> int:
    """The newest end of the branches that an entry is on."""
    here = tx.tree.route(entry.id)[-1]
    strands = [*inherited_strands(tx, session), *tx.tree.strands(session)]
    branches = spoken(strands, keep=[here.strand])
    return newest_tip(branches, here.strand, here.last_depth) or entry.id


@dataclass(frozen=True, slots=True)
class Sibling(Action):
    """Go to the newest end of the branch that an entry is on, and show what was answered there."""

    session: int
    entry: int
    name = SIBLING
    moves = True

    def plan(self, tx: Transaction, call: CommandCall) -> Outcome:
        entry = tx.tree.entry(self.entry)
        tip = end_below(tx, self.session, entry)
        found = last_of(tx, tip, ANSWERS, 1)
        items = arrows(tx, self.session, [entry])
        if not found or found[0].depth < entry.depth:
            reply = Reply(NO_ANSWER, items, over_answer=True)
            return summed_up(tx, call, Move(self.session, tip, SIBLING, reply))
        shown = found[0]
        # Turning to an answer that one message does not hold must not fill the chat.
        rest = button("Read on", ReadOn(self.session, self.entry, shown.id))
        reply = Reply(words(shown), items, over_answer=True, rest=rest, shows=shown.id)
        return summed_up(tx, call, Move(self.session, tip, SIBLING, reply))


@dataclass(frozen=True, slots=True)
class ReadOn(Action):
    """Show an answer to its end, wherever the conversation is by now."""

    session: int
    entry: int
    """By which the answer was reached."""
    shown: int
    """The answer."""
    name = "read"

    def plan(self, tx: Transaction, call: CommandCall) -> Outcome:
        items = arrows(tx, self.session, [tx.tree.entry(self.entry)])
        return Reply(words(tx.tree.entry(self.shown)), items, over_answer=True)


@dataclass(frozen=True, slots=True)
class Reask(Action):
    """Ask again what an inbox row says, at another place of the tree."""

    session: int
    row: int
    to: int | None
    """The entry below which it is asked; None for the beginning."""
    name = "reask"
    moves = True

    def plan(self, tx: Transaction, call: CommandCall) -> Outcome:
        full = no_room_below(tx, self.session, self.to, call.context.config.session)
        if full is not None:
            return Reply(full)
        payload = {**tx.inbox.get(self.row).payload, "kind": "message", "reply_to": ""}
        after = f"after #{tx.tree.entry(self.to).number}" if self.to is not None else None
        reply = Reply(f"Going on {after or 'from the beginning'}.")
        return Move(self.session, self.to, "branch", reply, Job(InboxKind.MESSAGE, payload))


def _sibling(tx: Transaction, call: CommandCall, session: int) -> Outcome:
    """What an arrow does, by the entry's number or label."""
    entry = find_entry(tx, session, call.argument)
    return Sibling(session, entry.id).plan(tx, call) if entry is not None else Reply(NOT_THERE)


ALTERNATIVES = (
    Command(
        CommandSpec(SIBLING, "go to what stands beside an answer", "number"),
        in_session(_sibling),
        moves=True,
        listed=False,
    ),
)
