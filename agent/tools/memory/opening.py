"""What a session begins with: the notes of who speaks and of the conversation."""

from agent.tools.memory.reading import head_of, newest_within, readers
from storage.records.entries import Draft
from storage.records.record_entries import record_draft
from storage.records.told_notes import NotesTold
from storage.store import Transaction

OPENING_BYTES = 6_000
"""Of the notes that a session begins with: about 1,500 tokens."""


def opening(tx: Transaction, session: int, address: str, person: str) -> Draft | None:
    """The entry that stands before the first message of a session; None where there are no notes
    to be read, or something was said in the session before."""
    if tx.tree.numbered(session, 1) is not None:
        return None
    who = readers(tx, session, address, person)
    notes = tx.notes.of(who.owners)
    shown = newest_within(notes, OPENING_BYTES)
    if not shown:
        return None
    told = [{"note": note.id, "head": head_of(note, who), "text": note.text} for note in shown]
    return record_draft(NotesTold(told, len(notes) - len(shown)))
