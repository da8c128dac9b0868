"""Appends through the store beside a loop that only inserts, both flushed at every commit.

An append checks the leaf, inserts the entry and moves the leaf; the loop is sqlite3 and one insert
for each commit.
"""

import asyncio
import sqlite3
import time
from pathlib import Path
from statistics import median

from storage.records.entries import Draft, Kind, SessionDraft, SessionKind, message
from storage.sql.store import SqlStore
from storage.store import Store
from tests.benchmarks.figures import Figure
from tests.benchmarks.processes import scratch

ROUNDS = 5
SECONDS = 1.0
"""Of each of the three in each round."""
WRITERS = 50
BAR_MANY = 1.3
BAR_ALONE = 0.3
DRAFT = Draft(Kind.MESSAGE, message("user", "When does the ferry leave on Sunday? " * 3), "person")


async def run() -> list[Figure]:
    with scratch() as folder:
        store = await SqlStore.open(f"sqlite:///{folder / 'bough.db'}")
        plain = _open_plain(folder / "plain.db")
        rounds = [
            (await appends(store, 1), await appends(store, WRITERS), _inserts(plain))
            for _ in range(ROUNDS)
        ]
        plain.close()
        await store.close()
    alone, many, peer = (median(rates) for rates in zip(*rounds, strict=True))
    return [
        Figure(name, rate, "1/s", "at least", bar * peer, peer, "raw sqlite3")
        for name, rate, bar in (
            (f"appends, {WRITERS} writers", many, BAR_MANY),
            ("appends, alone", alone, BAR_ALONE),
        )
    ]


async def appends(store: Store, writers: int) -> float:
    """Per second."""
    end = time.perf_counter() + SECONDS
    began = time.perf_counter()
    counts = await asyncio.gather(*(_append_until(store, end) for _ in range(writers)))
    return sum(counts) / (time.perf_counter() - began)


async def _append_until(store: Store, end: float) -> int:
    session = await store.run(lambda tx: tx.tree.create(SessionDraft(SessionKind.CHAT)).id)
    leaf: int | None = None
    count = 0
    while time.perf_counter() < end:
        entry = await store.run(
            lambda tx, after=leaf: tx.tree.append(session, DRAFT, after=after)  # type: ignore[misc]
        )
        leaf = entry.id
        count += 1
    return count


def _open_plain(file: Path) -> sqlite3.Connection:
    plain = sqlite3.connect(file, isolation_level=None)
    plain.execute("PRAGMA journal_mode = WAL")
    plain.execute("PRAGMA synchronous = FULL")
    plain.execute("CREATE TABLE entries (id INTEGER PRIMARY KEY, parent INTEGER, body TEXT)")
    return plain


def _inserts(plain: sqlite3.Connection) -> float:
    """Per second; a statement outside a transaction is committed by itself."""
    text = str(DRAFT.body["content"])
    began = time.perf_counter()
    count = 0
    while (now := time.perf_counter()) < began + SECONDS:
        plain.execute("INSERT INTO entries (parent, body) VALUES (?, ?)", (count, text))
        count += 1
    return count / (now - began)
