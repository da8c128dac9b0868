"""A session as a file to be sent: a long one is written in a process of its own, which reads the
database by itself."""

import asyncio
import os
from collections.abc import Callable, Collection, Iterable
from dataclasses import asdict, dataclass, field

from agent.fairness import FairThreads
from gateway.errors import ExportFault
from gateway.media.exchange import pictures_from
from storage.blobs.choosing import blobs_of
from storage.interchange.api import extent, gather
from storage.interchange.child import ChildFailed, Frames, child
from storage.interchange.pi.write import Exported, write_session
from storage.interchange.redaction import redactor
from storage.json_text import dumps, loads
from storage.store import Store

SHORT = 500
"""Entries that are written in this process."""
_WRITING = FairThreads(4, "sessions that are written")
"""Each waits for pictures, which the event loop's own threads read: among those, several that wait
would leave none to read."""
AWAY = "the database cannot be asked for the moment; try again in a while"
BROKE_OFF = "writing it takes too much time or memory"
_MODULE = "gateway.media.exporting_process"
_PASSED_ON = ("HOME", "PATH", "TZ")
"""Of our environment, with all that PostgreSQL's own library reads: it may say how to get in."""


@dataclass(frozen=True, slots=True)
class Wish:
    """What is to be written."""

    url: str = field(repr=False)
    """Of the database."""
    session: int
    secrets: Collection[str] | None = field(repr=False)
    """What is taken out, with what looks like it; None: nothing is."""
    most: int | None
    """Bytes that can be sent; None: any number."""


@dataclass(frozen=True, slots=True)
class Written:
    data: bytes | None
    """None where there are more than can be sent."""
    size: int
    """Bytes."""
    entries: int


async def session_file(store: Store, wish: Wish) -> Written:
    """ExportFault where it comes to no end."""
    if await store.read(lambda tx: extent(tx, wish.session)) <= SHORT:
        return await _written_here(store, wish)
    async with child(_MODULE, dumps(asdict(wish)).encode(), _environment()) as frames:
        try:
            return await _collected(frames)
        except ChildFailed:
            raise ExportFault(BROKE_OFF) from None


def lines_of(exported: Exported, wish: Wish, store: Store) -> Callable[[], Iterable[str]]:
    """What writes them, for a thread beside this event loop."""
    shown = pictures_from(blobs_of(wish.url, store), asyncio.get_running_loop())
    redact = None if wish.secrets is None else redactor(wish.secrets)
    return lambda: write_session(exported, redact, shown)


async def _written_here(store: Store, wish: Wish) -> Written:
    exported = await store.read(lambda tx: gather(tx, wish.session))
    lines = lines_of(exported, wish, store)
    data = await _WRITING.run(
        str(wish.session), lambda: "".join(lines()).encode("utf-8", "replace")
    )
    fits = wish.most is None or len(data) <= wish.most
    return Written(data if fits else None, len(data), len(exported.entries))


async def _collected(frames: Frames) -> Written:
    pieces = []
    while piece := await frames.next():
        pieces.append(piece)
    told = loads((await frames.next()).decode())
    if "error" in told:
        raise ExportFault(told["error"])
    data = b"".join(pieces) if told["sent"] else None
    return Written(data, told["size"], told["entries"])


def _environment() -> dict[str, str]:
    return {
        name: value
        for name, value in os.environ.items()
        if name in _PASSED_ON or name.startswith(("PG", "SSL_CERT_"))
    }
