"""Work that begins after a while, and only where it is not over by then: most turns are answered
before, and pay for a timer instead of a task."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any


class Later:
    """Owned by whoever made it, who ends it."""

    def __init__(
        self, seconds: float, work: Callable[[], Coroutine[Any, Any, None]], name: str
    ) -> None:
        self._task: asyncio.Task[None] | None = None
        loop = asyncio.get_running_loop()
        self._timer = loop.call_later(seconds, self._begin, work, name)

    def _begin(self, work: Callable[[], Coroutine[Any, Any, None]], name: str) -> None:
        self._task = asyncio.create_task(work(), name=name)

    @property
    def task(self) -> "asyncio.Task[None] | None":
        """None where it has not begun."""
        return self._task

    def drop(self) -> None:
        """Let it not begin."""
        self._timer.cancel()

    async def end(self) -> None:
        """Let it not begin, or cancel it and wait for its end."""
        self.drop()
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait([self._task])
