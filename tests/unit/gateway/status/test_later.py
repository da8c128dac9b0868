import asyncio

from gateway.status.later import Later


async def test_work_that_is_over_before_its_time_never_begins() -> None:
    begun = asyncio.Event()

    async def work() -> None:
        begun.set()

    later = Later(0.0, work, "work")
    await later.end()
    await asyncio.sleep(0.001)
    assert later.task is None
    assert not begun.is_set()


async def test_work_that_has_begun_is_cancelled_and_waited_for() -> None:
    begun, ended = asyncio.Event(), asyncio.Event()

    async def work() -> None:
        begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            await asyncio.sleep(0)
            ended.set()

    later = Later(0.0, work, "work")
    await begun.wait()
    await later.end()
    assert ended.is_set()


async def test_what_was_dropped_does_not_begin() -> None:
    begun = asyncio.Event()

    async def work() -> None:
        begun.set()

    Later(0.0, work, "work").drop()
    await asyncio.sleep(0.001)
    assert not begun.is_set()
