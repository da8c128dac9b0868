"""Which failures of a model are tried again, how often, and after what wait."""

import asyncio
import time
from collections.abc import Iterable
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.models.base import RETRIED, ModelError, ModelErrorKind, ModelSpec, Reply, Request
from agent.models.retry import LONGEST_WAIT, Retrying, Waits, read_retry_after, waits_noted
from storage.records.entries import Usage, message

REPLY = Reply("done", (), Usage(1, 1, 1), message("assistant", "done"))
REQUEST = Request(ModelSpec("parent", "m"), [message("user", "hello")])


class Failing:
    """Raises each of these errors once, then replies."""

    def __init__(self, errors: Iterable[ModelError]) -> None:
        self._errors = list(errors)
        self.calls = 0

    async def complete(self, request: Request) -> Reply:
        self.calls += 1
        if self._errors:
            raise self._errors.pop(0)
        return REPLY


class Clock:
    """Notes how long it was slept, and does not sleep."""

    def __init__(self) -> None:
        self.slept: list[float] = []

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)


def busy(retry_after: float | None = None) -> ModelError:
    return ModelError(ModelErrorKind.RATE_LIMIT, "slow down", retry_after=retry_after)


@pytest.mark.parametrize("kind", sorted(RETRIED))
async def test_nothing_is_tried_again_once_something_was_heard(kind: ModelErrorKind) -> None:
    model, clock = Failing([ModelError(kind, "away", partial="Once")]), Clock()
    with pytest.raises(ModelError, match="away"):
        await Retrying(model, sleep=clock.sleep).complete(REQUEST)
    assert (model.calls, clock.slept) == (1, [])


@pytest.mark.parametrize("kind", sorted(RETRIED))
async def test_a_passing_failure_is_tried_again(kind: ModelErrorKind) -> None:
    model, clock = Failing([ModelError(kind, "away")]), Clock()
    assert await Retrying(model, sleep=clock.sleep).complete(REQUEST) == REPLY
    assert (model.calls, len(clock.slept)) == (2, 1)


@pytest.mark.parametrize("kind", sorted(set(ModelErrorKind) - RETRIED))
async def test_a_lasting_failure_is_raised_at_once(kind: ModelErrorKind) -> None:
    failure = ModelError(kind, "no")
    model, clock = Failing([failure]), Clock()
    with pytest.raises(ModelError) as caught:
        await Retrying(model, sleep=clock.sleep).complete(REQUEST)
    assert caught.value is failure
    assert (model.calls, clock.slept) == (1, [])


async def test_a_provider_that_is_away_is_tried_for_a_minute() -> None:
    clock = Clock()
    model = Failing(ModelError(ModelErrorKind.UNAVAILABLE, "away") for _ in range(100))
    with pytest.raises(ModelError, match="away"):
        await Retrying(model, sleep=clock.sleep).complete(REQUEST)
    assert 59 <= sum(clock.slept) <= 60
    assert model.calls == len(clock.slept) + 1 >= 8


async def test_what_a_provider_asks_for_beyond_the_minute_is_not_waited_for() -> None:
    model, clock = Failing([busy(40), busy(40)]), Clock()
    with pytest.raises(ModelError, match="slow down") as caught:
        await Retrying(model, sleep=clock.sleep).complete(REQUEST)
    assert (clock.slept, caught.value.retry_after) == ([40], 40)


async def test_a_call_that_waits_says_why_and_until_when() -> None:
    waits, seen = Waits(), list[tuple[str, bool]]()

    async def sleep(seconds: float) -> None:
        seen.append((waits.now, waits.until > time.time()))

    with waits_noted(waits):
        await Retrying(Failing([busy(7)]), sleep=sleep).complete(REQUEST)
    assert seen == [("slow down", True)]
    assert (waits.now, waits.failures) == ("", ["slow down"])


async def test_the_last_error_is_raised_when_the_attempts_are_spent() -> None:
    errors = [ModelError(ModelErrorKind.BAD_REPLY, f"away {number}") for number in range(5)]
    model, clock = Failing(errors), Clock()
    with pytest.raises(ModelError, match="away 2"):
        await Retrying(model, attempts=3, sleep=clock.sleep).complete(REQUEST)
    assert (model.calls, len(clock.slept)) == (3, 2)


async def test_waits_double_and_stay_below_the_cap() -> None:
    clock = Clock()
    retrying = Retrying(
        Failing(busy() for _ in range(6)), attempts=7, base=1.0, cap=5.0, sleep=clock.sleep
    )
    await retrying.complete(REQUEST)
    for slept, longest in zip(clock.slept, [1.0, 2.0, 4.0, 5.0, 5.0, 5.0], strict=True):
        assert longest / 2 <= slept <= longest


async def test_the_wait_the_provider_asks_for_is_kept() -> None:
    clock = Clock()
    retrying = Retrying(Failing([busy(7.5), busy(0.0)]), cap=2.0, sleep=clock.sleep)
    await retrying.complete(REQUEST)
    assert clock.slept[0] == 7.5
    assert 0.5 <= clock.slept[1] <= 1.0


async def test_a_wait_that_is_too_long_is_not_waited_for() -> None:
    model, clock = Failing([busy(LONGEST_WAIT), busy(LONGEST_WAIT + 30)]), Clock()
    with pytest.raises(ModelError, match=r"slow down \(it asks to wait 90 s") as caught:
        await Retrying(model, sleep=clock.sleep).complete(REQUEST)
    assert caught.value.kind is ModelErrorKind.RATE_LIMIT
    assert caught.value.retry_after == 90
    assert (model.calls, clock.slept) == (2, [LONGEST_WAIT])


async def test_cancelling_ends_the_wait() -> None:
    waiting = asyncio.Event()

    async def sleep(seconds: float) -> None:
        waiting.set()
        await asyncio.Event().wait()

    model = Failing([busy()])
    task = asyncio.create_task(Retrying(model, sleep=sleep).complete(REQUEST))
    await waiting.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert model.calls == 1


def test_there_is_at_least_one_attempt() -> None:
    with pytest.raises(ValueError, match="at least 1"):
        Retrying(Failing([]), attempts=0)


NOON = datetime(2026, 10, 21, 12, 0, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({}, None),
        ({"retry-after": "7"}, 7.0),
        ({"retry-after": "0.25"}, 0.25),
        ({"retry-after": " 3 "}, 3.0),
        ({"retry-after-ms": "1500", "retry-after": "9"}, 1.5),
        ({"retry-after-ms": "soon", "retry-after": "9"}, 9.0),
        ({"retry-after": "Wed, 21 Oct 2026 12:00:30 GMT"}, 30.0),
        ({"retry-after": "Wed, 21 Oct 2026 14:00:30 +0200"}, 30.0),
        ({"retry-after": "Wed, 21 Oct 2026 12:00:30 -0000"}, 30.0),
        ({"retry-after": "Wed, 21 Oct 2026 11:00:00 GMT"}, 0.0),
        ({"retry-after": "-5"}, None),
        ({"retry-after": "inf"}, None),
        ({"retry-after": "later"}, None),
        ({"retry-after": ""}, None),
    ],
)
def test_headers_say_how_long_to_wait(headers: dict[str, str], seconds: float | None) -> None:
    assert read_retry_after(headers, NOON) == seconds


@given(st.text(), st.text())
def test_no_header_makes_a_wait_that_cannot_be_slept(seconds: str, milliseconds: str) -> None:
    wait = read_retry_after({"retry-after": seconds, "retry-after-ms": milliseconds}, NOON)
    assert wait is None or 0 <= wait < float("inf")
