"""Keeps the search index close behind what is written, so that no writer waits for it."""

import asyncio
import logging

from storage.errors import StoreError
from storage.store import Store

log = logging.getLogger(__name__)

AT_ONCE = 200
"""Entries in a transaction. Others can write in between: it takes about 20 ms (measured)."""
EVERY = 1.0
"""Seconds between looks for something new."""


async def follow(store: Store) -> None:
    """Index what is new, until cancelled."""
    while True:
        try:
            while await store.run(lambda tx: tx.search.follow(AT_ONCE)):
                pass
        except StoreError:
            log.exception("the search index could not be filled; again in %g s", EVERY)
        await asyncio.sleep(EVERY)
