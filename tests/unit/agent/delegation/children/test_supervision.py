"""The heartbeat of a child, and the hands that end it."""

import asyncio

import pytest

from agent.delegation.children.supervision import Activity, NoHeartbeat, OutOfTime, Stopped


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


async def forever(activity: Activity, cap: float = 0, stall: float = 0) -> None:
    async with activity.watched(cap, stall):
        await asyncio.Event().wait()


async def begun(work: "asyncio.Task[None]") -> None:
    for _ in range(3):
        await asyncio.sleep(0)
    assert not work.done()


async def test_without_limits_nothing_ends_a_child() -> None:
    clock = Clock()
    work = asyncio.create_task(forever(Activity(1, clock)))
    await begun(work)
    clock.now += 1e9
    await asyncio.sleep(0.05)
    assert not work.done()
    work.cancel()
    with pytest.raises(asyncio.CancelledError):
        await work


async def test_the_cap_ends_a_child_however_lively_it_is() -> None:
    clock = Clock()
    activity = Activity(1, clock)
    work = asyncio.create_task(forever(activity, cap=0.04, stall=0.04))
    await begun(work)
    clock.now += 0.04
    activity.beat("model")
    with pytest.raises(OutOfTime):
        await work


async def test_the_time_that_a_child_is_paused_does_not_count() -> None:
    clock = Clock()
    activity = Activity(1, clock)
    work = asyncio.create_task(forever(activity, cap=0.04, stall=0.04))
    await begun(work)
    activity.pause()
    for _ in range(3):
        clock.now += 0.03
        await asyncio.sleep(0.02)
    activity.resume()
    assert not work.done()
    clock.now += 0.04
    with pytest.raises((OutOfTime, NoHeartbeat)):
        await work


async def test_a_child_without_a_heartbeat_is_ended() -> None:
    clock = Clock()
    work = asyncio.create_task(forever(Activity(1, clock), cap=1e6, stall=0.04))
    await begun(work)
    clock.now += 0.04
    with pytest.raises(NoHeartbeat):
        await work


async def test_every_start_of_something_is_a_heartbeat() -> None:
    clock = Clock()
    activity = Activity(1, clock)
    work = asyncio.create_task(forever(activity, stall=0.04))
    await begun(work)
    for what in ("model", "read_file", "judge"):
        clock.now += 0.03
        activity.beat(what)
        await asyncio.sleep(0.02)
    assert not work.done()
    assert activity.tool == "judge"
    activity.stop()
    with pytest.raises(Stopped):
        await work


async def test_a_child_lives_for_as_long_as_one_below_it_does() -> None:
    clock = Clock()
    above = Activity(1, clock)
    below = Activity(2, clock, above=above)
    work = asyncio.create_task(forever(above, stall=0.04))
    await begun(work)
    for _ in range(3):
        clock.now += 0.03
        below.beat("model")
        await asyncio.sleep(0.02)
    assert not work.done()
    assert above.tool == ""
    clock.now += 0.04
    with pytest.raises(NoHeartbeat):
        await work


async def test_a_paused_child_does_not_stall_and_neither_does_the_one_above() -> None:
    clock = Clock()
    above = Activity(1, clock)
    below = Activity(2, clock, above=above)
    below.pause()
    works = [asyncio.create_task(forever(one, stall=0.04)) for one in (above, below)]
    for work in works:
        await begun(work)
    for _ in range(3):
        clock.now += 0.03
        await asyncio.sleep(0.03)
    assert below.paused
    assert not any(work.done() for work in works)
    waiting = asyncio.create_task(below.may_go_on())
    await begun(waiting)
    below.resume()
    await waiting
    for activity, work in zip((above, below), works, strict=True):
        activity.stop()
        with pytest.raises(Stopped):
            await work


async def test_a_child_that_is_over_cannot_be_stopped() -> None:
    activity = Activity(1)
    async with activity.watched(1, 1):
        pass
    activity.stop()
    await asyncio.sleep(0)
    task = asyncio.current_task()
    assert task is not None
    assert task.cancelling() == 0


async def test_a_child_that_is_stopped_between_two_steps_does_not_begin_the_next() -> None:
    activity = Activity(1)
    async with activity.watched(1, 1):
        pass
    activity.stop()
    with pytest.raises(Stopped):
        async with activity.watched(1, 1):
            raise AssertionError("it began")


async def test_who_is_cancelled_from_outside_while_it_is_stopped_stays_cancelled() -> None:
    activity = Activity(1)
    work = asyncio.create_task(forever(activity))
    await begun(work)
    activity.stop()
    work.cancel()
    with pytest.raises(asyncio.CancelledError):
        await work
    assert work.cancelled()


async def test_what_fails_inside_is_raised_as_it_is() -> None:
    with pytest.raises(ValueError, match="mine"):
        async with Activity(1).watched(1, 1):
            raise ValueError("mine")


def test_a_file_that_was_written_stays_so() -> None:
    activity = Activity(1)
    for what, path in (("read", "a"), ("wrote", "a"), ("read", "a"), ("read", "b")):
        activity.touched(what, path)
    assert activity.files == {"a": "wrote", "b": "read"}


async def test_who_ran_out_of_time_has_new_time_in_the_next_step_and_can_be_stopped() -> None:
    clock = Clock()
    activity = Activity(1, clock)
    work = asyncio.create_task(forever(activity, cap=0.04))
    await begun(work)
    clock.now += 0.04
    with pytest.raises(OutOfTime):
        await work
    async with activity.watched(cap=0.04, stall=0):
        assert not activity.nearly_out_of_time
    activity.stop()
    with pytest.raises(Stopped):
        await forever(activity)
