"""Alternatives: what stands side by side in the tree, and the buttons that lead from one to the
next.

Answers to one message, and messages in one place, are children of the same entry. An answer that
has such neighbours, its own or its question's, carries arrows: ◀ 2/3 ▶.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import chain

from adapters.base import CommandSpec
from gateway.commands.context import NOT_YOURS, Command, CommandCall, CommandContext, Work, answer
from gateway.outbound.buttons import MenuItem
from gateway.turns.limits import no_room_below
from gateway.turns.turn import Turn
from gateway.views.entries import find_entry, last_of, words
from gateway.views.outline import spoken
from storage.records.entries import Entry, Json, Kind
from storage.records.inbox_outbox import (
    Arrival,
    InboxKind,
)
from storage.records.record_entries import RecordKind, is_record
from storage.store import Transaction
from storage.tree.branches import children, inherited_strands
from storage.tree.paths import is_on, newest_tip

SIBLING = "sibling"
READ = "read"
REASK = "reask"
"""The record that each answer of a /fan begins with."""
ANSWERS = frozenset({"assistant"})
NO_ANSWER = "_Nothing was answered on this branch._"
NOT_THERE = "There is no such entry here. /tree shows what there is."
ONLY_BY_BUTTON = "Only a button does this. /help lists what you can type."


def answer_items(tx: Transaction, turn: Turn, entry: Entry) -> list[MenuItem]:
    """The buttons of an answer that was just stored. In a conversation without branches this is
    one look at the children of one entry."""
    if turn.aside:
        subject = {"tree": turn.journal.session}
        return [MenuItem("Go there", f"goto #{entry.number}", subject=subject)]
    above = newest_exchange(chain((entry,), reversed(turn.journal.path)))
    if turn.rows[-1].kind is InboxKind.MESSAGE:
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
        subject = {"session": session, "entry": target.id}
        return MenuItem(label, f"{SIBLING} #{target.number}", beside=beside, subject=subject)

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
    return reask_item("Branch from there", session, target, row=row.id, to=to)


def is_on_path(tx: Transaction, entry: Entry, leaf: int | None) -> bool:
    here = tx.tree.route(entry.id)[-1]
    return is_on(tx.tree.route(leaf), here.strand, here.last_depth)


def end_below(tx: Transaction, session: int, entry: Entry) -> int:
    """The newest end of the branches that an entry is on."""
    here = tx.tree.route(entry.id)[-1]
    strands = [*inherited_strands(tx, session), *tx.tree.strands(session)]
    branches = spoken(strands, keep=[here.strand])
    return newest_tip(branches, here.strand, here.last_depth) or entry.id


async def stilled(desk: CommandContext, asked: CommandCall) -> CommandCall | None:
    """A command with its leaf, which stays where it is until the command's work is done, with no
    turn running. It is about the session that its button was made for, else the conversation's.
    None where somebody else's turn runs."""
    session = asked.subject.get("session", asked.session)
    assert session is not None, "there is nothing yet that could be moved"
    if not desk.turns.may_cut(session, asked.who, private=asked.message.private):
        return None
    if asked.session is not None and asked.session != session:
        await desk.turns.leave(asked.session, asked.address)
    leaf = await asked.held.enter_async_context(desk.turns.still(session))
    return replace(asked, session=session, leaf=leaf)


def move_to(tx: Transaction, asked: CommandCall, to: int | None, *, why: str) -> None:
    """Move the leaf for a command; where its session is not the one the conversation is in, the
    conversation goes there. LeafMoved where somebody was faster."""
    session = asked.session
    assert session is not None
    if to != asked.leaf:
        tx.tree.move_leaf(session, to, after=asked.leaf, by=asked.who, why=why)
    if tx.directory.conversation(asked.address) != session:
        tx.directory.bind(asked.address, session)


async def _sibling(desk: CommandContext, given: CommandCall) -> Work:
    """Go to the newest end of the branch that an entry is on, and show what was answered there."""
    entry = await desk.store.read(lambda tx: _named(tx, given))
    if entry is None:
        return answer(desk, given, NOT_THERE)
    asked = await stilled(desk, given)
    if asked is None:
        return answer(desk, given, NOT_YOURS)

    def work(tx: Transaction) -> None:
        session = asked.session
        assert session is not None
        tip = end_below(tx, session, entry)
        move_to(tx, asked, tip, why=SIBLING)
        found = last_of(tx, tip, ANSWERS, 1)
        shown = found[0] if found and found[0].depth >= entry.depth else None
        text = words(shown) if shown is not None else NO_ANSWER
        items, rest = arrows(tx, session, [entry]), _read_item(session, entry, shown)
        desk.say(tx, asked, text, items, over_answer=True, rest=rest)
        if asked.pressed is not None and shown is not None:
            tx.outbox.link_message(asked.address, asked.pressed.message_id, shown.id)

    return work


def _read_item(session: int, entry: Entry, shown: Entry | None) -> MenuItem | None:
    """For the end of an answer that one message does not hold: turning to it must not fill the
    chat. `entry`: by which the answer was reached."""
    if shown is None:
        return None
    subject: Json = {"session": session, "entry": entry.id, "shown": shown.id}
    return MenuItem("Read on", f"{READ} #{shown.number}", subject=subject)


async def _read(desk: CommandContext, asked: CommandCall) -> Work:
    """Show an answer to its end, wherever the conversation is by now."""
    if "shown" not in asked.subject:
        return answer(desk, asked, ONLY_BY_BUTTON)

    def work(tx: Transaction) -> None:
        shown, entry = (tx.tree.entry(asked.subject[name]) for name in ("shown", "entry"))
        items = arrows(tx, asked.subject["session"], [entry])
        desk.say(tx, asked, words(shown), items, over_answer=True)

    return work


def _named(tx: Transaction, asked: CommandCall) -> Entry | None:
    """The entry that a button, or a typed number, means."""
    if "entry" in asked.subject:
        return tx.tree.entry(asked.subject["entry"])
    return find_entry(tx, asked.session, asked.argument) if asked.session is not None else None


def reask_item(label: str, session: int, at: Entry, *, row: int, to: int | None) -> MenuItem:
    """A button that asks again what an inbox row says, below the entry `to`."""
    subject: Json = {"session": session, "row": row, "to": to}
    return MenuItem(label, f"{REASK} #{at.number}", subject=subject)


async def _reask(desk: CommandContext, given: CommandCall) -> Work:
    """Ask what an inbox row says again, at another place of the tree."""
    if "row" not in given.subject:
        return answer(desk, given, ONLY_BY_BUTTON)
    asked = await stilled(desk, given)
    if asked is None:
        return answer(desk, given, NOT_YOURS)

    def work(tx: Transaction) -> None:
        session, to = asked.session, asked.subject["to"]
        assert session is not None
        if (full := no_room_below(tx, session, to, desk.config.session)) is not None:
            return desk.say(tx, asked, full)
        move_to(tx, asked, to, why="branch")
        payload = tx.inbox.get(asked.subject["row"]).payload
        again = {**payload, "kind": "message", "reply_to": ""}
        key = f"{REASK}:{asked.row.id}"
        tx.inbox.receive(Arrival(key, InboxKind.MESSAGE, asked.address, again, session))
        where = f"after #{tx.tree.entry(to).number}" if to is not None else "from the beginning"
        desk.say(tx, asked, f"Going on {where}.")

    return work


ALTERNATIVES = (
    Command(
        CommandSpec(SIBLING, "go to what stands beside an answer", "number"),
        _sibling,
        moves=True,
        hidden=True,
    ),
    Command(CommandSpec(READ, "an answer to its end", "number"), _read, hidden=True),
    Command(
        CommandSpec(REASK, "ask a message again at another place", "number"),
        _reask,
        moves=True,
        hidden=True,
    ),
)
