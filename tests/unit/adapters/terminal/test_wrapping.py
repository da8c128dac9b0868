import hypothesis.strategies as st
import pytest
from hypothesis import given

from adapters.base import Button
from adapters.terminal.screen import Numbered, choices
from adapters.terminal.wrapping import cells, wrapped, wrapped_drawing

TEXTS = st.text(st.sampled_from("ab #│├└─›●🏷·🙂漢e\u0301 "), max_size=60)


@given(TEXTS, st.integers(2, 50), st.sampled_from(["", " "]))
def test_no_row_is_too_wide_and_no_word_is_lost(text: str, width: int, indent: str) -> None:
    rows = wrapped(text, width, indent)
    assert all(cells(row) <= max(width, cells(indent) + 2) for row in rows)
    assert "".join("".join(rows).split()) == "".join(text.split())
    assert rows


@given(TEXTS, st.integers(8, 50))
def test_a_drawing_keeps_all_it_says(text: str, width: int) -> None:
    rows = wrapped_drawing(text, width)
    said = "".join(rows).translate(dict.fromkeys(map(ord, " │")))
    assert said == text.translate(dict.fromkeys(map(ord, " │")))
    assert all(cells(row) <= width for row in rows)


def test_what_fits_stands_as_it_was_written() -> None:
    line = "    if  a:   # two  spaces"
    assert wrapped_drawing(line, 40) == [line]
    assert wrapped_drawing("", 40) == [""]


def test_the_lines_of_a_drawing_go_on_where_a_row_does() -> None:
    line = "› ├─ │  └─ #12 👤 one two three four five"
    assert wrapped_drawing(line, 28) == [
        "› ├─ │  └─ #12 👤 one two",
        "  │  │       three four five",
    ]


def test_a_label_is_in_one_piece() -> None:
    rows = wrapped_drawing("› #12 👤 one two three 🏷 a long name · 3 h", 30)
    assert rows == ["› #12 👤 one two three", "    🏷 a long name · 3 h"]


@pytest.mark.parametrize("columns", [12, 20, 40])
def test_buttons_stay_whole(columns: int) -> None:
    buttons = [Numbered(n, Button("a word", f"t{n}", beside=True)) for n in range(1, 9)]
    rows = choices(buttons, columns)[:-1]
    assert all(cells(row) <= columns for row in choices(buttons, columns))
    if columns > 12:
        assert sum(row.count("] a word") for row in rows) == len(buttons)


def test_a_button_that_is_wider_than_the_screen_goes_on_below_its_label() -> None:
    rows = choices([Numbered(10, Button("go: all checks pass and somebody agrees", "t"))], 30)
    assert rows[:2] == ["  [#10] go: all checks pass", "        and somebody agrees"]
