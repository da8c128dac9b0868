"""What may be noted, and which note is meant. Pure."""

import unicodedata
from collections.abc import Sequence

from agent.errors import ToolError
from agent.text.untrusted import visible
from agent.tools.base import NOTHING_DONE
from storage.records.tools.notes import Note

NOTE_LIMIT = 800
"""Characters of a note."""
NOTES_LIMIT = 200
"""Notes of one person, or of one conversation."""
TEXT_LIMIT = 20_000
"""Characters of all notes of one person, or of one conversation."""
_NAMED = 5
"""Notes that an error names."""


def noted(text: str) -> str:
    """A text as it is kept: nothing in it is hidden from people. ToolError where it cannot be."""
    kept = visible(text).strip()
    if not kept:
        raise ToolError(f"text is empty; give what is to be noted; {NOTHING_DONE}")
    if len(kept) > NOTE_LIMIT:
        raise ToolError(
            f"text has {len(kept):,} characters, and a note at most {NOTE_LIMIT:,}: note the fact "
            f"alone, or several facts one by one; {NOTHING_DONE}"
        )
    return kept


def room_for(text: str, others: Sequence[Note]) -> None:
    """ToolError where the notes that stay beside it leave no room for one more."""
    characters = sum(len(note.text) for note in others)
    if len(others) < NOTES_LIMIT and characters + len(text) <= TEXT_LIMIT:
        return
    raise ToolError(
        f"these notes are full: {len(others):,} of {NOTES_LIMIT:,} notes, {characters:,} of "
        f"{TEXT_LIMIT:,} characters. Remove what is out of date, or replace several by one (list "
        f"gives them), then try again; people delete notes with /memory; {NOTHING_DONE}"
    )


def same(text: str, notes: Sequence[Note]) -> Note | None:
    """The note that says this already, but for case, spaces and the end of the sentence."""
    wanted = _bare(text)
    return next((note for note in notes if _bare(note.text) == wanted), None)


def meant(number: int | None, words: str, notes: Sequence[Note]) -> Note:
    """The note with this number, else the only one in which the words stand. ToolError where there
    is none, or more than one."""
    if number is not None:
        found = [note for note in notes if note.id == number]
    elif not (wanted := _bare(words)):
        raise ToolError(f"say which note: give its number as note, or old_text; {NOTHING_DONE}")
    else:
        whole = same(words, notes)
        found = [whole] if whole else [note for note in notes if wanted in _bare(note.text)]
    match found:
        case [note]:
            return note
        case []:
            which = f"#{number}" if number is not None else "with these words"
            raise ToolError(
                f"there is no note {which} that can be changed from here; list gives those that "
                f"there are; {NOTHING_DONE}"
            )
        case _:
            named = ", ".join(f"#{note.id}" for note in found[:_NAMED])
            more = f" and {len(found) - _NAMED:,} more" if len(found) > _NAMED else ""
            raise ToolError(
                f"these words stand in several notes: {named}{more}; give the number as note; "
                f"{NOTHING_DONE}"
            )


def _bare(text: str) -> str:
    return " ".join(unicodedata.normalize("NFC", text).casefold().split()).rstrip(".! ")
