import asyncio
import gc
import sys
import weakref

from gateway.running.fairness import SWITCH, YOUNG, collect, fair


class Knot:
    """Garbage that only a collection finds."""

    def __init__(self) -> None:
        self.itself = self


def knot() -> "weakref.ref[Knot]":
    """One that has grown old."""
    made = Knot()
    gc.collect(1)
    return weakref.ref(made)


async def gone(found: "weakref.ref[Knot]") -> None:
    while found() is not None:
        await asyncio.sleep(0.001)


async def test_what_is_old_is_collected_when_nothing_is_done() -> None:
    found = knot()
    task = asyncio.create_task(collect(lambda: True, every=0.001))
    await asyncio.wait_for(gone(found), 60)
    task.cancel()


async def test_it_is_collected_at_last_where_something_is_always_done() -> None:
    found = knot()
    there: list[bool] = []

    def idle() -> bool:
        there.append(found() is not None)
        return False

    task = asyncio.create_task(collect(idle, every=0.001, longest=0.005))
    await asyncio.wait_for(gone(found), 60)
    task.cancel()
    assert there[:2] == [True, True]


def test_what_is_changed_for_the_whole_process_is_put_back() -> None:
    before = sys.getswitchinterval(), gc.get_threshold()
    with fair():
        assert gc.get_threshold() == YOUNG
        assert abs(sys.getswitchinterval() - SWITCH) < 1e-6
    assert (sys.getswitchinterval(), gc.get_threshold()) == before
