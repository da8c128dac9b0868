"""Whether a turn costs more in a long session: 1,000 messages behind it, beside none."""

from itertools import count
from pathlib import Path
from statistics import median

from storage.sql.store import SqlStore
from storage.store import Transaction
from tests.benchmarks.figures import Figure
from tests.benchmarks.fill import fill
from tests.benchmarks.processes import scratch
from tests.benchmarks.wire import Telegram, alternate, bough, config

BEHIND = 1_000
WARM_UP = 10
ROUNDS = 60
LONG = 1001
FIRST_SHORT = 2001
BAR_TIMES_NEW = 1.1
TURNS_IN_A_SHORT = 5
"""Then the next one begins, so that none grows."""


async def run() -> list[Figure]:
    with scratch() as folder:
        async with Telegram() as telegram:
            file = config(folder, telegram)
            await _fill(folder / "bough.db")
            turns = count()

            async def short() -> float:
                chat = FIRST_SHORT + next(turns) // TURNS_IN_A_SHORT
                return await telegram.turn(chat, "How are you?")

            async with bough(telegram, file):
                long, empty = await alternate(
                    [lambda: telegram.turn(LONG, "How are you?"), short],
                    warm_up=WARM_UP,
                    rounds=ROUNDS,
                )
    value, peer = 1e3 * median(long), 1e3 * median(empty)
    name = f"turn p50, {BEHIND:,} messages behind"
    bar = BAR_TIMES_NEW * peer
    return [Figure(name, value, "ms", bar=bar, peer=peer, peer_name="new session")]


async def _fill(database: Path) -> None:
    store = await SqlStore.open(f"sqlite:///{database}")
    session = await fill(store, BEHIND)

    def bind(tx: Transaction) -> None:
        tx.directory.bind(f"telegram:{LONG}", session)

    await store.run(bind)
    await store.close()
