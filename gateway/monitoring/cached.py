"""A look that many may ask for, and that is made only now and then: one at a time, kept for a
moment, and waited for no longer than somebody has time."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import Generic, TypeVar

T = TypeVar("T")


class Cached(Generic[T]):
    """`kept` and `patience` in seconds. One that takes longer than that goes on: it is not begun
    again and again beside itself."""

    def __init__(
        self,
        look: Callable[[], Awaitable[T]],
        *,
        kept: float,
        patience: float,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._look = look
        self._kept = kept
        self._patience = patience
        self._clock = clock
        self._task: asyncio.Task[T] | None = None
        self._until = 0.0

    async def get(self) -> T:
        """What was found less than `kept` seconds ago, or is found now. Raises what the look
        raised, TimeoutError where it takes too long."""
        task = self._task
        if task is None or (task.done() and self._clock() >= self._until):
            self._task = task = asyncio.create_task(self._looking(), name="look")
            task.add_done_callback(_heard)
        await asyncio.wait([task], timeout=self._patience)
        if not task.done() or task.cancelled():
            raise TimeoutError
        return task.result()

    async def close(self) -> None:
        """Nobody asks any more."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait([self._task])

    async def _looking(self) -> T:
        try:
            return await self._look()
        finally:
            self._until = self._clock() + self._kept


def _heard(task: "asyncio.Task[T]") -> None:
    """Who asked may have gone: then nobody is told how it failed, and nobody need be."""
    if not task.cancelled():
        task.exception()
