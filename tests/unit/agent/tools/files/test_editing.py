import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from agent.tools.files.editing import EditError, edited

SMALL = st.text("ab \n", max_size=30)
PIECE = st.text("ab \n", min_size=1, max_size=3)


def fault(text: str, old: str, new: str = "new", **more: bool) -> str:
    with pytest.raises(EditError) as raised:
        edited(text, old, new, **more)
    return str(raised.value)


@given(SMALL, PIECE, SMALL, SMALL)
def test_a_passage_that_stands_once_is_replaced_and_nothing_else(
    before: str, old: str, new: str, after: str
) -> None:
    text = f"{before}X{old}Y{after}"
    made = edited(text, f"X{old}Y", new)
    assert made.text == f"{before}{new}{after}"
    assert (made.count, made.line) == (1, before.count("\n") + 1)


@given(SMALL, PIECE, SMALL)
def test_it_agrees_with_a_plain_count_of_the_places(text: str, old: str, new: str) -> None:
    assume(old != new)
    places = [at for at in range(len(text)) if text.startswith(old, at)]
    if len(places) == 1:
        assert edited(text, old, new).text == text.replace(old, new)
    elif places:
        assert f"{len(places):,} times" in fault(text, old, new)
    else:
        assert "is not in the file" in fault(text, old, new)
    if places:
        made = edited(text, old, new, all_places=True)
        assert made.text == text.replace(old, new)
        assert made.count == text.count(old)


@given(SMALL, PIECE, SMALL, SMALL)
def test_a_file_with_windows_line_ends_keeps_them(
    before: str, old: str, new: str, after: str
) -> None:
    text = f"{before}X{old}Y{after}\n".replace("\n", "\r\n")
    made = edited(text, f"X{old}Y", new).text
    assert made == f"{before}{new}{after}\n".replace("\n", "\r\n")


def test_windows_line_ends_may_be_given_as_they_are() -> None:
    assert edited("a\r\nb\r\n", "a\r\nb", "c\r\nd").text == "c\r\nd\r\n"


def test_a_file_of_mixed_line_ends_is_taken_exactly() -> None:
    assert edited("a\r\nb\nc", "b\nc", "d\n").text == "a\r\nd\n"
    assert "line 1" in fault("a\r\nb\nc", "a\nb")


def test_places_that_overlap_are_several() -> None:
    assert "2 times" in fault("aaa", "aa")
    assert edited("aaa", "aa", "b", all_places=True).text == "ba"


def test_too_many_places_are_named_by_their_lines() -> None:
    assert "3 times, in lines 1, 3, 4;" in fault("x\ny\nx\nx\n", "x")
    assert "and more" in fault("x\n" * 50, "x")
    assert "at least 1,000 times" in fault("x" * 5_000_000, "xxxx")


def test_a_passage_that_differs_in_white_space_is_pointed_out() -> None:
    told = fault("def f():\n    return 1\n", "\treturn 1\n")
    assert "but for white space, is line 2" in told


def test_the_lines_most_alike_are_shown() -> None:
    told = fault("alpha\nreturn values\nomega\n", "return value(s)")
    assert "2: return values" in told
    assert "no line is like it" in fault("alpha\n", "0123456789")


def test_hints_of_a_huge_file_take_no_time_and_no_room() -> None:
    told = fault("\n".join(f"line {n} {'x' * 5_000}" for n in range(1_000)), "line one")
    assert len(told) < 2_000


def test_nothing_to_look_for_and_nothing_to_change_are_faults() -> None:
    assert "is empty" in fault("a", "")
    assert "the same" in fault("a", "a", "a")
    assert "the same" in fault("a\r\n", "a\n", "a\r\n")
    assert "white space" in fault("a", "\n \n")
