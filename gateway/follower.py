"""Keeps the search index close behind what is written, so that no writer waits for it."""

import asyncio
import logging

from gateway.faults import Faults
from storage.errors import StoreError
from storage.store import Store

log = logging.getLogger(__name__)

AT_ONCE = 200
"""Entries in a transaction. Others can write in between: it takes about 20 ms (measured)."""
EVERY = 1.0
"""Seconds between looks for something new."""


async def follow(store: Store) -> None:
    """Index what is new, until cancelled."""
    faults = Faults(log)
    while True:
        try:
            while await store.run(lambda tx: tx.search.follow(AT_ONCE)):
                pass
        except StoreError as error:
            faults.failed("the search index cannot be filled", error)
        await asyncio.sleep(EVERY)
