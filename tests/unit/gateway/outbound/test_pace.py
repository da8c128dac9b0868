"""Who may send next. The clock stands still where nobody sleeps: nothing here is timed."""

import asyncio
import re

import pytest

from adapters.base import Throttled
from adapters.events import Conversation
from adapters.pacing import Limit, Rates
from gateway.outbound.pace import Pace

ANN, BEN = Conversation("telegram", "1"), Conversation("telegram", "2")


def rates(chat: Limit, whole: Limit) -> dict[str, Rates]:
    return {"telegram": Rates((chat,), (chat,), (whole,), re.compile("-.*"))}


async def test_a_chat_with_much_to_say_does_not_starve_the_others() -> None:
    pace = Pace(rates(Limit(1000, 0.001), Limit(2, 0.02)))
    order: list[str] = []

    async def speak(to: Conversation, count: int) -> None:
        for _ in range(count):
            async with pace.turn(to, "post"):
                order.append(to.chat)

    async with asyncio.timeout(60), asyncio.TaskGroup() as group:
        group.create_task(speak(ANN, 40))
        await asyncio.sleep(0)
        for other in range(10, 15):
            group.create_task(speak(Conversation("telegram", str(other)), 3))
    assert len(order) == 55
    # While others have something to say, nobody gets two turns in a row more than once in a while.
    assert order[:25].count("1") <= 10


async def test_a_terminal_is_never_waited_for() -> None:
    pace = Pace(rates(Limit(1, 3600.0), Limit(1, 3600.0)))
    for _ in range(100):
        async with pace.turn(Conversation("terminal", "here"), "post"):
            pass


async def test_signs_of_life_are_refused_at_once_where_there_is_no_room() -> None:
    pace = Pace(rates(Limit(2, 3600.0, kept=1), Limit(100, 1.0)))
    async with pace.turn(ANN, "edit", fleeting=True):
        pass
    with pytest.raises(Throttled):
        async with pace.turn(ANN, "edit", fleeting=True):
            raise AssertionError("it must not be sent")
    async with pace.turn(ANN, "post"):
        pass  # its place was kept


async def test_patience_ends() -> None:
    pace = Pace(rates(Limit(1, 3600.0), Limit(100, 1.0)))
    async with pace.turn(ANN, "post"):
        pass
    with pytest.raises(Throttled):
        async with pace.turn(ANN, "post", patience=0.01):
            raise AssertionError("it must not be sent")


async def test_a_429_holds_up_its_chat_alone() -> None:
    pace = Pace(rates(Limit(100, 1.0), Limit(100, 1.0)))
    with pytest.raises(Throttled):
        async with pace.turn(ANN, "post"):
            raise Throttled(3600.0)
    with pytest.raises(Throttled):
        async with pace.turn(ANN, "post", patience=0.01):
            raise AssertionError("it must not be sent")
    async with pace.turn(BEN, "post", patience=10.0):
        pass


async def test_a_429_for_all_holds_up_everybody() -> None:
    pace = Pace(rates(Limit(100, 1.0), Limit(100, 1.0)))
    with pytest.raises(Throttled):
        async with pace.turn(ANN, "post"):
            raise Throttled(3600.0, everywhere=True)
    with pytest.raises(Throttled):
        async with pace.turn(BEN, "post", patience=0.01):
            raise AssertionError("it must not be sent")


async def test_whoever_leaves_takes_no_place() -> None:
    pace = Pace(rates(Limit(1, 0.001), Limit(100, 1.0)))
    entered = asyncio.Event()

    async def wait_for_a_turn() -> None:
        async with pace.turn(ANN, "post"):
            entered.set()

    async with pace.turn(ANN, "post"):
        waiting = [asyncio.create_task(wait_for_a_turn()) for _ in range(3)]
        await asyncio.sleep(0)
        for task in waiting[:2]:
            task.cancel()
    async with asyncio.timeout(60):
        await asyncio.gather(*waiting, return_exceptions=True)
    assert entered.is_set()
    async with pace.turn(ANN, "post", patience=60.0):
        pass
