"""Notes: how long the memory tool and the beginning of a session take where 10,000 notes are kept,
in the median; a person's share is as much as one may have."""

import random
import time
from collections.abc import Callable
from statistics import median
from typing import TypeVar

from agent.tools.base import Call, Done
from agent.tools.memory.keeping import NOTES_LIMIT, TEXT_LIMIT
from agent.tools.memory.opening import opening
from agent.tools.memory.tool import MemoryTool
from storage.records.entries import Json, SessionDraft, SessionKind
from storage.records.tools.notes import NoteDraft, NoteScope
from storage.sql.store import SqlStore
from storage.store import Transaction
from tests.benchmarks.figures import Figure
from tests.benchmarks.processes import scratch

NOTES = 10_000
TIMES = 50
BAR_MS = 10.0
_PERSON = "telegram:7"

T = TypeVar("T")


async def run() -> list[Figure]:
    with scratch() as folder:
        store = await SqlStore.open(f"sqlite:///{folder}/bough.db")
        try:
            words = await store.run(_fill)
            session = await store.run(_session)
            tool = MemoryTool(store, lambda tx, note: None)

            async def call(**arguments: object) -> Done:
                given: Json = dict(arguments)
                return await tool.run(Call("1", given, session, 1, _PERSON, _PERSON))

            figures = []
            for name, arguments in (
                ("search, a word", {"action": "search", "text": words[0]}),
                ("search, three words", {"action": "search", "text": " ".join(words[:3])}),
                ("search, no word of any", {"action": "search", "text": "zzzzzz"}),
                ("list", {"action": "list"}),
                ("a note meant by its words", {"action": "remove", "old_text": " ".join(words)}),
            ):
                taken = []
                for _ in range(TIMES):
                    began = time.perf_counter()
                    await call(**arguments)
                    taken.append(1e3 * (time.perf_counter() - began))
                figures.append(_figure(name, median(taken)))
            begins = await _reads(store, lambda tx: opening(tx, session, _PERSON, _PERSON))
            return [*figures, _figure("what a session begins with", begins)]
        finally:
            await store.close()


def _figure(name: str, milliseconds: float) -> Figure:
    return Figure(f"memory of {NOTES:,} notes, {name}", milliseconds, "ms", bar=BAR_MS)


def _fill(tx: Transaction) -> list[str]:
    """As many full shares as there are notes for, of one person each; words of person 7's."""
    dice = random.Random(7)
    words = ["".join(dice.choices("abcdefghijklmnop", k=7)) for _ in range(2_000)]
    length = TEXT_LIMIT // NOTES_LIMIT
    said: list[str] = []
    for person in range(NOTES // NOTES_LIMIT):
        for _ in range(NOTES_LIMIT):
            text = " ".join(dice.choices(words, k=1 + length // 8))[:length]
            owner = f"telegram:{person}"
            tx.notes.add(NoteDraft(NoteScope.PERSON, owner, text, owner, owner))
            if owner == _PERSON and not said:
                said = text.split()
    return said


def _session(tx: Transaction) -> int:
    session = tx.tree.create(SessionDraft(SessionKind.CHAT)).id
    tx.directory.bind(_PERSON, session)
    tx.directory.set_private(_PERSON, _PERSON)
    return session


async def _reads(store: SqlStore, work: Callable[[Transaction], T]) -> float:
    """Milliseconds in the median."""
    taken = []
    for _ in range(TIMES):
        began = time.perf_counter()
        await store.read(work)
        taken.append(1e3 * (time.perf_counter() - began))
    return median(taken)
