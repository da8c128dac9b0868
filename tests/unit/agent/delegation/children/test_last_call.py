"""When a worker makes its last call, and how its session says so."""

import pytest

from agent.delegation.children.last_call import Short, asked, mark, request, shortage
from agent.delegation.children.supervision import Activity
from agent.models.base import ModelSpec
from storage.records.entries import Entry, Json, Kind, message

TASK = message("user", "Task: look")
SAID = message("assistant", "half of it")


def path(*bodies: Json) -> tuple[Entry, ...]:
    return tuple(
        Entry(number, 1, None, number, 0, Kind.MESSAGE, body, "", 0, 0.0)
        for number, body in enumerate(bodies, 1)
    )


@pytest.mark.parametrize("of", list(Short))
def test_a_session_says_that_it_was_asked_and_what_it_said(of: Short) -> None:
    question = message("user", request(of), **mark(of))
    assert asked(path(TASK, SAID)) is None
    assert asked(path(TASK, question)) == (of, None)
    found = asked(path(TASK, question, SAID))
    assert found is not None
    assert (found[0], found[1] and found[1].body) == (of, SAID)


def test_who_was_sent_back_since_goes_on() -> None:
    question = message("user", "?", **mark(Short.STEPS))
    told = message("user", "new conditions", correction=True)
    assert asked(path(TASK, question, SAID, told)) is None
    assert asked(path(TASK, question, SAID, told, question)) == (Short.STEPS, None)


@pytest.mark.parametrize(
    ("window", "used", "short"),
    [(None, 10**9, None), (1_000, 500, None), (1_000, 950, Short.WINDOW)],
)
def test_a_window_is_full_only_where_it_is_known(
    window: int | None, used: int, short: Short | None
) -> None:
    answer = message("assistant", "hm", usage={"input": used, "output": 0})
    spec = ModelSpec("worker", "small", context_window=window)
    assert shortage(path(TASK, answer), spec, Activity(1)) == short


@pytest.mark.parametrize(
    ("cap", "passed", "short"),
    [(1_000, 700, None), (1_000, 850, Short.TIME), (0, 10**9, None)],
)
async def test_time_is_short_before_it_is_over(
    cap: float, passed: float, short: Short | None
) -> None:
    now = [100.0]
    activity = Activity(1, lambda: now[0])
    async with activity.watched(cap, stall=0):
        now[0] += passed
        assert shortage(path(TASK), ModelSpec("worker", "small"), activity) == short
