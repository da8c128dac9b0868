"""The branches of a conversation as people see them."""

from dataclasses import replace

from storage.records.entries import Entry, Kind, Strand
from storage.store import Transaction
from storage.tree.paths import fork_point, is_on, sort_of


def said_strands(tx: Transaction, session: int) -> list[Strand]:
    """The strands of a session without those that say nothing, and each without what follows its
    last word: a label that one came back to, or the note that a turn was stopped, is no branch."""
    found: list[Strand] = []
    hung: dict[int, tuple[int, int]] = {}
    """By strand: depth and id of the lowest entry that one of `found` hangs on."""
    for strand in reversed(tx.tree.strands(session)):  # what hangs on a strand is younger than it
        kept = strand
        if strand.tip_sort in SILENT:
            end = _last_word(tx, strand, hung.get(strand.first))
            if end is None:
                continue
            kept = replace(strand, tip=end.id, tip_number=end.number, tip_depth=end.depth)
        found.append(kept)
        if strand.above is not None and strand.parent is not None:
            before = hung.get(strand.above, (-1, -1))
            hung[strand.above] = max(before, (strand.depth - 1, strand.parent))
    return found[::-1]


def inherited_strands(tx: Transaction, session: int) -> list[Strand]:
    """What a fork begins with, as strands that end where it begins; none in any other session."""
    found: list[Strand] = []
    for part in tx.tree.route(fork_point(tx.tree.session(session))):
        first, last = tx.tree.entry(part.strand), tx.tree.entry(part.last)
        found.append(
            Strand(
                first.id,
                part.session,
                part.parent,
                found[-1].first if found else None,
                first.number,
                first.depth,
                last.id,
                last.number,
                last.depth,
                sort_of(first.kind, first.body),
                sort_of(last.kind, last.body),
            )
        )
    return found


def children(tx: Transaction, session: int, entry: int | None) -> list[Entry]:
    """What stands right below an entry, oldest first; in a fork, of what it begins with too."""
    begins = tx.tree.route(fork_point(tx.tree.session(session)))
    inherited = [
        child
        for upper in dict.fromkeys(part.session for part in begins)
        for child in tx.tree.child_entries(upper, entry)
        if is_on(begins, tx.tree.route(child.id)[-1].strand, child.depth)
    ]
    return [*inherited, *tx.tree.child_entries(session, entry)]


def _last_word(tx: Transaction, strand: Strand, hung: tuple[int, int] | None) -> Entry | None:
    """The last entry of a strand that says something or that a branch hangs on."""
    said = tx.tree.along(
        strand.first, strand.number, strand.tip_number, sorts=SAID, limit=1, newest=True
    )
    if hung is not None and (not said or said[0].depth < hung[0]):
        return tx.tree.entry(hung[1])
    return said[0] if said else None


MESSAGES = frozenset({"system", "developer", "user", "assistant", "calls", "tool"})


SAID = MESSAGES | {"compaction", "branch_summary"}
"""Sorts: whatever a model is shown."""


SILENT = frozenset({Kind.LABEL.value, Kind.RECORD.value, Kind.MODEL_CHANGE.value})
"""Sorts of entries that nobody said anything with."""
