"""Work side by side, waits that end, and long looks at a path in a thread."""

import asyncio
import logging
from collections.abc import Callable, Coroutine, Iterable
from contextlib import suppress
from typing import TypeVar

log = logging.getLogger(__name__)

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


async def kept_going(work: Coroutine[object, object, None], seconds: float) -> None:
    """Carry out what must not be cut short, whoever cancels the caller meanwhile: it hears of that
    when the work is over. TimeoutError, and the work is cancelled, where it takes longer."""
    task = asyncio.create_task(work)
    loop = asyncio.get_running_loop()
    end = loop.time() + seconds
    cancelled: asyncio.CancelledError | None = None
    while not task.done() and (left := end - loop.time()) > 0:
        try:
            await asyncio.wait({task}, timeout=left)
        except asyncio.CancelledError as error:
            cancelled = error
    try:
        if not task.done():
            task.cancel()
            await asyncio.wait({task})
            raise TimeoutError
        task.result()
    except Exception as failure:
        if cancelled is None:
            raise
        # Whoever cancelled the caller must be heard, and this is nobody's to handle then.
        log.warning("the last that was to be done by a task came to nothing: %r", failure)
    if cancelled is not None:
        raise cancelled


async def within(event: asyncio.Event, seconds: float | None) -> bool:
    """Wait for it, but no longer than so many seconds, None: for ever; whether it came."""
    with suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            await event.wait()
    return event.is_set()


LONG = 2_000
"""Entries from which on a path is looked at in a thread: below, that takes about as long as to
begin one takes."""


async def off_loop(length: int, look: Callable[[], T]) -> T:
    """What `look`, which is pure, gives for so many entries."""
    return look() if length < LONG else await asyncio.to_thread(look)
