"""A look that many ask for is made once, and is waited for no longer than there is time."""

import asyncio

import pytest

from gateway.monitoring.cached import Cached
from storage.errors import StoreUnavailable


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


class Looks:
    def __init__(self) -> None:
        self.count = 0
        self.may_end = asyncio.Event()
        self.error: Exception | None = None

    async def __call__(self) -> int:
        self.count += 1
        await self.may_end.wait()
        if self.error is not None:
            raise self.error
        return self.count


def cached(looks: Looks, clock: Clock, patience: float = 30.0) -> Cached[int]:
    return Cached(looks, kept=1.0, patience=patience, clock=clock)


async def test_who_ask_at_once_share_a_look_and_later_ones_see_it_while_it_is_fresh() -> None:
    looks, clock = Looks(), Clock()
    shared = cached(looks, clock)
    asking = [asyncio.create_task(shared.get()) for _ in range(5)]
    await asyncio.sleep(0)
    looks.may_end.set()
    assert await asyncio.gather(*asking) == [1] * 5
    clock.now += 0.9
    assert await shared.get() == 1
    clock.now += 0.2
    assert await shared.get() == 2


async def test_a_look_that_takes_too_long_is_not_begun_beside_itself() -> None:
    looks, clock = Looks(), Clock()
    shared = cached(looks, clock, patience=0.001)
    for _ in range(3):
        with pytest.raises(TimeoutError):
            await shared.get()
    assert looks.count == 1
    looks.may_end.set()
    for _ in range(3):
        await asyncio.sleep(0)
    assert await shared.get() == 1
    await shared.close()


async def test_a_failed_look_is_told_to_all_and_made_again_when_its_time_is_over() -> None:
    looks, clock = Looks(), Clock()
    looks.may_end.set()
    looks.error = StoreUnavailable("away")
    shared = cached(looks, clock)
    for _ in range(2):
        with pytest.raises(StoreUnavailable):
            await shared.get()
    assert looks.count == 1
    looks.error = None
    clock.now += 1.0
    assert await shared.get() == 2


async def test_who_goes_away_ends_no_look_of_others_and_the_end_cancels_it() -> None:
    looks = Looks()
    shared = cached(looks, Clock())
    gone, stays = (asyncio.create_task(shared.get()) for _ in range(2))
    await asyncio.sleep(0)
    gone.cancel()
    await asyncio.sleep(0)
    assert gone.cancelled() and not stays.done()
    await shared.close()
    with pytest.raises(TimeoutError):
        await stays
