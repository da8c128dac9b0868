"""Answers to interactions, which Discord takes once they are acknowledged: by this process, or by
another one, which has committed what came and is about to say so."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import TypeVar

from adapters.discord.handles import Deferrals, Handle
from adapters.discord.rest import NotAcknowledged

T = TypeVar("T")

PATIENCE = 3.0
"""Seconds for which another process may take: as long as Discord waits for it."""
AGAIN = 0.1
FRESH = 60.0
"""Seconds after which it is acknowledged, or never will be; clocks may be wrong by a little."""
_EPOCH = 1_420_070_400.0
"""When Discord's ids begin, in Unix seconds."""


async def acknowledged(deferrals: Deferrals, handle: Handle, call: Callable[[], Awaitable[T]]) -> T:
    """Make a call that needs the interaction to be acknowledged. Raises what the call raises."""
    await deferrals.settled(str(handle))
    began = asyncio.get_running_loop().time()
    while True:
        try:
            return await call()
        except NotAcknowledged:
            late = asyncio.get_running_loop().time() - began > PATIENCE
            if late or abs(time.time() - _made(handle)) > FRESH:
                raise
            await asyncio.sleep(AGAIN)


def _made(handle: Handle) -> float:
    """When the interaction was, in Unix seconds."""
    return (handle.id >> 22) / 1000 + _EPOCH
