"""memory: calls as models make them, bounds, and which note is meant."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.errors import ToolError
from agent.text.sizing import size
from agent.tools.base import validate
from agent.tools.memory.arguments import PARAMETERS, Arguments
from agent.tools.memory.keeping import (
    NOTE_LIMIT,
    NOTES_LIMIT,
    TEXT_LIMIT,
    meant,
    noted,
    room_for,
    same,
)
from agent.tools.memory.reading import Readers, newest_within, told
from storage.records.entries import Json
from storage.records.tools.notes import Note, NoteScope

PRIVATE = Readers("telegram:1", "telegram:1", alone=True, elsewhere=False)


def note(id_: int, text: str, scope: NoteScope = NoteScope.PERSON) -> Note:
    return Note(id_, scope, "telegram:1", text, "telegram:1", "telegram:1", float(id_))


@pytest.mark.parametrize(
    ("given", "action", "text", "scope", "number"),
    [
        ({"action": "add", "text": "tea"}, "add", "tea", None, None),
        ({"action": " Remember ", "content": "tea", "tags": []}, "add", "tea", None, None),
        ({"action": "find", "query": "tea", "scope": "user"}, "search", "tea", "person", None),
        ({"action": "forget", "id": "#12", "scope": "GROUP"}, "remove", "", "chat", 12),
        ({"action": "add", "note": "likes tea", "text": ""}, "add", "likes tea", None, None),
        ({"action": "update", "note": 3, "new_text": "x"}, "replace", "x", None, 3),
        ({"action": "get", "text": None, "scope": "", "note": ""}, "list", "", None, None),
    ],
)
def test_a_call_is_read_in_the_words_that_models_use(
    given: Json, action: str, text: str, scope: str | None, number: int | None
) -> None:
    read = validate(Arguments, given)
    assert (read.action, read.text, read.scope, read.note) == (action, text, scope, number)


@pytest.mark.parametrize(
    ("given", "fault"),
    [
        ({}, "action: Field required"),
        ({"action": "burn"}, "action: Input should be 'add', 'replace'"),
        ({"action": "add", "text": 7}, "text: Input should be a valid string"),
        ({"action": "add", "text": "x", "scope": "world"}, "scope: Input should be"),
        ({"action": "remove", "note": [1]}, "note: Input should be a valid integer"),
        ({"action": "remove", "note": "x", "text": "y"}, "note: Input should be a valid integer"),
    ],
)
def test_what_cannot_be_read_is_an_error_that_names_it(given: Json, fault: str) -> None:
    with pytest.raises(ToolError, match=fault):
        validate(Arguments, given)


def test_the_schema_names_what_is_read() -> None:
    assert set(PARAMETERS["properties"]) == set(Arguments.model_fields)


def test_a_note_is_bounded_and_hides_nothing() -> None:
    assert noted(" tea\u202e\U000e0041\u200b\n milk ") == "tea\n milk"
    assert noted("x" * NOTE_LIMIT) == "x" * NOTE_LIMIT
    with pytest.raises(ToolError, match="text has 801 characters, and a note at most 800"):
        noted("x" * (NOTE_LIMIT + 1))
    with pytest.raises(ToolError, match="text is empty"):
        noted(" \u200b ")


def test_there_is_room_up_to_the_limits_and_not_beyond() -> None:
    full = [note(n, "x") for n in range(NOTES_LIMIT)]
    room_for("x", full[1:])
    with pytest.raises(ToolError, match="200 of 200 notes"):
        room_for("x", full)
    long = [note(n, "x" * NOTE_LIMIT) for n in range(TEXT_LIMIT // NOTE_LIMIT)]
    room_for("x" * NOTE_LIMIT, long[1:])
    with pytest.raises(ToolError, match=r"20,000 of 20,000 characters\. Remove"):
        room_for("x", long)


def test_what_is_said_already_is_noticed() -> None:
    notes = [note(1, "Likes  tea."), note(2, "Likes C++")]
    assert same("likes tea", notes) == notes[0]
    assert same("Likes C", notes) is None
    assert same("likes tea a lot", notes) is None


def test_a_note_is_meant_by_its_number_or_by_words_of_it_alone() -> None:
    notes = [note(4, "likes tea"), note(7, "likes tea at five"), note(9, "has a dog")]
    assert meant(7, "dog", notes).id == 7
    assert meant(None, "DOG", notes).id == 9
    assert meant(None, "Likes tea.", notes).id == 4
    with pytest.raises(ToolError, match="several notes: #4, #7; give the number"):
        meant(None, "tea", notes)
    with pytest.raises(ToolError, match="there is no note with these words"):
        meant(None, "cat", notes)
    with pytest.raises(ToolError, match="there is no note #5 that"):
        meant(5, "", notes)
    with pytest.raises(ToolError, match="say which note"):
        meant(None, " ...", notes[2:])


NOTES = st.lists(st.tuples(st.text(max_size=200), st.sampled_from(NoteScope)), max_size=60).map(
    lambda given: [note(n, text, scope) for n, (text, scope) in enumerate(given)][::-1]
)


@given(notes=NOTES, limit=st.integers(0, 8_000))
def test_what_is_told_fits_and_is_the_newest_of_each_scope(notes: list[Note], limit: int) -> None:
    shown = newest_within(notes, limit)
    assert shown == [one for one in notes if one in shown]
    text = told(shown, PRIVATE)
    # Line breaks that are not "\n" become lines of their own; the text cannot have more of them
    # than characters.
    assert size(text) <= limit + 3 * sum(len(one.text) for one in shown)
    for scope in NoteScope:
        of = [one for one in notes if one.scope is scope]
        taken = [one for one in shown if one.scope is scope]
        assert taken == of[: len(taken)]


@given(mine=st.integers(0, 40), theirs=st.integers(0, 40))
def test_neither_scope_crowds_the_other_out(mine: int, theirs: int) -> None:
    notes = [note(n, "x" * 100) for n in range(mine)]
    notes += [note(100 + n, "x" * 100, NoteScope.CHAT) for n in range(theirs)]
    shown = newest_within(notes[::-1], 4_000)
    counts = [sum(one.scope is scope for one in shown) for scope in NoteScope]
    assert counts[0] >= min(mine, 10)
    assert counts[1] >= min(theirs, 10)
    assert len(shown) == min(20, mine + theirs)


@given(text=st.text(max_size=300))
def test_every_line_of_a_note_stands_behind_a_mark(text: str) -> None:
    head, *lines = told([note(1, text)], PRIVATE).split("\n")
    assert head.startswith("#1, for this person, noted 1970-01-01")
    assert all(line == "|" or line.startswith("| ") for line in lines)
