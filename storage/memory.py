"""The store in memory: the reference for what every store does, and the fast one for tests.

It keeps nothing across processes. Values go through JSON on their way in and out, as they do in a
database, so nobody can change what is kept by changing what he was given.
"""

import asyncio
import time
from collections.abc import Callable
from typing import TypeVar

from storage.errors import StoreError, StoreUnavailable
from storage.memory_boxes import BoxTables, MemoryInbox, MemoryOutbox
from storage.memory_buttons import MemoryButtons
from storage.memory_delegations import MemoryDelegations
from storage.memory_directory import DirectoryTables, MemoryDirectory
from storage.memory_ledger import Booked, MemoryLedger
from storage.memory_questions import MemoryQuestions, QuestionTables
from storage.memory_rows import Table, Undo, undo
from storage.memory_search import MemorySearch, SearchTables
from storage.memory_tree import MemoryTree, TreeTables
from storage.records.buttons import ButtonRow
from storage.records.delegations import Delegation
from storage.store import Transaction

T = TypeVar("T")


class _Tables:
    def __init__(self, journal: list[Undo]) -> None:
        self.tree = TreeTables(journal)
        self.boxes = BoxTables(journal)
        self.buttons: Table[str, ButtonRow] = Table(journal, "button")
        self.questions = QuestionTables(journal)
        self.delegations: Table[int, Delegation] = Table(journal, "delegation")
        self.directory = DirectoryTables(journal)
        self.ledger: Table[int, Booked] = Table(journal, "ledger line")
        self.search = SearchTables(journal)


class MemoryTransaction:
    def __init__(self, tables: _Tables, now: float) -> None:
        self.now = now
        self.tree = MemoryTree(tables.tree, now)
        self.inbox = MemoryInbox(tables.boxes, tables.tree, tables.directory, now)
        self.outbox = MemoryOutbox(tables.boxes, tables.tree, now)
        self.buttons = MemoryButtons(tables.buttons, tables.boxes)
        self.questions = MemoryQuestions(tables.questions, tables.tree, tables.boxes, now)
        self.delegations = MemoryDelegations(tables.delegations, tables.tree, now)
        self.directory = MemoryDirectory(tables.directory, tables.tree, now)
        self.ledger = MemoryLedger(tables.ledger, tables.tree, now)
        self.search = MemorySearch(tables.search, tables.tree)


class MemoryStore:
    """Work runs on the event loop itself, which also keeps transactions apart."""

    def __init__(self, clock: Callable[[], float] = time.time) -> None:
        self._clock = clock
        self._journal: list[Undo] = []
        self._tables = _Tables(self._journal)
        self._listeners: list[Callable[[], None]] = []
        self._closed = False

    async def run(self, work: Callable[[Transaction], T]) -> T:
        transaction = self._begin()
        try:
            result = work(transaction)
        except BaseException:
            undo(self._journal)
            raise
        self._journal.clear()
        if transaction.outbox.grew:
            for listener in self._listeners:
                asyncio.get_running_loop().call_soon(listener)
        await asyncio.sleep(0)  # others run while one waits for a store
        return result

    async def read(self, work: Callable[[Transaction], T]) -> T:
        try:
            result = work(self._begin())
            if self._journal:
                raise StoreError("work that was only to read has written")
        finally:
            undo(self._journal)
        await asyncio.sleep(0)
        return result

    def watch_outbox(self, listener: Callable[[], None]) -> None:
        self._listeners.append(listener)

    async def guard(self) -> None:
        await asyncio.Event().wait()  # what is in memory is not lost before its process

    async def rescue(self) -> str:
        return ""

    async def close(self) -> None:
        self._closed = True

    def _begin(self) -> MemoryTransaction:
        if self._closed:
            raise StoreUnavailable("the store is closed")
        return MemoryTransaction(self._tables, self._clock())
