import math
from typing import Any

import pytest

from agent.models.base import ModelSpec, Reply, Request
from agent.models.usage import MOST_TOKENS, count, dollars, metered
from storage.records.entries import Usage, message

REQUEST = Request(
    ModelSpec("parent", "m", input_cost=0.5, output_cost=2.0), [message("user", "x" * 400)]
)


def used(input_: Any, output: Any, cost: Any) -> Usage:
    reply = Reply("y" * 40, (), Usage(input_, output, 1, cost), {})
    return metered(REQUEST, reply).usage


@pytest.mark.parametrize(
    "value", [-1, 10**30, 10**400, 1e30, math.nan, math.inf, True, "many", None, []]
)
def test_what_is_no_number_of_tokens_is_none(value: object) -> None:
    assert count(value) is None


@pytest.mark.parametrize(("value", "tokens"), [(0, 0), (7, 7), (7.0, 7), ("12", 12)])
def test_numbers_of_tokens_are_read(value: object, tokens: int) -> None:
    assert count(value) == tokens


@pytest.mark.parametrize("value", [-0.1, 1e9, math.nan, -math.inf, True, "free", None])
def test_what_is_no_price_is_none(value: object) -> None:
    assert dollars(value) is None


def test_a_sound_usage_stays_as_it_is() -> None:
    assert used(10, 20, 0.25) == Usage(10, 20, 1, 0.25)
    assert used(0, MOST_TOKENS, None) == Usage(0, MOST_TOKENS, 1, None)


@pytest.mark.parametrize("wrong", [-1, 10**30, math.nan, "x", True])
def test_counts_that_cannot_be_are_estimated_and_priced_anew(wrong: Any) -> None:
    found = used(wrong, wrong, -5.0)
    assert 100 < found.input < 150
    assert found.output == 11
    assert found.cost == 0.5 * found.input + 2.0 * 11


@pytest.mark.parametrize("wrong", [-5.0, math.nan, math.inf, 1e300])
def test_a_cost_that_cannot_be_is_priced_by_the_tokens(wrong: float) -> None:
    assert used(10, 20, wrong) == Usage(10, 20, 1, 45.0)
