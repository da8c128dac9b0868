"""What is told of turns: what came of each."""

import asyncio
from collections.abc import Callable
from typing import cast

import pytest

from agent.models.base import ModelError, ModelErrorKind
from agent.runtime.journal import Journal
from gateway.monitoring.observer import Unobserved
from gateway.running.observed_turns import observed
from gateway.turns.turn import Turn
from storage.errors import EpochLost, StoreUnavailable
from storage.records.inbox_outbox import InboxKind, InboxRow, InboxState


class Told(Unobserved):
    def __init__(self) -> None:
        self.running = 0
        self.turns: list[tuple[str, str, float]] = []

    def turn_began(self) -> None:
        self.running += 1

    def turn_ended(self, kind: str, outcome: str, took: float, waited: float) -> None:
        assert took >= 0
        self.running -= 1
        self.turns.append((kind, outcome, waited))


def turn(kind: InboxKind = InboxKind.MESSAGE) -> Turn:
    row = InboxRow(1, "k", kind, "telegram:1", {}, 1, None, InboxState.OPEN, 90.0)
    return Turn(cast(Journal, None), [row], left=False, begun=100.0)


def does(deed: Callable[[Turn], None]) -> Callable[[Turn], "asyncio.Future[None]"]:
    async def job(turn: Turn) -> None:
        deed(turn)

    return job  # type: ignore[return-value]


def answers(turn: Turn) -> None:
    turn.answered = True


def gives_up(turn: Turn) -> None:
    turn.given_up = True


def nothing(_: Turn) -> None:
    pass


@pytest.mark.parametrize(
    ("deed", "outcome"), [(answers, "answered"), (gives_up, "limit"), (nothing, "waiting")]
)
async def test_a_turn_is_told_with_what_it_came_to_and_how_long_it_waited(
    deed: Callable[[Turn], None], outcome: str
) -> None:
    told = Told()
    answer, _ = observed(does(deed), {}, told)
    await answer(turn())
    assert told.turns == [("message", outcome, 10.0)]
    assert told.running == 0


async def test_a_job_of_a_command_that_says_nothing_is_done() -> None:
    told = Told()
    _, jobs = observed(does(nothing), {InboxKind.COMPACT: does(nothing)}, told)
    await jobs[InboxKind.COMPACT](turn(InboxKind.COMPACT))
    assert told.turns == [("compact", "done", 10.0)]


@pytest.mark.parametrize(
    ("error", "outcome"),
    [
        (ModelError(ModelErrorKind.BUDGET, "no money"), "budget"),
        (ModelError(ModelErrorKind.UNAVAILABLE, "away"), "model_error"),
        (EpochLost("newer"), "superseded"),
        (StoreUnavailable("away"), "store"),
        (asyncio.CancelledError(), "interrupted"),
        (RuntimeError("a fault"), "failed"),
    ],
)
async def test_a_turn_that_fails_is_told_by_how_and_fails(
    error: BaseException, outcome: str
) -> None:
    told = Told()

    def fail(_: Turn) -> None:
        raise error

    answer, _ = observed(does(fail), {}, told)
    with pytest.raises(type(error)):
        await answer(turn())
    assert told.turns == [("message", outcome, 10.0)]
    assert told.running == 0
