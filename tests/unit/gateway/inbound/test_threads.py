"""What a thread that is opened for a question is called."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.inbound.threads import LONGEST_NAME, NAMELESS, thread_name


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("what is for lunch?", "what is for lunch?"),
        ("what is\n**for**  `lunch`?", "what is for lunch?"),
        ("", NAMELESS),
        ("***", NAMELESS),
        ("\u200b\u3164\u2800", NAMELESS),
        ("\u202eshow\u2066 me", "show me"),
        ("word " * 40, f"{('word ' * 11).strip()}…"),
        ("x" * 200, f"{'x' * (LONGEST_NAME - 1)}…"),
    ],
)
def test_a_thread_is_called_by_the_first_words_of_the_question(text: str, name: str) -> None:
    assert thread_name(text) == name


@given(st.text())
def test_whatever_is_asked_a_name_is_one_short_line(text: str) -> None:
    name = thread_name(text)
    assert 0 < len(name) <= LONGEST_NAME
    assert name == " ".join(name.split())
