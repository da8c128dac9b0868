"""Read a file's session: a long one in a process of its own."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from storage.errors import InterchangeError
from storage.interchange.api import read_session
from storage.interchange.arriving import (
    Arriving,
    Entries,
    at_hand,
    head_from,
    part_from,
)
from storage.interchange.child import ChildFailed, Frames, child
from storage.json_text import dumps, loads

SHORT = 200_000
"""Bytes of a file that is read in this process: about 1,500 entries, in 60 ms. A process of its own
needs longer to begin."""
_LARGE = 500_000
"""Bytes of a part that is decoded in a thread: there are pictures in it."""
BROKE_OFF = "the file takes too much time or memory to read"
_MODULE = "storage.interchange.reading_process"


@asynccontextmanager
async def read_apart(data: bytes, now: float) -> AsyncIterator[Arriving]:
    """What `api.read_session` gives, to be taken within the block. InterchangeError as there,
    before anything of it is given, and where reading breaks off."""
    if len(data) <= SHORT:
        yield at_hand(await asyncio.to_thread(read_session, data, now))
        return
    async with child(_MODULE, dumps({"now": now}).encode() + b"\n" + data) as frames:
        head = loads((await _next(frames)).decode())
        if "error" in head:
            raise InterchangeError(head["error"])
        yield Arriving(head_from(head["head"]), _parts(frames))


async def _parts(frames: Frames) -> AsyncIterator[Entries]:
    while part := await _next(frames):
        yield await asyncio.to_thread(_decoded, part) if len(part) > _LARGE else _decoded(part)


def _decoded(part: bytes) -> Entries:
    return part_from(loads(part.decode()))


async def _next(frames: Frames) -> bytes:
    try:
        return await frames.next()
    except ChildFailed:
        raise InterchangeError(BROKE_OFF) from None
