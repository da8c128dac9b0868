"""Who may send next. The clock stands still where nobody sleeps: nothing here is timed."""

import asyncio
import re
from collections import Counter
from dataclasses import dataclass

import pytest

from adapters.base import Throttled
from adapters.events import Conversation
from adapters.pacing import Limit, Rates, Urgency
from gateway.outbound.pace import LONG, Pace

ANN, BEN = Conversation("telegram", "1"), Conversation("telegram", "2")


@dataclass
class Clock:
    now: float = 0.0

    def __call__(self) -> float:
        return self.now


def rates(chat: Limit, whole: Limit) -> dict[str, Rates]:
    return {"telegram": Rates((chat,), (chat,), whole, re.compile("-.*"))}


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
    async with pace.turn(ANN, "edit", Urgency.FLEETING):
        pass
    with pytest.raises(Throttled):
        async with pace.turn(ANN, "edit", Urgency.FLEETING):
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


async def test_answers_leave_before_notices_which_wait_behind_them_for_a_while_alone() -> None:
    clock = Clock()
    pace = Pace(rates(Limit(100, 1.0), Limit(1, 1.0)), clock)
    order: list[str] = []

    async def speak(number: int, urgency: Urgency) -> None:
        async with pace.turn(Conversation("telegram", str(number)), "post", urgency):
            order.append(f"{urgency.name} {number}")

    async with asyncio.timeout(60), asyncio.TaskGroup() as group:
        async with pace.turn(ANN, "post"):
            for number in (10, 11):
                group.create_task(speak(number, Urgency.NOTICE))
            await asyncio.sleep(0)
            clock.now += 0.1
            for number in (20, 21):
                group.create_task(speak(number, Urgency.ANSWER))
            await asyncio.sleep(0)
        clock.now += 1.0
        pace.divided_anew()
        while len(order) < 1:
            await asyncio.sleep(0)
        assert order == ["ANSWER 20"]
        clock.now += LONG  # by now they have waited as long as any may
        for _ in range(3):
            pace.divided_anew()
            await asyncio.sleep(0)
            await asyncio.sleep(0)
            clock.now += 1.0
        pace.divided_anew()
    assert order[1:] == ["NOTICE 10", "NOTICE 11", "ANSWER 21"]


async def test_of_fifty_that_stream_at_once_each_is_shown_before_any_is_shown_often() -> None:
    clock = Clock()
    pace = Pace(rates(Limit(100, 1.0), Limit(28, 1.0, kept=10)), clock)
    shown, again = Counter[str](), {str(number): 0.0 for number in range(50)}
    for _ in range(400):  # ten seconds
        for chat in [chat for chat, at in again.items() if at <= clock.now]:
            try:
                async with pace.turn(Conversation("telegram", chat), "draft", Urgency.FLEETING):
                    shown[chat] += 1
                again[chat] = clock.now + 1.0
            except Throttled as error:
                again[chat] = clock.now + max(error.retry_after, 0.2)
        clock.now += 0.025
    assert len(shown) == 50
    assert max(shown.values()) - min(shown.values()) <= 2


async def test_typing_takes_no_room_that_a_draft_waits_for() -> None:
    clock = Clock()
    pace = Pace(rates(Limit(100, 1.0), Limit(1, 1.0)), clock)
    async with pace.turn(ANN, "draft", Urgency.FLEETING):
        pass
    with pytest.raises(Throttled):
        async with pace.turn(BEN, "draft", Urgency.FLEETING):
            raise AssertionError("it must not be sent")
    clock.now += 1.0
    for kind in ("typing", "draft"):
        with pytest.raises(Throttled):
            async with pace.turn(ANN, kind, Urgency.FLEETING):
                raise AssertionError("it must not be sent")
    async with pace.turn(BEN, "draft", Urgency.FLEETING):
        pass
