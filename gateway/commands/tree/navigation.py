"""Going about in a conversation's tree: /branch, /goto, /undo, /redo, and the buttons for it."""

from adapters.base import CommandSpec
from agent.text.markdown import bounded, escape
from gateway.commands.buttons import button
from gateway.commands.context import CommandCall
from gateway.commands.tree.labels import label_list
from gateway.commands.tree.leaf_moves import Move, Stay, moving
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
from storage.tree.paths import TALK

OFFERED = 8
"""Messages that /branch offers."""
MOVES_READ = 1_000
"""How far back /redo looks."""


def _branch(tx: Transaction, asked: CommandCall, session: int) -> Move | Stay:
    if not asked.argument:
        return _offer(tx, asked)
    number = number_of(asked.argument)
    if number is None:
        return Stay(
            "/branch takes the number of a message, like `/branch #12`; /tree shows the numbers, "
            "and /goto takes names."
        )
    entry = tx.tree.numbered(session, number)
    if entry is None:
        return _nothing_there(number)
    if is_said(entry):
        return Move(entry.parent, "branch", rephrase=entry)
    return Move(entry.id, "branch")


def _offer(tx: Transaction, asked: CommandCall) -> Stay:
    """The last messages of the path, to go back to."""
    messages = last_of(tx, asked.leaf, TALK, OFFERED)
    if not messages:
        return Stay(f"{where(tx, asked.leaf)} /tree shows what else there is.")
    lines = ["Go back to which message? What follows it is kept, on a branch of its own."]
    lines += [spot(entry, 80) for entry in messages]
    items = [
        button(asked, _label(entry), f"branch #{entry.number}") for entry in reversed(messages)
    ]
    return Stay("\n".join(lines), tuple(items))


def _label(entry: Entry) -> str:
    return f"#{entry.number} {mark(entry)} {first_words(entry, 40)}"


def _goto(tx: Transaction, asked: CommandCall, session: int) -> Move | Stay:
    if not asked.argument:
        return Stay(*label_list(tx, asked, session, 1))
    entry = find_entry(tx, session, asked.argument)
    if entry is not None:
        return Move(entry.id, "goto")
    number = number_of(asked.argument)
    if number is not None:
        return _nothing_there(number)
    name = escape(bounded(asked.argument, 80))
    return Stay(f"Nothing here is called {name}. /label lists the names, /tree shows the numbers.")


def _tip(tx: Transaction, asked: CommandCall, session: int) -> Move | Stay:
    """To the newest end of the branch that an entry begins."""
    number = number_of(asked.argument)
    entry = tx.tree.numbered(session, number) if number is not None else None
    if entry is None:
        return Stay("That branch is not in this conversation.")
    return Move(end_below(tx, session, entry), "tip")


def _back(tx: Transaction, asked: CommandCall, session: int) -> Move | Stay:
    """To where the leaf was when the button was made."""
    if "leaf" not in asked.subject:
        return Stay("That button is where one goes back from; /goto goes anywhere.")
    return Move(asked.subject["leaf"], "goto")


def _undo(tx: Transaction, asked: CommandCall, session: int) -> Move | Stay:
    count = number_of(asked.argument or "1") if not asked.argument.startswith("#") else None
    if not count:
        return Stay("/undo takes how many of your messages to take back: `/undo`, or `/undo 3`.")
    messages = last_of(tx, asked.leaf, PERSONS, count)
    if not messages:
        return Stay(f"There is nothing to undo. {where(tx, asked.leaf)}")
    note = ""
    if len(messages) < count:
        only = "is only 1 message" if len(messages) == 1 else f"are only {len(messages)} messages"
        note = f"There {only} to undo."
    return Move(messages[0].parent, "undo", note, rephrase=messages[0])


def _redo(tx: Transaction, asked: CommandCall, session: int) -> Move | Stay:
    undone = _last_undo(tx.tree.leaf_moves(session, MOVES_READ))
    if undone is None:
        return Stay("There is nothing to redo.")
    if not _nothing_said_since(tx, asked.leaf, undone.target):
        return Stay("There is nothing to redo: the conversation went on since the last /undo.")
    return Move(undone.source, "redo")


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


def _nothing_there(number: int) -> Stay:
    return Stay(f"There is no #{number} in this conversation. /tree shows what there is.")


NAVIGATION = (
    moving(
        CommandSpec("branch", "go back to a message and go on from there", "number"),
        _branch,
        summed=True,
    ),
    moving(
        CommandSpec("goto", "go to a label or a number; without one, the labels", "name"),
        _goto,
        summed=True,
    ),
    moving(CommandSpec("undo", "take back your last message, or the last few", "count"), _undo),
    moving(CommandSpec("redo", "take back the last /undo"), _redo),
    moving(CommandSpec("tip", "go to the end of a branch"), _tip, hidden=True, summed=True),
    moving(CommandSpec("back", "go back to where one was"), _back, hidden=True),
)
