"""/memory: the notes that the agent keeps, for people to see and to delete.

A person's notes are theirs alone: they are shown in their private conversations, to nobody else,
owners among them. A conversation's notes are shown in it, and everybody there may delete them.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial

from adapters.base import CommandSpec
from adapters.events import Message
from agent.text.formats import age
from agent.text.markdown import escape
from gateway.commands.buttons import button
from gateway.commands.context import Act, Action, Command, CommandCall, Outcome, Reply
from gateway.outbound.buttons import MenuItem, send_menu
from gateway.outbound.composer import Composer
from gateway.views.entries import one_line
from storage.records.tools.notes import Note, NoteOwner, NoteScope
from storage.search.ranking import ranked
from storage.store import Transaction

ON_A_PAGE = 8
ROOM = 1_500
"""Characters of a page's notes; one that is longer has a page for itself."""
_IN_A_ROW = 4
"""Buttons."""
_LONGEST_QUERY = 500
_MOST_NUMBERS = 50
"""Notes that one command deletes."""
_ECHO = 60
_DELETE = ("delete", "remove")
_NUMBER = re.compile(r"#?([0-9]{1,15})\Z")
_PAGE = re.compile(r"[0-9]{1,4}\Z")
HOW = "`/memory WORDS` looks through them, `/memory delete 12` deletes number 12."
HOW_TO_DELETE = "`/memory delete 12` deletes the note with that number; /memory shows the numbers."
OLD = "Conversations that began with it keep what they were told; /new begins one without."
NOT_HERE = (
    "I keep no notes here: the toolset `memory` is not among `toolsets` under `[tools]` in "
    "bough.toml, where this bot's owner may put it."
)
IN_PRIVATE = "What is noted about you is shown in your private chat with me only."


def _memory(tx: Transaction, call: CommandCall) -> Outcome:
    argument = call.argument
    match argument.casefold().replace(",", " ").split():
        case []:
            return _listed(tx, call, "", 1)
        case ["forget"]:
            return _ask_to_forget(tx, call)
        case [verb] if verb in _DELETE:
            return Reply(HOW_TO_DELETE)
        case [verb, *given] if verb in _DELETE and (numbers := _numbers(given)):
            return Act(partial(_delete, call=call, numbers=numbers, words="", page=1))
        case _:
            pass
    if _PAGE.match(argument) and 1 <= int(argument) <= len(_pages(_all(tx, call.message))):
        return _listed(tx, call, "", int(argument))
    return _listed(tx, call, argument, 1)


def _numbers(given: Sequence[str]) -> list[int]:
    """None of them where other words are among them: then all are to be looked for."""
    found = [_NUMBER.match(one) for one in given]
    return [int(one[1]) for one in found if one][:_MOST_NUMBERS] if all(found) else []


@dataclass(frozen=True, slots=True)
class NotesPage(Action):
    """Another page of the notes, or of those with some words."""

    words: str
    page: int
    name = "notes_page"

    def plan(self, tx: Transaction, call: CommandCall) -> Outcome:
        return _listed(tx, call, self.words, self.page)


@dataclass(frozen=True, slots=True)
class DeleteNote(Action):
    """Delete a note, and show the page it stood on."""

    note: int
    words: str
    page: int
    name = "delete_note"

    def plan(self, tx: Transaction, call: CommandCall) -> Outcome:
        return Act(
            partial(_delete, call=call, numbers=[self.note], words=self.words, page=self.page)
        )


@dataclass(frozen=True, slots=True)
class ForgetMe(Action):
    """Delete all notes about a person; in private, those of the conversation too."""

    by: str
    """Identity of the person."""
    name = "forget_me"

    def plan(self, tx: Transaction, call: CommandCall) -> Outcome:
        if call.who != self.by:  # an owner may press every button, but this is not theirs to say
            return _question(self.by, private=call.message.private)
        return Act(partial(_forget, call=call))


@dataclass(frozen=True, slots=True)
class KeepNotes(Action):
    """The other answer."""

    name = "keep_notes"

    def plan(self, tx: Transaction, call: CommandCall) -> Outcome:
        return Reply("Nothing was deleted.")


def tell_noted(composer: Composer, tx: Transaction, note: Note) -> None:
    """Show the people of a conversation what the model has just noted there: nothing is kept
    unseen, whoever talked the model into it. A note that is not read there has no button there."""
    private = tx.directory.private_with(note.address) == note.by != ""
    here = private or note.scope is NoteScope.CHAT
    items = [button(f"Delete {note.id}", DeleteNote(note.id, "", 1))] if here else []
    whose = _whose(note) if here else f"about {escape(note.by)}"
    parcels = composer.post(note.address, f"📝 Noted {whose}: {escape(note.text)}")
    send_menu(tx, parcels, items, private=private)


def _whose(note: Note) -> str:
    return "about you" if note.scope is NoteScope.PERSON else "for this chat"


def _owners(message: Message) -> list[NoteOwner]:
    """Those whose notes may be seen where a message was written, as `access.visibility` has it for
    sessions."""
    here = NoteOwner(NoteScope.CHAT, message.conversation.address)
    own = NoteOwner(NoteScope.PERSON, message.user.identity)
    return [own, here] if message.private else [here]


def _all(tx: Transaction, message: Message) -> list[Note]:
    """Newest first."""
    return tx.notes.of(_owners(message))


def _listed(tx: Transaction, call: CommandCall, words: str, page: int) -> Reply:
    words, notes, missing = words[:_LONGEST_QUERY], _all(tx, call.message), ""
    if words and notes:
        found = ranked(words, [note.text for note in notes])
        notes = [notes[place] for place in found.places]
        if notes and not found.whole:
            missing = " None has all of the words."
    if not notes:
        return Reply(_nothing(call, words))
    pages = _pages(notes)
    page = max(1, min(page, len(pages)))
    shown = pages[page - 1]
    lines = [_heading(call, words, page, len(pages)) + missing, ""]
    lines += [_shown(note, call.address, tx.now) for note in shown]
    items = list(_deleting(shown, words, page))
    items += _turning(words, page, len(pages))
    return Reply("\n".join(lines), items, by=call.who)


def _nothing(call: CommandCall, words: str) -> str:
    if words:
        return f"No note has “{escape(one_line(words, _ECHO))}” in it."
    where = "about you or for this chat" if call.message.private else "for this chat"
    text = f"Nothing is noted {where}."
    return text if call.message.private else f"{text} {IN_PRIVATE}"


def _heading(call: CommandCall, words: str, page: int, pages: int) -> str:
    whose = "about you and for this chat" if call.message.private else "for this chat"
    what = f"Notes {whose}"
    if words:
        what += f" with “{escape(one_line(words, _ECHO))}”"
    return f"**{what}**" + (f", page {page} of {pages}" if pages > 1 else "") + f". {HOW}"


def _shown(note: Note, here: str, now: float) -> str:
    """In full: what is kept unseen could not be deleted."""
    by = f" · by {escape(note.by)}" if note.by and note.by != note.owner else ""
    where = f" · in {escape(note.address)}" if note.address != here else ""
    head = f"**{note.id}** · {_whose(note)} · {age(now - note.time)} ago{by}{where}"
    return f"{head}\n{escape(note.text)}"


def _pages(notes: Sequence[Note]) -> list[list[Note]]:
    pages: list[list[Note]] = []
    room = 0
    for note in notes:
        takes = len(escape(note.text))
        room -= takes
        if not pages or room < 0 or len(pages[-1]) == ON_A_PAGE:
            pages.append([])
            room = ROOM - takes
        pages[-1].append(note)
    return pages


def _deleting(notes: Sequence[Note], words: str, page: int) -> Iterator[MenuItem]:
    for place, note in enumerate(notes):
        does = DeleteNote(note.id, words, page)
        yield button(f"Delete {note.id}", does, beside=place % _IN_A_ROW > 0)


def _turning(words: str, page: int, pages: int) -> list[MenuItem]:
    items = []
    if page > 1:
        items.append(button("◀", NotesPage(words, page - 1)))
    if page < pages:
        items.append(button("▶", NotesPage(words, page + 1), beside=bool(items)))
    return items


def _delete(
    tx: Transaction, call: CommandCall, numbers: Sequence[int], words: str, page: int
) -> Reply:
    gone = tx.notes.delete(numbers, _owners(call.message))
    for note in gone:
        tx.directory.audit("note.deleted", call.who, {"note": note, "address": call.address})
    there_not = [number for number in numbers if number not in gone]
    said = [f"Deleted: {_list(gone)}. {OLD}"] if gone else []
    if there_not:
        said.append(f"There is no note {_list(there_not)} here; nothing was done for that.")
    left = _listed(tx, call, words, page)
    return Reply("\n".join([*said, "", left.text]), left.items, by=call.who)


def _list(numbers: Sequence[int]) -> str:
    return ", ".join(str(number) for number in dict.fromkeys(numbers))


def _ask_to_forget(tx: Transaction, call: CommandCall) -> Reply:
    if call.message.private and not _all(tx, call.message):
        return Reply(_nothing(call, ""))
    return _question(call.who, private=call.message.private)


def _question(who: str, *, private: bool) -> Reply:
    """In a group nothing is said of how much is noted, or whether anything is."""
    chat = " and for this chat" if private else ""
    items = [
        button("Delete all", ForgetMe(who), style="danger"),
        button("Keep them", KeepNotes(), beside=True),
    ]
    text = f"This deletes everything that is noted about {escape(who)}{chat}, for good."
    return Reply(text, items, by=who)


def _forget(tx: Transaction, call: CommandCall) -> Reply:
    own = NoteOwner(NoteScope.PERSON, call.who)
    owners = _owners(call.message) if call.message.private else [own]
    gone = tx.notes.delete([note.id for note in tx.notes.of(owners)], owners)
    if gone:
        tx.directory.audit("notes.forgotten", call.who, {"count": len(gone)})
    return Reply(f"All that was noted about you is deleted. {OLD}")


def _lacking(tx: Transaction, call: CommandCall) -> str:
    on = "memory" in call.context.settings.toolsets_at(call.address)
    return "" if on or _all(tx, call.message) else NOT_HERE


MEMORY = (
    Command(
        CommandSpec(
            "memory",
            "what I keep in mind; words search it; delete NUMBER; forget",
            "words",
            completes=True,
        ),
        _memory,
        lacking=_lacking,
    ),
)
