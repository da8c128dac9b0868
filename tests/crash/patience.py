"""Waiting for what another process does."""

import asyncio
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")

SECONDS = 120.0
"""Until something that is waited for is a failure."""


async def until(look: Callable[[], T]) -> T:
    """What `look` gives, once it is true. It is asked again and again, because a file does not
    say when it changes."""
    async with asyncio.timeout(SECONDS):
        while not (found := look()):
            await asyncio.sleep(0.01)
        return found
