"""Fences that nothing closes, and texts cut to a size."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.text.fencing import fence
from agent.text.sizing import LEAST_SHARE, head, pieces, share, size, tail

texts = st.text() | st.lists(
    st.sampled_from(["</output-", "<output-", ">", "\n", "0", "a1b2c3d4e5f6", "PASS", "é"])
).map("".join)


@given(texts, texts)
def test_a_fence_is_closed_once_and_at_its_end(text: str, name: str) -> None:
    fenced = fence("output", text, name=name)
    opening = re.match(r"<output-([0-9a-f]{12}) ", fenced)
    assert opening is not None
    closing = f"</output-{opening[1]}>"
    assert fenced.endswith(f"\n{text}\n{closing}")
    assert fenced.casefold().count(opening[1]) == 2
    assert fence("output", text, name=name) == fenced


@given(st.text(), st.integers(4, 60))
def test_pieces_are_the_text_and_each_fits(text: str, limit: int) -> None:
    made = pieces(text, limit)
    assert "".join(made) == text
    assert all(size(piece) <= limit for piece in made)
    assert all(made) or made == [""]


@given(st.text(st.characters() | st.just("\n")), st.integers(-1, 60))
def test_a_beginning_and_an_end_fit_and_stand_in_the_text(text: str, limit: int) -> None:
    assert text.startswith(head(text, limit))
    assert text.endswith(tail(text, limit))
    assert size(head(text, limit)) <= max(limit, 0)
    assert size(tail(text, limit)) <= max(limit, 0)
    if size(text) <= limit:
        assert head(text, limit) == tail(text, limit) == text


def test_cuts_are_made_at_lines_where_one_ends_near() -> None:
    assert head("one\ntwo\nthree", 10) == "one\ntwo\n"
    assert tail("one\ntwo\nthree", 7) == "three"
    assert head("a\n" + "b" * 50, 40) == "a\n" + "b" * 38
    with pytest.raises(ValueError, match="room for a character"):
        pieces("text", 3)


def test_a_share_is_a_part_of_the_window_within_its_bounds() -> None:
    assert share(None, 8, 50_000) == share(10**9, 8, 50_000) == 50_000
    assert share(8_000, 8, 50_000) == 4_000
    assert share(1, 8, 50_000) == LEAST_SHARE
