"""A few of the rounds of `make crash`, with seeds that are always the same."""

import re
from collections import Counter
from pathlib import Path

import pytest

from tests.crash.rounds.counting import ZERO, Tally
from tests.crash.rounds.databases import PostgresLane
from tests.crash.rounds.fleet import ALL
from tests.crash.rounds.outside import outside
from tests.crash.rounds.plan import EVERYWHERE, plan
from tests.crash.rounds.playing import Order, play
from tests.crash.rounds.script import mark_of
from tests.support.postgres import MISSING, programs

pytestmark = pytest.mark.crash


async def _played(folder: Path, seed: int, *faults: str, lane: PostgresLane | None) -> Tally:
    own = folder / "round"
    own.mkdir()
    async with outside(folder) as tools:
        return await play(Order(seed, (ALL,), faults, 2), own, tools, lane)


def _holds(tally: Tally) -> None:
    assert tally.problems == []
    assert {name: getattr(tally, name) for name in ZERO} == dict.fromkeys(ZERO, 0)
    assert tally.answered > 0


async def test_a_round_with_kills_on_sqlite_loses_and_repeats_nothing(tmp_path: Path) -> None:
    _holds(await _played(tmp_path, 5, "kill", "freeze", lane=None))


async def test_a_round_with_kills_and_cuts_on_postgresql_loses_and_repeats_nothing(
    tmp_path: Path,
) -> None:
    if programs() is None:
        pytest.skip(MISSING)
    async with PostgresLane() as lane:
        _holds(await _played(tmp_path, 4, "kill", "cut", lane=lane))


def test_a_seed_makes_the_same_plan_again() -> None:
    assert plan(11, EVERYWHERE) == plan(11, EVERYWHERE) != plan(12, EVERYWHERE)


def test_no_two_steps_of_a_plan_have_the_same_number() -> None:
    for seed in range(50):
        numbers = Counter(step.number for step in plan(seed, EVERYWHERE).steps)
        assert max(numbers.values()) == 1


@pytest.mark.parametrize(
    ("text", "mark"),
    [
        ("say 123 answered", "say 123"),
        ("**tell 123 part 2:** word", "tell 123 part 2"),
        ("**Decision needed** · ask 123\n\n> who knows", "question 123"),
        ("⏰ Late: you wrote this 2 hours ago.\n\nrun 123 ran", "run 123"),
        ("🏷 place123 is now #6", "label 123"),
        ("You are after #6 🤖 say 123 answered", "goto 123"),
        ("✅ #34 ask 736 — ann decided: Other (Nobody knows). looked · cost unknown", ""),
        ("Stopped.", ""),
    ],
)
def test_an_answer_is_known_by_what_it_begins_with(text: str, mark: str) -> None:
    assert mark_of(text) == mark
    assert re.fullmatch(r"\w* ?\d*( part \d)?", mark)
