"""Places that conversations share: nobody takes all of them, and who waits is served in turns."""

import asyncio
import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.errors import ToolError
from agent.fairness import FairPlaces, FairThreads


async def _settled() -> None:
    for _ in range(5):
        await asyncio.sleep(0)


async def test_one_conversation_never_holds_more_than_half() -> None:
    places = FairPlaces(16, "pages")
    tasks = [asyncio.create_task(places.take("a")) for _ in range(100)]
    await _settled()
    assert places.held("a") == 8
    for other, held in (("b", 4), ("c", 2), ("d", 1), ("e", 1)):
        tasks += [asyncio.create_task(places.take(other)) for _ in range(100)]
        await _settled()
        assert places.held(other) == held
    assert places.free == 0
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


async def test_who_waits_is_served_in_turns() -> None:
    places, served = FairPlaces(1, "pictures"), []

    async def work(whose: str) -> None:
        async with places.place(whose):
            served.append(whose)
            await asyncio.sleep(0)

    await places.take("holder")
    tasks = [asyncio.create_task(work(whose)) for whose in "aaaab" + "bc"]
    await _settled()
    places.give_back("holder")
    await asyncio.gather(*tasks)
    assert "".join(served) == "abcabaa"
    assert places.free == 1


async def test_a_place_that_comes_as_its_waiter_goes_is_given_on() -> None:
    places = FairPlaces(1, "pages")
    await places.take("a")
    first = asyncio.create_task(places.take("b"))
    second = asyncio.create_task(places.take("c"))
    await _settled()
    places.give_back("a")
    first.cancel()
    with pytest.raises(asyncio.CancelledError):
        await first
    await second
    assert (places.held("b"), places.held("c"), places.free) == (0, 1, 0)


async def test_who_waits_too_long_is_told_why() -> None:
    places = FairPlaces(2, "pages", patience=0.01)
    await places.take("a")
    with pytest.raises(ToolError, match=r"1 of the 2 places for pages are this conversation's own"):
        await places.take("a")
    await places.take("b")
    with pytest.raises(ToolError, match=r"all 2 places for pages are taken by other conversations"):
        await places.take("c")
    places.give_back("a")
    await places.take("c")
    assert places.free == 0


@given(
    most=st.integers(1, 9),
    steps=st.lists(st.tuples(st.sampled_from(["take", "leave", "back"]), st.integers(0, 4))),
)
def test_places_are_never_lost_and_never_all_of_one(
    most: int, steps: list[tuple[str, int]]
) -> None:
    async def play() -> None:
        places = FairPlaces(most, "things")
        tasks: list[tuple[str, asyncio.Task[None]]] = []
        for what, number in steps:
            whose = f"chat {number}"
            ours = [one for one in tasks if one[0] == whose]
            match what:
                case "take":
                    tasks.append((whose, asyncio.create_task(places.take(whose))))
                case "leave":
                    for one in [one for one in ours if not one[1].done()][:1]:
                        one[1].cancel()
                        tasks.remove(one)
                case "back":
                    for one in [one for one in ours if one[1].done()][:1]:
                        places.give_back(whose)
                        tasks.remove(one)
            await _settled()
            held = [one for one in tasks if one[1].done()]
            assert places.free == most - len(held) >= 0
            for name in {name for name, _ in tasks}:
                mine = sum(one[0] == name for one in held)
                assert places.held(name) == mine <= (most + 1) // 2
                waits = any(not task.done() for one, task in tasks if one == name)
                assert not (waits and places.may_take(name))
        for _, task in tasks:
            task.cancel()
        await asyncio.gather(*(task for _, task in tasks), return_exceptions=True)

    asyncio.run(play())


async def test_a_conversation_whose_threads_all_hang_leaves_some_to_others() -> None:
    threads, let_go = FairThreads(4, "files"), threading.Event()
    hanging = [asyncio.create_task(threads.run("a", let_go.wait)) for _ in range(9)]
    await _settled()
    assert await threads.run("b", lambda: "done") == "done"
    assert not any(task.done() for task in hanging)
    let_go.set()
    assert all(await asyncio.gather(*hanging))
    threads.close()


async def test_a_thread_keeps_its_place_when_who_waited_is_cancelled() -> None:
    threads, let_go, ended = FairThreads(1, "files"), threading.Event(), threading.Event()

    def work() -> None:
        let_go.wait()
        ended.set()

    first = asyncio.create_task(threads.run("a", work))
    await _settled()
    first.cancel()
    with pytest.raises(asyncio.CancelledError):
        await first
    assert threads.places.free == 0
    let_go.set()
    assert await threads.run("b", ended.is_set)
    threads.close()


async def test_a_fault_of_the_work_gives_its_place_back() -> None:
    threads = FairThreads(1, "files")

    def fails() -> None:
        raise ValueError("broken")

    for _ in range(3):
        with pytest.raises(ValueError, match="broken"):
            await threads.run("a", fails)
    threads.close()


def test_a_thread_that_outlives_its_loop_gives_its_place_back() -> None:
    threads, let_go = FairThreads(1, "files"), threading.Event()

    async def leave() -> None:
        task = asyncio.create_task(threads.run("a", let_go.wait))
        await _settled()
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)

    asyncio.run(leave())
    let_go.set()
    threads._threads.shutdown(wait=True)
    assert threads.places.free == 1
