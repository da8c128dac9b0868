"""The branches of a conversation as people see them."""

from dataclasses import replace

from gateway.signposts import SAID
from storage.entries import Entry, Strand
from storage.outline import SILENT
from storage.store import Transaction


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


def _last_word(tx: Transaction, strand: Strand, hung: tuple[int, int] | None) -> Entry | None:
    """The last entry of a strand that says something or that a branch hangs on."""
    said = tx.tree.along(
        strand.first, strand.number, strand.tip_number, sorts=SAID, limit=1, newest=True
    )
    if hung is not None and (not said or said[0].depth < hung[0]):
        return tx.tree.entry(hung[1])
    return said[0] if said else None
