"""What may have been meant by a name that is none."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.text.suggestion import did_you_mean, nearest

COMMANDS = ("stop", "start", "schedule", "sessions", "search")


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("stpo", "stop"),
        ("STOP", "stop"),
        ("session", "sessions"),
        ("serach", "search"),
        ("frobnicate", None),
        ("", None),
    ],
)
def test_the_name_that_is_spelled_most_alike_is_meant(typed: str, meant: str | None) -> None:
    assert nearest(typed, COMMANDS) == meant


def test_it_is_a_sentence_of_its_own_or_nothing() -> None:
    assert did_you_mean("stpo", COMMANDS, "/{}") == " Did you mean /stop?"
    assert did_you_mean("frobnicate", COMMANDS) == ""


@given(st.text(max_size=200), st.lists(st.text(max_size=200), max_size=20))
def test_what_is_meant_is_always_a_known_name(typed: str, known: list[str]) -> None:
    found = nearest(typed, known)
    assert found is None or found in known


def test_a_name_without_end_is_cut_before_it_is_looked_at() -> None:
    assert nearest("x" * 10_000_000, ["y" * 10_000_000] * 10) is None
