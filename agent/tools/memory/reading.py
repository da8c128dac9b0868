"""Who may read which notes, and how they are told to a model.

A person's notes are read only where nobody but that person reads along. A session may go on in
several conversations at once (/attach), whose people all read what is said in it: no notes are read
there, for they are not everybody's.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from agent.text.sizing import size
from storage.records.speakers import quoted_below
from storage.records.tools.notes import Note, NoteOwner, NoteScope
from storage.store import Transaction

_HEAD = 100
"""Bytes that a note takes besides its text, about."""


@dataclass(frozen=True, slots=True)
class Readers:
    """Who reads what is said in a session's turn."""

    chat: str
    """Address of the conversation."""
    person: str
    """Identity of who speaks; "" for nobody."""
    alone: bool
    """Nobody but this person reads along."""
    elsewhere: bool
    """The session goes on in other conversations too."""

    @property
    def owners(self) -> tuple[NoteOwner, ...]:
        """Those whose notes may be read."""
        if self.elsewhere:
            return ()
        chat = NoteOwner(NoteScope.CHAT, self.chat)
        return (NoteOwner(NoteScope.PERSON, self.person), chat) if self.alone else (chat,)


def readers(tx: Transaction, session: int, address: str, person: str) -> Readers:
    """What is not known to be private is not."""
    elsewhere = any(other != address for other in tx.directory.addresses(session))
    alone = bool(person) and tx.directory.private_with(address) == person
    return Readers(address, person, alone and not elsewhere, elsewhere)


def head_of(note: Note, who: Readers) -> str:
    """A line of ours: number, for whom, when, by whom, and where, if that was elsewhere: what was
    said in a group may have been said by others."""
    day = datetime.fromtimestamp(note.time, UTC).date().isoformat()
    by = f" by {note.by}" if note.by and note.by != note.owner else ""
    where = f" in {note.address}" if note.address != who.chat else ""
    return f"#{note.id}, for this {note.scope.value}, noted {day}{by}{where}:"


def told(notes: Iterable[Note], who: Readers) -> str:
    """Notes as a result shows them: nothing in a text can pass for a line of ours."""
    return "\n".join(quoted_below(head_of(note, who), note.text) for note in notes)


def newest_within(notes: Sequence[Note], limit: int) -> list[Note]:
    """As many of the notes, newest first, as fit into so many bytes. Each scope has half of the
    room for itself, and what the other leaves: neither crowds the other out."""
    half, taken = limit // 2, set[int]()
    left = 0
    for scope in NoteScope:
        rest = half
        for note in (note for note in notes if note.scope is scope):
            rest -= _cost(note)
            if rest < 0:
                rest += _cost(note)
                break
            taken.add(note.id)
        left += rest
    for note in (note for note in notes if note.id not in taken):
        left -= _cost(note)
        if left < 0:
            break
        taken.add(note.id)
    return [note for note in notes if note.id in taken]


def _cost(note: Note) -> int:
    return size(note.text) + 2 * note.text.count("\n") + _HEAD
