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
AT_ONCE_ON_A_SERVER = 50
"""The same in PostgreSQL, where an entry takes five times as long (measured)."""
EVERY = 0.6
"""Seconds from something new to the look for it, in which more may come."""
LOOK_EVERY = 10.0
"""Seconds between looks for what another process wrote and did not index itself."""


def at_once(store: Store) -> int:
    """Entries to index in a transaction, so that others need not wait for long."""
    return AT_ONCE if store.jobs is None else AT_ONCE_ON_A_SERVER


async def follow(store: Store) -> None:
    """Index what is new, until cancelled."""
    faults = Faults(log)
    while True:
        try:
            await _catch_up(store)
            await store.grown(LOOK_EVERY)
        except StoreUnavailable as error:
            faults.failed("the search index cannot be filled", error)
        except Exception:
            # The gateway does without new hits for a while, but not without its other tasks.
            log.exception("the search index could not be filled; again in %g s", EVERY)
        await asyncio.sleep(EVERY)


async def _catch_up(store: Store) -> None:
    """An entry that cannot be indexed is looked for by halves, and passed over: it must not keep
    those after it from being found."""
    limit = at_once(store)
    while True:
        try:
            if not await store.run(partial(_follow, limit=limit)):
                return
            limit = at_once(store)
        except StoreUnavailable:
            raise
        except Exception:
            if limit == 1:
                log.exception("an entry cannot be indexed: no search will find it")
                await store.run(lambda tx: tx.search.pass_over())
            limit = max(limit // 2, 1)


def _follow(tx: Transaction, limit: int) -> int:
    return tx.search.follow(limit)
