"""Keeps the search index close behind what is written, so that no writer waits for it."""

import asyncio
import logging
from functools import partial

from storage.errors import StoreUnavailable
from storage.faults import Faults
from storage.store import Store, Transaction

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
            await _catch_up(store)
        except StoreUnavailable as error:
            faults.failed("the search index cannot be filled", error)
        except Exception:
            # The gateway does without new hits for a while, but not without its other tasks.
            log.exception("the search index could not be filled; again in %g s", EVERY)
        await asyncio.sleep(EVERY)


async def _catch_up(store: Store) -> None:
    """An entry that cannot be indexed is looked for by halves, and passed over: it must not keep
    those after it from being found."""
    at_once = AT_ONCE
    while True:
        try:
            if not await store.run(partial(_follow, limit=at_once)):
                return
            at_once = AT_ONCE
        except StoreUnavailable:
            raise
        except Exception:
            if at_once == 1:
                log.exception("an entry cannot be indexed: no search will find it")
                await store.run(lambda tx: tx.search.pass_over())
            at_once = max(at_once // 2, 1)


def _follow(tx: Transaction, limit: int) -> int:
    return tx.search.follow(limit)
