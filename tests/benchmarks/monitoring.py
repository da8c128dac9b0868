"""What it costs to be watched: a scrape of a large database, and the counting of a turn."""

import asyncio
import time
from functools import partial
from statistics import median

import aiohttp

from adapters.serving.listening import Listen
from gateway.monitoring.metrics import Metrics
from gateway.monitoring.monitored import KEPT, Monitored
from gateway.monitoring.observer import Observer
from storage.news import Committed
from storage.records.entries import Usage
from storage.records.figures.happened import Happened
from storage.records.inbox_outbox import Arrival, InboxKind, OutboxDraft
from storage.records.ledger import LedgerLine
from storage.records.questions import Choice, QuestionDraft
from storage.sql.store import SqlStore
from storage.store import Store, Transaction
from tests.benchmarks.figures import Figure
from tests.benchmarks.fill import fill
from tests.benchmarks.processes import scratch

ENTRIES = 1_000_000
QUESTIONS = 10_000
WAITING = 1_000
"""Rows of the inbox, and of the outbox."""
ROUNDS = 10
TURNS = 20_000
BAR_SCRAPE_MS = 50.0
BAR_COUNTING_US = 25.0
"""1 % of the 2.5 ms in which a turn is done at 400 a second."""


async def run() -> list[Figure]:
    with scratch() as folder:
        store = await SqlStore.open(f"sqlite:///{folder}/bough.db")
        try:
            return [*await scrapes(store, ENTRIES), counting()]
        finally:
            await store.close()


async def scrapes(store: Store, entries: int) -> list[Figure]:
    """Of a database with so many entries, through the wire; the store is the caller's."""
    session = await fill(store, entries)
    await store.run(partial(_wait, session=session))
    reads: list[float] = []
    busy: list[float] = []
    monitor = Monitored(Listen("127.0.0.1", 0), store, Metrics("0", "all"))
    await monitor.open({}, int)
    try:
        async with aiohttp.ClientSession(f"http://127.0.0.1:{monitor.port}") as http:
            for _ in range(ROUNDS):
                await asyncio.sleep(KEPT + 0.1)
                began, worked = time.perf_counter(), time.process_time()
                async with http.get("/metrics") as response:
                    await response.read()
                busy.append(1e3 * (time.process_time() - worked))
                reads.append(1e3 * (time.perf_counter() - began))
    finally:
        await monitor.close()
    name = f"scrape, {entries:,} entries, {QUESTIONS:,} open questions"
    return [
        Figure(f"{name}, p50", median(reads), "ms", bar=BAR_SCRAPE_MS),
        Figure(f"{name}, CPU with who asks, p50", median(busy), "ms"),
    ]


def counting() -> Figure:
    metrics = Metrics("0", "all")
    _turns(metrics, 100)
    began = time.process_time()
    _turns(metrics, TURNS)
    each = 1e6 * (time.process_time() - began) / TURNS
    return Figure("counting a turn, CPU", each, "µs", bar=BAR_COUNTING_US)


def _turns(observer: Observer, count: int) -> None:
    """What is told of a turn that calls a model twice and a tool once, and sends an answer."""
    line = LedgerLine("parent", "m", Usage(900, 25, 1, 0.001), 1, "telegram:1", "telegram:1")
    billed = Committed(frozenset(), outbox=True, billed=(line,))
    asked = Committed(frozenset(), outbox=False, happened=(Happened("command", "ok"),))
    for _ in range(count):
        observer.turn_began()
        for _ in range(2):
            observer.call_began()
            observer.call_ended("parent", "ok", 0.8)
            observer.committed(billed)
        observer.tool_ran("run_command", "terminal", "done")
        observer.committed(asked)
        observer.turn_ended("message", "answered", 1.7, 0.01)
        observer.delivered("telegram", 0.02)


def _wait(tx: Transaction, session: int) -> None:
    for number in range(QUESTIONS):
        tx.questions.create(_question(session, number))
    for number in range(WAITING):
        address = f"telegram:{number}"
        tx.inbox.receive(Arrival(f"bench:{number}", InboxKind.MESSAGE, address, {"text": "x"}))
        tx.outbox.enqueue(OutboxDraft(address, "post", {"body": {"text": "y" * 500}}))


def _question(session: int, number: int) -> QuestionDraft:
    text = f"**Deploy {number}?** " + "It takes some time, and somebody must look. " * 20
    return QuestionDraft(
        kind=("escalation", "approval", "clarify")[number % 3],
        text=text,
        choices=(Choice("yes", "Deploy"), Choice("no", "Leave it")),
        session=session,
        address=f"telegram:{number}",
        subject={"delegation": number},
        details="Seen: everything is as it should be. " * 10,
    )
