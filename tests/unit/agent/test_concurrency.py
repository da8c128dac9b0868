"""Work side by side."""

import asyncio

import pytest

from agent.concurrency import kept_going, together, within
from agent.delegation.children.slots import Semaphores
from storage.records.delegations import Delegation
from storage.records.entries import Usage


async def later(value: int, seconds: float = 0.0) -> int:
    await asyncio.sleep(seconds)
    return value


async def failing() -> int:
    raise LookupError("mine")


async def test_results_stand_in_the_order_of_the_work() -> None:
    assert await together([later(1, 0.02), later(2), later(3, 0.01)]) == [1, 2, 3]


async def test_no_work_has_no_results() -> None:
    assert await together([]) == []


async def test_the_first_failure_ends_the_rest_and_is_raised_as_it_is() -> None:
    cancelled = asyncio.Event()

    async def hanging() -> int:
        try:
            return await later(1, 60)
        except asyncio.CancelledError:
            cancelled.set()
            raise

    with pytest.raises(LookupError, match="mine"):
        await together([hanging(), failing()])
    assert cancelled.is_set()


async def test_cancelling_who_waits_cancels_the_work() -> None:
    work = asyncio.create_task(together([later(1, 60)]))
    await asyncio.sleep(0)
    work.cancel()
    with pytest.raises(asyncio.CancelledError):
        await work


def delegation(session: int, *, background: bool = False) -> Delegation:
    return Delegation(
        1,
        session,
        "c",
        1,
        0,
        2,
        session,
        None,
        background,
        "",
        "telegram:1",
        "g",
        "running",
        "worker",
        "m",
        Usage(),
        "",
        0.0,
        0.0,
    )


async def test_each_session_has_slots_of_its_own_and_so_has_its_background() -> None:
    semaphores = Semaphores(1)
    held = semaphores.of(delegation(1))
    async with held:
        assert semaphores.of(delegation(1)) is held
        assert semaphores.of(delegation(1)).locked()
        assert not semaphores.of(delegation(2)).locked()
        assert not semaphores.of(delegation(1, background=True)).locked()


async def test_what_must_not_be_cut_goes_on_although_its_caller_is_cancelled() -> None:
    may_end, ended = asyncio.Event(), asyncio.Event()

    async def work() -> None:
        await may_end.wait()
        ended.set()

    task = asyncio.create_task(kept_going(work(), 60))
    for _ in range(3):
        await asyncio.sleep(0)
        task.cancel()
    await asyncio.sleep(0)
    may_end.set()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert ended.is_set()


async def test_who_is_cancelled_while_such_work_goes_on_does_nothing_more_after_it() -> None:
    begun, may_end, more = asyncio.Event(), asyncio.Event(), asyncio.Event()

    async def work() -> None:
        begun.set()
        await may_end.wait()

    async def turn() -> None:
        await kept_going(work(), 60)
        more.set()

    task = asyncio.create_task(turn())
    await begun.wait()
    task.cancel()
    may_end.set()
    await asyncio.wait([task])
    assert task.cancelled()
    assert not more.is_set()


async def test_a_failure_of_such_work_does_not_hide_that_its_caller_was_cancelled() -> None:
    begun, may_end = asyncio.Event(), asyncio.Event()

    async def work() -> None:
        begun.set()
        await may_end.wait()
        await failing()

    task = asyncio.create_task(kept_going(work(), 60))
    await begun.wait()
    task.cancel()
    may_end.set()
    await asyncio.wait([task])
    assert task.cancelled()


async def test_an_event_is_waited_for_no_longer_than_one_wants() -> None:
    event = asyncio.Event()
    assert not await within(event, 0.01)
    event.set()
    assert await within(event, 0)
    assert await within(event, None)


async def test_it_is_given_up_when_its_time_is_over() -> None:
    ended = asyncio.Event()

    async def work() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()

    with pytest.raises(TimeoutError):
        await kept_going(work(), 0.01)
    assert ended.is_set()


async def test_its_failure_is_raised_as_it_is() -> None:
    async def work() -> None:
        await failing()

    with pytest.raises(LookupError):
        await kept_going(work(), 60)
