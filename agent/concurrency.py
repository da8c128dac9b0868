"""Work side by side, and long looks at a path in a thread."""

import asyncio
from collections.abc import Callable, Coroutine, Iterable
from typing import TypeVar

T = TypeVar("T")


async def together(work: Iterable[Coroutine[object, object, T]]) -> list[T]:
    """The results in the order of the work. The first failure cancels the rest, and is raised as
    it is, not in a group: who waits for it knows it by its class."""
    try:
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(one) for one in work]
    except BaseExceptionGroup as failures:
        raise failures.exceptions[0] from None
    return [task.result() for task in tasks]


LONG = 2_000
"""Entries from which on a path is looked at in a thread: below, that takes about as long as to
begin one takes."""


async def off_loop(length: int, look: Callable[[], T]) -> T:
    """What `look`, which is pure, gives for so many entries."""
    return look() if length < LONG else await asyncio.to_thread(look)
