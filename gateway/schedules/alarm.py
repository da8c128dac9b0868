"""Waits for the next time that something is due, whatever the clock does meanwhile."""

import asyncio
import math
import time
from collections.abc import Callable

from agent.concurrency import within

GLANCE = 0.5
"""Seconds between looks at the clock, while something is to come: it may be set while we sleep."""
LOOK_EVERY = 30.0
"""Seconds between looks at the store, for what nobody told of."""
RETRY = 1.0
"""Seconds until the next look after one that failed."""


class Alarm:
    """For one who looks, sets it to what is next, and waits. Its times are Unix seconds of the
    `clock`, which may jump."""

    def __init__(self, clock: Callable[[], float] = time.time) -> None:
        self._clock = clock
        self._news = asyncio.Event()
        self._next = -math.inf

    def changed(self) -> None:
        """Something may be due at another time than before."""
        self._news.set()

    def begin(self) -> None:
        """What is told of from here on the look that begins may miss."""
        self._news.clear()
        self._next = self._clock() + RETRY

    def set(self, next_: float | None) -> None:
        """The look is over. None: nothing is to come."""
        self._next = next_ if next_ is not None else math.inf

    async def wait(self) -> None:
        """Return when something is due, may be due now, or was not looked at for long."""
        give_up = time.monotonic() + LOOK_EVERY
        while not self._news.is_set():
            left = self._next - self._clock()
            patience = give_up - time.monotonic()
            if left <= 0 or patience <= 0:
                break
            glance = GLANCE if self._next < math.inf else patience
            await within(self._news, min(left, glance, patience))
