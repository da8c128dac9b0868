"""The store on PostgreSQL, with everything flushed as SQLite's is: appends, contexts, imports, and
search over a million entries. The figures of SQLite stand in the benchmarks of these names."""

import gc
import sys
import time
from collections.abc import Iterator
from itertools import islice

import psycopg

from storage.records.entries import Draft, ImportedEntry, Kind, SessionDraft, SessionKind, message
from storage.sql.store import SqlStore
from storage.store import Store
from tests.benchmarks import append, context_read, search
from tests.benchmarks.figures import Figure
from tests.benchmarks.fill import fill
from tests.support.postgres import MISSING, PostgresServer, programs

SAFE = {
    "fsync": "on",
    "full_page_writes": "on",
    "synchronous_commit": "on",
    "autovacuum": "on",
    "shared_buffers": "512MB",
}
PLANTED = 20_000
_COLUMNS = "id, session, parent, number, depth, strand, sort, body, author, tokens, time, kind"


async def run() -> list[Figure]:
    if programs() is None:
        print(f"left out: {MISSING}", file=sys.stderr)
        return []
    with PostgresServer(SAFE) as server:
        store = await SqlStore.open(server.create())
        figures = [*await _appends(store), *await _contexts(store), await _plant(store)]
        await store.close()
        url = server.create()
        texts = search.Texts()
        _fill(url, texts)
        store = await SqlStore.open(url)
        rate = await search.index(store)
        figures += await search.searches(store, texts.words)
        fresh = await search.fresh(store)
        await store.close()
    return [
        Figure(f"PostgreSQL: {figure.name}", figure.value, figure.unit, figure.goal, figure.bar)
        for figure in (
            *figures,
            Figure("search index filled", rate, "entries/s"),
            Figure("fresh entry found after", fresh, "s", bar=search.BAR_FRESH_SECONDS),
        )
    ]


async def _appends(store: Store) -> list[Figure]:
    return [
        Figure("appends, alone", await append.appends(store, 1), "1/s", "at least"),
        Figure(
            f"appends, {append.WRITERS} writers",
            await append.appends(store, append.WRITERS),
            "1/s",
            "at least",
        ),
    ]


async def _contexts(store: Store) -> list[Figure]:
    kept = context_read.KEPT
    compacted = await fill(store, context_read.LONG, compaction_at=context_read.LONG - kept)
    full = await fill(store, context_read.FULL)
    gc.freeze()
    few = await context_read.read(store, compacted, kept + 2, times=200)
    many = await context_read.read(store, full, context_read.FULL, times=30)
    gc.unfreeze()
    return [
        Figure(f"context of {context_read.LONG:,} entries, {kept} since compaction", few, "ms"),
        Figure(f"context of {context_read.FULL:,} entries", many, "ms"),
    ]


async def _plant(store: Store) -> Figure:
    session = await store.run(lambda tx: tx.tree.create(SessionDraft(SessionKind.CHAT)).id)
    draft = Draft(Kind.MESSAGE, message("user", "When does the ferry leave on Sunday? " * 3))
    planted = [ImportedEntry(draft, place - 1 if place else None) for place in range(PLANTED)]
    began = time.perf_counter()
    await store.run(lambda tx: tx.tree.plant(session, planted, PLANTED - 1))
    return Figure("planting", PLANTED / (time.perf_counter() - began), "entries/s", "at least")


def _fill(url: str, texts: search.Texts) -> None:
    """The same sessions that the benchmark of search makes."""

    def rows() -> Iterator[tuple[object, ...]]:
        for id_, text in enumerate(islice(texts, search.ENTRIES), start=1):
            yield (*search.row(id_, text), "message")

    with psycopg.connect(url) as connection:
        connection.execute("SET session_replication_role = replica")
        with connection.cursor().copy(f"COPY entries ({_COLUMNS}) FROM STDIN") as copy:
            for row in rows():
                copy.write_row(row)
        connection.execute("SET session_replication_role = DEFAULT")
        connection.execute(
            "INSERT INTO sessions (id, kind, leaf, epoch, last_number, title, created) "
            "SELECT session, 'chat', max(id), 1, max(number), '', min(time) FROM entries GROUP BY 1"
        )
        connection.execute("INSERT INTO search_queue SELECT id FROM entries")
        for table in ("entries", "sessions"):
            connection.execute(
                f"SELECT setval('{table}_id_seq', (SELECT max(id) FROM {table}))".encode()
            )
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("VACUUM ANALYZE")
