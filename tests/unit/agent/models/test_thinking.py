"""Thinking between tags in a model's text."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.models.thinking import ThinkingSplitter, split_thinking


def in_pieces(pieces: list[str], *, cut: bool = False) -> tuple[str, str]:
    said: list[str] = []
    splitter = ThinkingSplitter(said.append)
    for piece in pieces:
        splitter.feed(piece)
    splitter.end(cut=cut)
    return "".join(said), splitter.thoughts


CASES = {
    "<think>Let me see.</think>\n\nYes.": ("Yes.", "Let me see."),
    "<thinking>a</thinking>Yes.": ("Yes.", "a"),
    "\n <THINK>a\nb</THINK> Yes.": ("\nYes.", "a\nb"),
    "<think></think>Yes.": ("Yes.", ""),
    "<think>a</think>\n<think>b</think>\nYes.": ("Yes.", "a\n\nb"),
    "Yes.\n<thinking>a</thinking>\nNo.": ("Yes.\nNo.", "a"),
    "The tag <think> opens it.": ("The tag <think> opens it.", ""),
    "`<think>` opens </think> it.": ("`<think>` opens </think> it.", ""),
    "```\n<think>a</think>\n```\nYes.": ("```\n<think>a</think>\n```\nYes.", ""),
    "~~~html\n<think>\n~~~\n<think>a</think>b": ("~~~html\n<think>\n~~~\nb", "a"),
    "Yes.\n<think>never closed": ("Yes.\n<think>never closed", ""),
    "<think>never closed": ("never closed", ""),
    "<thin air": ("<thin air", ""),
    "": ("", ""),
}


@pytest.mark.parametrize(("text", "found"), CASES.items())
def test_thinking_is_told_from_text(text: str, found: tuple[str, str]) -> None:
    assert split_thinking(text, cut=False) == found


@pytest.mark.parametrize("text", CASES)
def test_where_the_pieces_are_cut_makes_no_difference(text: str) -> None:
    assert in_pieces(list(text)) == split_thinking(text, cut=False)


@given(st.lists(st.sampled_from(["<think>", "</think>", "a", "\n", "```", " ", "<", "ing>"])))
def test_no_word_is_lost_however_it_comes(pieces: list[str]) -> None:
    said, thoughts = in_pieces(pieces)
    assert (said, thoughts) == in_pieces(["".join(pieces)])
    assert (said + thoughts).count("a") == "".join(pieces).count("a")


def test_an_answer_cut_off_while_it_thinks_is_all_thinking() -> None:
    assert split_thinking("<think>Let me", cut=True) == ("", "Let me")
    assert split_thinking("Yes.\n<think>Let me", cut=True) == ("Yes.\n<think>Let me", "")


def test_text_is_told_as_soon_as_it_can_be_no_tag() -> None:
    said: list[str] = []
    splitter = ThinkingSplitter(said.append)
    for piece in ("Hel", "lo\n<", "b>"):
        splitter.feed(piece)
    assert said == ["Hel", "lo\n", "<b>"]
