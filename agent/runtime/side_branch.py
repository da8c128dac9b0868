"""Results for a branch that the conversation has left: they are appended there, aside."""

from agent.runtime.journal import Journal
from storage.records.entries import Entry
from storage.store import Transaction
from storage.tree.paths import is_on, newest_tip


def on_its_branch(tx: Transaction, journal: Journal, call: int) -> Journal:
    """The journal to write the result of a call (its entry) with: as it is where the leaf is below
    the call, else one at the end of the branch that has it, which leaves the leaf alone."""
    if any(entry.id == call for entry in journal.path):
        return journal
    tip = branch_end(tx, journal.session, call, journal.path)
    if tip is None:
        return journal
    path = tx.tree.context_path(tip)
    return Journal(journal.store, journal.session, journal.epoch, path, aside=True)


def branch_end(
    tx: Transaction, session: int, entry: int, path: tuple[Entry, ...] | list[Entry]
) -> int | None:
    """The newest end of the branch that has an entry; None where the path has it too, or the
    session has not."""
    here = tx.tree.route(entry)[-1]
    if path and is_on(tx.tree.route(path[-1].id), here.strand, here.last_depth):
        return None
    return newest_tip(tx.tree.strands(session), here.strand, here.last_depth)
