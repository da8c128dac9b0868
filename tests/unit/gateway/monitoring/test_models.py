"""What is told of calls of models."""

import asyncio

import pytest

from agent.models.base import Model, ModelError, ModelErrorKind, ModelSpec, Reply, Request
from agent.models.retry import Retrying
from gateway.monitoring.models import ObservedAttempts, ObservedCalls
from gateway.monitoring.observer import Unobserved
from storage.records.entries import Usage

ASKED = Request(ModelSpec("worker", "m"), [])
ANSWER = Reply("hi", (), Usage(calls=1), {})


class Told(Unobserved):
    def __init__(self) -> None:
        self.running = 0
        self.calls: list[tuple[str, str]] = []
        self.attempts: list[tuple[str, str]] = []

    def call_began(self) -> None:
        self.running += 1

    def call_ended(self, tier: str, outcome: str, took: float) -> None:
        assert took >= 0
        self.running -= 1
        self.calls.append((tier, outcome))

    def attempt_failed(self, tier: str, kind: str) -> None:
        self.attempts.append((tier, kind))


class Says:
    """A model that does one after the other."""

    def __init__(self, *deeds: Reply | BaseException) -> None:
        self._deeds = list(deeds)

    async def complete(self, request: Request) -> Reply:
        match self._deeds.pop(0):
            case Reply() as reply:
                return reply
            case error:
                raise error


async def no_sleep(_: float) -> None:
    pass


async def test_a_call_is_told_once_with_its_retries_and_each_failed_attempt_by_itself() -> None:
    told = Told()
    busy = ModelError(ModelErrorKind.RATE_LIMIT, "busy")
    retried = Retrying(ObservedAttempts(Says(busy, busy, ANSWER), told), sleep=no_sleep)
    assert await ObservedCalls(retried, told).complete(ASKED) == ANSWER
    assert told.calls == [("worker", "ok")]
    assert told.attempts == [("worker", "rate_limit")] * 2


@pytest.mark.parametrize(
    ("error", "outcome"),
    [
        (ModelError(ModelErrorKind.BUDGET, "no money"), "budget"),
        (ModelError(ModelErrorKind.AUTH, "no key"), "auth"),
        (asyncio.CancelledError(), "cancelled"),
        (RuntimeError("a fault"), "failed"),
    ],
)
async def test_a_call_that_fails_is_told_by_how(error: BaseException, outcome: str) -> None:
    told = Told()
    model: Model = ObservedCalls(Says(error), told)
    with pytest.raises(type(error)):
        await model.complete(ASKED)
    assert told.calls == [("worker", outcome)]
    assert told.running == 0
