"""Pauses between tries, on both sides of the layers."""

from collections.abc import Callable, Iterator
from itertools import islice

import pytest

from adapters import backoff as of_adapters
from agent import backoff as of_agents


@pytest.mark.parametrize("backoff", [of_adapters.backoff, of_agents.backoff])
def test_pauses_double_up_to_the_longest(
    backoff: Callable[[float, float], Iterator[float]],
) -> None:
    assert list(islice(backoff(0.5, 3.0), 5)) == [0.5, 1.0, 2.0, 3.0, 3.0]
    assert next(backoff(2.0, 1.0)) == 1.0


def test_those_who_failed_together_wait_differently() -> None:
    firsts = {next(of_agents.backoff(1.0, 1.0, jitter=True)) for _ in range(20)}
    assert len(firsts) > 1
    assert all(0.5 <= pause <= 1.0 for pause in firsts)
