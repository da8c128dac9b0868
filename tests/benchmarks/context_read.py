"""Reading what a model is to see, from a long session, beside sqlite3 that reads as many rows in a
row and decodes their JSON."""

import gc
import json
import sqlite3
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

from storage.records.entries import Entry
from storage.sql.schema import entries
from storage.sql.store import SqlStore
from storage.store import Store, Transaction
from tests.benchmarks.figures import Figure
from tests.benchmarks.fill import fill
from tests.benchmarks.processes import scratch

LONG = 100_000
KEPT = 200
FULL = 10_000
BAR_COMPACTED_MS = 2.0
BAR_FULL = 0.8
"""Times what sqlite3 and json take."""
COLUMNS = [column.name for column in entries.columns]
BODY = COLUMNS.index("body")


async def run() -> list[Figure]:
    with scratch() as folder:
        store = await SqlStore.open(f"sqlite:///{folder / 'bough.db'}")
        compacted = await fill(store, LONG, compaction_at=LONG - KEPT)
        full = await fill(store, FULL)
        gc.freeze()  # as the gateway does with what it has loaded
        database = folder / "bough.db"
        few, few_rows = await compare(store, database, compacted, KEPT + 2, times=200)
        many, many_rows = await compare(store, database, full, FULL, times=30)
        await store.close()
        gc.unfreeze()
    name = f"context of {LONG:,} entries, {KEPT} since compaction"
    beside = "sqlite3 and json"
    return [
        Figure(name, few, "ms", bar=BAR_COMPACTED_MS, peer=few_rows, peer_name=beside),
        Figure(
            f"context of {FULL:,} entries",
            many,
            "ms",
            bar=BAR_FULL * many_rows,
            peer=many_rows,
            peer_name=beside,
        ),
    ]


async def compare(
    store: Store, database: Path, session: int, length: int, *, times: int
) -> tuple[float, float]:
    """Milliseconds in the median, of the store and of sqlite3 with json, in turns."""
    work, plain = _context(session), sqlite3.connect(database)
    taken: tuple[list[float], list[float]] = ([], [])
    for _ in range(times):
        began = time.perf_counter()
        path = await store.read(work)
        between = time.perf_counter()
        bodies = _read_rows(plain, length)
        taken[0].append(1e3 * (between - began))
        taken[1].append(1e3 * (time.perf_counter() - between))
        assert len(path) == len(bodies) == length
    plain.close()
    return median(taken[0]), median(taken[1])


async def read(store: Store, session: int, length: int, *, times: int) -> float:
    """Milliseconds in the median."""
    work = _context(session)
    assert len(await store.read(work)) == length
    taken = []
    for _ in range(times):
        began = time.perf_counter()
        await store.read(work)
        taken.append(1e3 * (time.perf_counter() - began))
    return median(taken)


def _context(session: int) -> Callable[[Transaction], tuple[Entry, ...]]:
    return lambda tx: tx.tree.context_path(tx.tree.session(session).leaf)


def _read_rows(plain: sqlite3.Connection, length: int) -> list[Any]:
    newest = f"SELECT {', '.join(COLUMNS)} FROM entries ORDER BY id DESC LIMIT ?"
    rows = plain.execute(newest, (length,)).fetchall()
    return [json.loads(row[BODY]) for row in rows]
