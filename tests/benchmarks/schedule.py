"""How punctual a scheduled turn is, alone and with a thousand others, and what waiting costs.

In this process, with a scripted model and a recording adapter: what is measured is the gateway's
own part, from the time that was noted to the answer at the platform.
"""

import asyncio
import time
from collections.abc import Callable
from statistics import median, quantiles

from adapters.recording import RecordingAdapter
from agent.models.scripted import Rule, ScriptedModel
from gateway.app import bootstrap
from gateway.configuration.config import Config
from gateway.running.service import App
from storage.records.entries import SessionDraft, SessionKind
from storage.records.tools.schedules import ScheduleDraft
from storage.sql.store import SqlStore
from storage.store import Store, Transaction
from tests.benchmarks.figures import Figure
from tests.benchmarks.processes import scratch

SINGLE = 30
"""Schedules that come one after the other."""
APART = 0.2
"""Seconds between two of them."""
MANY = 1_000
CHATS = 200
BAR = 1.0
"""Seconds: issue 11 asks for a turn that fires within one."""
IDLE = 5.0
HEARD = "Time for it."


async def run() -> list[Figure]:
    with scratch() as folder:
        store = await SqlStore.open(f"sqlite:///{folder / 'bough.db'}")
        chat = RecordingAdapter(name="telegram")
        config = Config.model_validate({"access": {"allow": ["telegram:*"]}})
        rules = [Rule.model_validate({"reply": {"text": HEARD}})]
        app = await bootstrap(config, adapters=[chat], store=store, model=ScriptedModel(rules))
        ready = asyncio.Event()
        task = asyncio.create_task(app.run(ready=ready))
        await ready.wait()
        try:
            nothing = await _idle()
            alone = await _one_by_one(store, chat)
            many = await _at_once(app, store, chat)
            await _plant_later(store)
            idle = await _idle()
        finally:
            task.cancel()
            await asyncio.wait([task])
    return [
        Figure("scheduled turn: due to answered, p50", 1e3 * median(alone), "ms", bar=1e3 * BAR),
        Figure("scheduled turn: p99", 1e3 * quantiles(alone, n=100)[-1], "ms", bar=1e3 * BAR),
        Figure(f"{MANY} due at once: the last has begun", many[0], "s", bar=BAR),
        Figure(f"{MANY} due at once: the last is answered", many[1], "s"),
        Figure(
            f"CPU of waiting for {MANY}",
            1e3 * idle,
            "ms/s",
            peer=1e3 * nothing,
            peer_name="for nothing",
        ),
    ]


async def _one_by_one(store: Store, chat: RecordingAdapter) -> list[float]:
    """Seconds from each time to its answer at the platform."""
    start = time.time() + 1.0
    for number in range(SINGLE):
        await store.run(_scheduled(start + number * APART, "1"))
    late = []
    for number in range(SINGLE):
        await chat.wait_for(lambda shown, n=number: len(shown) > n)  # type: ignore[misc]
        late.append(time.time() - (start + number * APART))
    return late


async def _at_once(app: App, store: Store, chat: RecordingAdapter) -> tuple[float, float]:
    """Seconds until all are in the inbox, and until all are answered."""
    due = time.time() + 3.0
    for number in range(MANY):
        await store.run(_scheduled(due, str(10 + number % CHATS)))
    before = len(chat.shown)
    while await store.read(lambda tx: tx.schedules.active()):
        await asyncio.sleep(0.005)
    begun = time.time() - due
    await chat.wait_for(lambda shown: len(shown) >= before + MANY)
    return begun, time.time() - due


async def _plant_later(store: Store) -> None:
    later = time.time() + 3600
    for number in range(MANY):
        await store.run(_scheduled(later, str(10 + number % CHATS)))


async def _idle() -> float:
    """CPU seconds of this process for each second in which nothing is due."""
    await asyncio.sleep(1.0)
    spent, started = time.process_time(), time.monotonic()
    await asyncio.sleep(IDLE)
    return (time.process_time() - spent) / (time.monotonic() - started)


def _scheduled(due: float, chat: str) -> Callable[[Transaction], None]:
    address = f"telegram:{chat}"

    def work(tx: Transaction) -> None:
        session = tx.directory.conversation(address)
        if session is None:
            session = tx.tree.create(SessionDraft(SessionKind.CHAT)).id
            tx.directory.bind(address, session)
        draft = ScheduleDraft(session, address, address, "tea", f"once {due!r}", "UTC", due)
        tx.schedules.create(draft)

    return work
