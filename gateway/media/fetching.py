"""A file of a message, from its platform."""

import asyncio
import logging

from adapters.backoff import backoff
from adapters.base import Adapter, AdapterError, Throttled, Unavailable
from adapters.events import File
from adapters.platforms import MEGABYTE
from gateway.outbound.connections import Connections

log = logging.getLogger(__name__)

LARGEST = 20 * MEGABYTE
"""Bytes of a file; Telegram gives bots no larger ones."""
LONGEST_SECONDS = 30 * 60.0
"""Of what is listened to."""
TRIES = 4
PATIENCE = 600.0
"""Seconds for which a platform that is away is waited for: nothing can be answered there anyway."""
LONGEST_TRY = 180.0
"""Seconds; a platform that gives a byte now and then would be waited for all day."""
_FIRST_PAUSE, _LONGEST_PAUSE = 0.5, 10.0


class NotFetched(Exception):
    """The text says why, and is for people."""


def check_bounds(file: File) -> None:
    """NotFetched where a file is too much by what its platform says of it."""
    if file.size > LARGEST:
        raise NotFetched(
            f"it has {file.size / MEGABYTE:,.0f} MB, and {LARGEST // MEGABYTE} MB is the most"
        )
    if file.kind in ("voice", "audio", "video_note") and file.seconds > LONGEST_SECONDS:
        raise NotFetched(
            f"it is {file.seconds / 60:,.0f} minutes long, and "
            f"{LONGEST_SECONDS / 60:.0f} minutes is the most"
        )


async def fetch(adapter: Adapter, file: File) -> bytes:
    """Its content, tried a few times. NotFetched where it cannot be had."""
    pauses = backoff(_FIRST_PAUSE, _LONGEST_PAUSE)
    for attempt in range(1, TRIES + 1):
        try:
            async with asyncio.timeout(LONGEST_TRY):
                return await adapter.fetch(file.ref, LARGEST)
        except TimeoutError:
            raise NotFetched("it could not be fetched: it came too slowly; send it again") from None
        except (Throttled, Unavailable) as error:
            log.info("a file is not there yet (%s of %s tries): %s", attempt, TRIES, error)
            pause = next(pauses)
            if isinstance(error, Throttled):
                pause = min(max(pause, error.retry_after), 60.0)
            if attempt < TRIES:
                await asyncio.sleep(pause)
        except AdapterError as error:
            raise NotFetched(f"it could not be fetched: {error}") from None
    raise NotFetched("it could not be fetched: the platform did not give it; send it again")


async def connected(connections: Connections, platform: str) -> Adapter:
    """NotFetched where the platform stays away."""
    try:
        async with asyncio.timeout(PATIENCE):
            return await connections.reached(platform)
    except TimeoutError:
        raise NotFetched(f"it could not be fetched: {platform} is away; send it again") from None
