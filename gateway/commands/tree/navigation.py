"""Going about in a conversation's tree: /branch, /goto, /undo, /redo, /tip."""

from collections.abc import Callable

from adapters.base import CommandSpec
from agent.text.markdown import bounded, escape
from gateway.commands.buttons import button
from gateway.commands.context import (
    NOTHING_YET,
    Command,
    CommandCall,
    Outcome,
    Plan,
    Reply,
    in_session,
)
from gateway.commands.tree.labels import label_list
from gateway.commands.tree.leaf_moves import moved
from gateway.commands.tree.siblings import end_below, is_said
from gateway.views.entries import (
    PERSONS,
    find_entry,
    first_words,
    last_of,
    mark,
    number_of,
    spot,
    where,
)
from storage.records.entries import Entry, Kind, LeafMove
from storage.store import Transaction
from storage.tree.paths import TALK, fork_point

OFFERED = 8
"""Messages that /branch offers."""
MOVES_READ = 1_000
"""How far back /redo looks."""


def _branch(tx: Transaction, call: CommandCall, session: int) -> Outcome:
    if not call.argument:
        return _offer(tx, session)
    number = number_of(call.argument)
    if number is None:
        return Reply(
            "/branch takes the number of a message, like `/branch #12`; /tree shows the numbers, "
            "and /goto takes names."
        )
    entry = tx.tree.numbered(session, number)
    if entry is None:
        return _nothing_there(number)
    rephrase = entry if is_said(entry) else None
    to = entry.parent if rephrase is not None else entry.id
    return moved(tx, call, session, to, "branch", rephrase=rephrase, summed=True)


def _offer(tx: Transaction, session: int) -> Reply:
    """The last messages of the path, to go back to; the newest first, as on the buttons."""
    leaf = tx.tree.session(session).leaf
    messages = last_of(tx, leaf, TALK, OFFERED)[::-1]
    if not messages:
        return Reply(f"{where(tx, leaf)} /tree shows what else there is.")
    lines = ["Go back to which message? What follows it is kept, on a branch of its own."]
    lines += [spot(entry, 80) for entry in messages]
    items = [button(_label(entry), f"branch #{entry.number}", within=session) for entry in messages]
    return Reply("\n".join(lines), items)


def _label(entry: Entry) -> str:
    return f"#{entry.number} {mark(entry)} {first_words(entry, 40)}"


def _goto(tx: Transaction, call: CommandCall, session: int) -> Outcome:
    if not call.argument:
        return label_list(tx, session, 1)
    entry = find_entry(tx, session, call.argument)
    if entry is not None:
        return moved(tx, call, session, entry.id, "goto", summed=True)
    number = number_of(call.argument)
    if number is not None:
        return _nothing_there(number)
    name = escape(bounded(call.argument, 80))
    return Reply(f"Nothing here is called {name}. /label lists the names, /tree shows the numbers.")


def _tip(tx: Transaction, call: CommandCall, session: int) -> Outcome:
    """To the newest end of the branch that an entry begins."""
    number = number_of(call.argument)
    entry = tx.tree.numbered(session, number) if number is not None else None
    if entry is None:
        return Reply("That branch is not in this conversation.")
    return moved(tx, call, session, end_below(tx, session, entry), "tip", summed=True)


def _undo(tx: Transaction, call: CommandCall, session: int) -> Outcome:
    count = number_of(call.argument or "1") if not call.argument.startswith("#") else None
    if not count:
        return Reply("/undo takes how many of your messages to take back: `/undo`, or `/undo 3`.")
    leaf = tx.tree.session(session).leaf
    messages = last_of(tx, leaf, PERSONS, count)
    if not messages:
        return Reply(f"There is nothing to undo. {where(tx, leaf)}")
    note = ""
    if len(messages) < count:
        only = "is only 1 message" if len(messages) == 1 else f"are only {len(messages)} messages"
        note = f"There {only} to undo."
    first = messages[0]
    return moved(tx, call, session, first.parent, "undo", note=note, rephrase=first, summed=True)


def _redo(tx: Transaction, call: CommandCall, session: int) -> Outcome:
    undone = _last_undo(tx.tree.leaf_moves(session, MOVES_READ))
    if undone is None:
        return Reply("There is nothing to redo.")
    if not _nothing_said_since(tx, tx.tree.session(session).leaf, undone.target):
        return Reply("There is nothing to redo: the conversation went on since the last /undo.")
    return moved(tx, call, session, undone.source, "redo")


def _last_undo(moves: list[LeafMove]) -> LeafMove | None:
    """The newest /undo that no /redo has undone and no other move has followed."""
    undone: list[LeafMove] = []
    for move in moves:
        match move.why:
            case "undo":
                undone.append(move)
            case "redo":
                undone = undone[:-1]
            case _:
                undone = []
    return undone[-1] if undone else None


def _nothing_said_since(tx: Transaction, leaf: int | None, target: int | None) -> bool:
    """Whether the leaf is at an entry, or below it with no message in between."""
    while leaf is not None and leaf != target:
        entry = tx.tree.entry(leaf)
        if entry.kind is Kind.MESSAGE:
            return False
        leaf = entry.parent
    return leaf == target


def _nothing_there(number: int) -> Reply:
    return Reply(f"There is no #{number} in this conversation. /tree shows what there is.")


def _moving(plan: Callable[[Transaction, CommandCall, int], Outcome]) -> Plan:
    """A plan about a session in which something was said, or which begins with what was."""

    def planned(tx: Transaction, call: CommandCall, session: int) -> Outcome:
        found = tx.tree.session(session)
        empty = found.leaf is None and fork_point(found) is None and not tx.tree.strands(session)
        return Reply(NOTHING_YET) if empty else plan(tx, call, session)

    return in_session(planned)


NAVIGATION = (
    Command(
        CommandSpec(
            "branch",
            "go back to a message and go on from there",
            "number",
            completes=True,
            on_message="Branch from here",
        ),
        _moving(_branch),
        moves=True,
    ),
    Command(
        CommandSpec(
            "goto", "go to a label or a number; without one, the labels", "name", completes=True
        ),
        _moving(_goto),
        moves=True,
    ),
    Command(
        CommandSpec("undo", "take back your last message, or the last few", "count"),
        _moving(_undo),
        moves=True,
    ),
    Command(CommandSpec("redo", "take back the last /undo"), _moving(_redo), moves=True),
    Command(
        CommandSpec("tip", "go to the end of a branch", "number"),
        _moving(_tip),
        moves=True,
        listed=False,
    ),
)
