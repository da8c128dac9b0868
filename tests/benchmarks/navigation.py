"""Going about in long conversations: one transaction of each command, and a page of /tree."""

import gc
import time
from collections.abc import Callable
from functools import partial
from itertools import count
from statistics import median

from gateway.commands.tree.tree import drawn_tree
from gateway.views.entries import PERSONS, last_of, where
from gateway.views.tree_text import Filter
from storage.records.entries import Draft, Kind, SessionDraft, SessionKind, message
from storage.sql.store import SqlStore
from storage.store import Store, Transaction
from storage.tree.branches import SAID
from tests.benchmarks.figures import Figure
from tests.benchmarks.fill import fill
from tests.benchmarks.processes import scratch

MESSAGES = 10_000
ENTRIES = 100_000
BRANCHES = 200
BRANCH_LENGTH = 10
TIMES = 100
WHO = "telegram:1001"
BAR_MOVE_MS = 5.0
BAR_TREE_MS = 50.0


async def run() -> list[Figure]:
    with scratch() as folder:
        store = await SqlStore.open(f"sqlite:///{folder / 'bough.db'}")
        talk = await fill(store, MESSAGES)
        wide = await _branched(store)
        gc.freeze()  # as the gateway does with what it has loaded
        moves = (
            ("undo", partial(_undo, session=talk)),
            ("branch switch", partial(_switch, session=talk, turn=count())),
            ("fork", partial(_fork, session=talk)),
        )
        figures = []
        for name, work in moves:
            taken = await _moved(store, work)
            figures.append(Figure(f"{name}, {MESSAGES:,} messages", taken, "ms", bar=BAR_MOVE_MS))
        name = f"tree page, {ENTRIES:,} entries, {BRANCHES} branches"
        figures.append(Figure(name, await _page(store, wide), "ms", bar=BAR_TREE_MS))
        await store.close()
        gc.unfreeze()
    return figures


async def _branched(store: Store) -> int:
    session = await fill(store, ENTRIES - BRANCHES * BRANCH_LENGTH)
    for branch in range(BRANCHES):
        await store.run(partial(_grow, session=session, branch=branch))
    return session


def _grow(tx: Transaction, session: int, branch: int) -> None:
    """A branch from somewhere on the long path."""
    leaf = tx.tree.session(session).leaf
    start = tx.tree.numbered(session, 2 + 2 * (branch * 7_919 % 49_000))
    assert start is not None
    tx.tree.move_leaf(session, start.id, after=leaf, by=WHO, why="branch")
    leaf = start.id
    for number in range(BRANCH_LENGTH):
        role = "assistant" if number % 2 else "user"
        draft = Draft(Kind.MESSAGE, message(role, f"On branch {branch}, message {number}"), WHO)
        leaf = tx.tree.append(session, draft, after=leaf).id


def _switch(tx: Transaction, session: int, turn: "count[int]") -> None:
    entry = tx.tree.numbered(session, 100 if next(turn) % 2 else MESSAGES)
    assert entry is not None
    _move(tx, session, entry.id)


def _undo(tx: Transaction, session: int) -> None:
    newest = last_of(tx, tx.tree.session(session).leaf, PERSONS, 1)
    _move(tx, session, newest[0].parent)


def _move(tx: Transaction, session: int, to: int | None) -> None:
    """With what people are told about it."""
    left = tx.tree.session(session).leaf
    tx.tree.move_leaf(session, to, after=left, by=WHO, why="goto")
    where(tx, to)
    last_of(tx, left, SAID, 1)


def _fork(tx: Transaction, session: int) -> None:
    start = tx.tree.numbered(session, MESSAGES // 2)
    assert start is not None
    draft = SessionDraft(SessionKind.CHAT, "", session, start.id)
    fork = tx.tree.create(draft)
    tx.tree.move_leaf(fork.id, start.id, after=None, by=WHO, why="fork")


async def _moved(store: Store, work: Callable[[Transaction], None]) -> float:
    """Milliseconds in the median, committed."""
    taken = []
    for _ in range(TIMES):
        began = time.perf_counter()
        await store.run(work)
        taken.append(1e3 * (time.perf_counter() - began))
    return median(taken)


async def _page(store: Store, session: int) -> float:
    """Milliseconds in the median, over all pages in turn."""
    taken = []
    for page in range(1, TIMES // 2):
        draw = partial(
            drawn_tree,
            session=session,
            shown=Filter.DEFAULT,
            page=page,
            pictured=False,
        )
        began = time.perf_counter()
        drawn = await store.read(draw)
        taken.append(1e3 * (time.perf_counter() - began))
        assert "```" in drawn.text
    return median(taken)
