import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from agent.runtime.journal import Journal
from gateway.turns.scheduler import FIRST_PAUSE, Advance, InProcessScheduler
from gateway.turns.turn import Turn
from storage.errors import StoreUnavailable
from storage.sql.store import SqlStore


class Turns:
    """Turns that run until they are let go, and what happened to them."""

    def __init__(self) -> None:
        self.begun: list[int] = []
        self.given: list[Turn | None] = []
        self.ended: list[int] = []
        self.cancelled: list[int] = []
        self.running = 0
        self.most = 0
        self.go_on = asyncio.Event()

    async def advance(self, session: int, begun: Turn | None) -> None:
        self.begun.append(session)
        self.given.append(begun)
        self.running += 1
        self.most = max(self.most, self.running)
        try:
            await self.go_on.wait()
            self.ended.append(session)
        except asyncio.CancelledError:
            self.cancelled.append(session)
            raise
        finally:
            self.running -= 1


def started_with(advance: Advance) -> InProcessScheduler:
    scheduler = InProcessScheduler()
    scheduler.start(advance)
    return scheduler


async def until_idle(lanes: InProcessScheduler) -> None:
    while not lanes.idle():
        await asyncio.sleep(0)


async def started(turns: Turns, count: int) -> None:
    while len(turns.begun) < count:
        await asyncio.sleep(0)


async def test_a_session_runs_one_turn_at_a_time_and_once_more_for_any_number_of_wakes() -> None:
    turns = Turns()
    lanes = started_with(turns.advance)
    lanes.wake(1)
    await started(turns, 1)
    for _ in range(5):
        lanes.wake(1)
    turns.go_on.set()
    await until_idle(lanes)
    assert turns.ended == [1, 1]
    assert turns.most == 1


async def test_sessions_run_side_by_side() -> None:
    turns = Turns()
    lanes = started_with(turns.advance)
    for session in range(10):
        lanes.wake(session)
    await started(turns, 10)
    assert turns.most == 10
    turns.go_on.set()
    await until_idle(lanes)


async def test_what_is_woken_before_the_start_waits_for_it() -> None:
    turns, lanes = Turns(), InProcessScheduler()
    lanes.wake(1)
    await asyncio.sleep(0)
    assert lanes.idle()
    lanes.start(turns.advance)
    await started(turns, 1)
    turns.go_on.set()
    await until_idle(lanes)
    assert turns.ended == [1]


async def test_after_a_hold_the_session_is_looked_at() -> None:
    turns = Turns()
    turns.go_on.set()
    lanes = started_with(turns.advance)
    async with lanes.hold(1):
        pass
    await started(turns, 1)
    await until_idle(lanes)


async def test_an_interrupt_cancels_the_turn_and_looks_again() -> None:
    turns = Turns()
    lanes = started_with(turns.advance)
    lanes.wake(1)
    await started(turns, 1)
    lanes.interrupt(1)
    await started(turns, 2)
    assert turns.cancelled == [1]
    turns.go_on.set()
    await until_idle(lanes)
    assert turns.ended == [1]


async def test_a_held_lane_has_ended_its_turn_and_begins_none() -> None:
    turns = Turns()
    lanes = started_with(turns.advance)
    async with lanes.hold(1) as ran:
        assert not ran
    lanes.wake(1)
    await started(turns, 1)
    lanes.wake(1)
    async with lanes.hold(1) as ran:
        assert ran
        assert turns.cancelled == [1]
        lanes.wake(1)
        await until_idle(lanes)
        assert len(turns.begun) == 1
    await started(turns, 2)
    turns.go_on.set()
    await until_idle(lanes)
    assert turns.ended == [1]


async def test_close_ends_everything_and_wakes_nothing_any_more() -> None:
    turns = Turns()
    lanes = started_with(turns.advance)
    lanes.wake(1)
    await started(turns, 1)
    await lanes.close()
    lanes.wake(2)
    assert turns.cancelled == [1]
    assert lanes.idle()


async def test_a_turn_that_fails_leaves_the_others_alone(
    caplog: pytest.LogCaptureFixture,
) -> None:
    done = asyncio.Event()

    async def advance(session: int, begun: Turn | None) -> None:
        if session == 1:
            raise ValueError("broken")
        done.set()

    lanes = started_with(advance)
    lanes.wake(1)
    lanes.wake(2)
    await done.wait()
    await until_idle(lanes)
    assert "broken" in caplog.text


@pytest.fixture
async def begun(tmp_path: Path) -> AsyncIterator[Turn]:
    store = await SqlStore.open(f"sqlite:///{tmp_path}/bough.db")
    yield Turn(Journal(store, 1, 1, ()), [], left=False)
    await store.close()


async def test_a_turn_that_was_begun_is_the_one_that_runs(begun: Turn) -> None:
    turns = Turns()
    turns.go_on.set()
    lanes = started_with(turns.advance)
    lanes.wake(1)
    lanes.wake(1, begun)
    await until_idle(lanes)
    assert turns.given == [begun]


async def test_what_comes_after_a_turn_was_begun_is_looked_at_with_it(begun: Turn) -> None:
    turns = Turns()
    turns.go_on.set()
    lanes = started_with(turns.advance)
    lanes.wake(1, begun)
    lanes.wake(1)
    await until_idle(lanes)
    assert turns.given == [None]


async def test_a_turn_that_was_begun_beside_another_is_looked_for_after_that(begun: Turn) -> None:
    turns = Turns()
    lanes = started_with(turns.advance)
    lanes.wake(1)
    await started(turns, 1)
    lanes.wake(1, begun)
    turns.go_on.set()
    await until_idle(lanes)
    assert turns.given == [None, None]


async def test_a_turn_that_was_begun_before_a_hold_is_not_run_after_it(begun: Turn) -> None:
    turns = Turns()
    turns.go_on.set()
    lanes = started_with(turns.advance)
    async with lanes.hold(1):
        lanes.wake(1, begun)
    await until_idle(lanes)
    assert turns.given == [None]


async def test_a_session_is_free_while_nothing_runs_in_it_and_nobody_holds_it() -> None:
    turns, lanes = Turns(), InProcessScheduler()
    assert not lanes.free(1)  # before the start
    lanes.start(turns.advance)
    assert lanes.free(1)
    async with lanes.hold(1):
        assert not lanes.free(1)
        assert lanes.free(2)
    await started(turns, 1)
    assert not lanes.free(1)
    turns.go_on.set()
    await until_idle(lanes)
    assert lanes.free(1)


async def test_a_turn_that_the_store_did_not_let_go_on_is_tried_again_by_itself() -> None:
    tries: list[int] = []

    async def advance(session: int, begun: Turn | None) -> None:
        tries.append(session)
        if len(tries) < 3:
            raise StoreUnavailable("its server restarts")

    lanes = started_with(advance)
    lanes.wake(7)
    async with asyncio.timeout(60):
        while len(tries) < 3:
            await asyncio.sleep(0.01)
    await lanes.close()
    assert tries == [7, 7, 7]


async def test_who_wakes_a_session_again_is_given_by_who_shares_it_with_others() -> None:
    woken: list[int] = []

    async def advance(session: int, begun: Turn | None) -> None:
        raise StoreUnavailable("its server restarts")

    lanes = InProcessScheduler()
    lanes.start(advance, woken.append)
    lanes.wake(7)
    async with asyncio.timeout(60):
        while not woken:
            await asyncio.sleep(0.01)
    await lanes.close()
    assert woken == [7]


async def test_nothing_is_tried_again_once_it_is_closed() -> None:
    tries: list[int] = []

    async def advance(session: int, begun: Turn | None) -> None:
        tries.append(session)
        raise StoreUnavailable("its server restarts")

    lanes = started_with(advance)
    lanes.wake(7)
    await until_idle(lanes)
    await lanes.close()
    await asyncio.sleep(FIRST_PAUSE + 0.05)
    assert tries == [7]
