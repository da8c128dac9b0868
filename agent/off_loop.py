"""Looking at long paths without holding up the event loop."""

import asyncio
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")

LONG = 2_000
"""Entries from which on a path is looked at in a thread: below, that takes about as long as to
begin one takes."""


async def off_loop(length: int, look: Callable[[], T]) -> T:
    """What `look`, which is pure, gives for so many entries."""
    return look() if length < LONG else await asyncio.to_thread(look)
