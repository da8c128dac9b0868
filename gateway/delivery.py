"""Sends what is in the outbox: in order within a conversation, side by side between them.

A row stays until the platform has it or refuses it for good, so a crash repeats at most the one
message that was under way.
"""

import asyncio
import logging
from collections import deque
from collections.abc import Callable, Coroutine, Mapping
from functools import partial
from typing import Any

from adapters.base import Adapter, Refused, Throttled, Unavailable, Unreachable
from adapters.events import Conversation
from gateway.faults import Faults
from gateway.parcels import outgoing
from storage.boxes import OutboxRow, StoredFile
from storage.errors import StoreError
from storage.store import Store, Transaction

log = logging.getLogger(__name__)

FIRST_PAUSE = 0.5
LONGEST_PAUSE = 30.0
FAULTS_TAKEN = 3
GRACE = 3.0
"""Seconds for a message that is under way when the gateway stops."""


class Delivery:
    def __init__(self, store: Store, adapters: Mapping[str, Adapter]) -> None:
        self._store = store
        self._adapters = adapters
        self._news = asyncio.Event()
        self._looking = True
        self._taken: set[int] = set()
        self._finished: set[int] = set()
        """Rows that were finished since the last look at the outbox began: it may still show them
        as pending."""
        self._queues: dict[str, deque[OutboxRow]] = {}
        self._faults = Faults(log)

    def notify(self) -> None:
        """There may be new rows in the outbox."""
        self._news.set()

    def idle(self) -> bool:
        return not (self._looking or self._news.is_set() or self._queues)

    async def run(self) -> None:
        """Send until cancelled. What is being recorded as sent is still recorded."""
        async with asyncio.TaskGroup() as group:
            while True:
                self._finished.clear()
                for row in await self._store.read(lambda tx: tx.outbox.pending()):
                    self._take(row, group)
                self._looking = False
                await self._news.wait()
                self._looking = True
                self._news.clear()

    def _take(self, row: OutboxRow, group: asyncio.TaskGroup) -> None:
        if row.id in self._taken or row.id in self._finished:
            return
        if Conversation.parse(row.address).platform not in self._adapters:
            return
        self._taken.add(row.id)
        queue = self._queues.get(row.address)
        if queue is not None:
            queue.append(row)
            return
        self._queues[row.address] = deque([row])
        group.create_task(self._drain(row.address), name=f"delivery to {row.address}")

    async def _drain(self, address: str) -> None:
        queue = self._queues[address]
        while queue:
            row = queue.popleft()
            await _to_its_end(self._send(row))
            self._finished.add(row.id)
            self._taken.discard(row.id)
        del self._queues[address]

    async def _send(self, row: OutboxRow) -> None:
        try:
            message_id = await self._deliver(row)
        except PutAside as error:
            await self._record(partial(_put_aside, row=row, why=str(error)))
        else:
            await self._record(partial(_sent, row=row, message_id=message_id))

    async def _deliver(self, row: OutboxRow) -> str | None:
        """Send until the platform has it; its id for it. PutAside when it never will."""
        adapter = self._adapters[Conversation.parse(row.address).platform]
        edited, file = await self._edited(row), await self._file(row)
        pause, plain, faults = FIRST_PAUSE, False, 0
        while True:
            message = outgoing(row, edited, file=file, plain=plain)
            if message is None:
                raise PutAside("the message it changes was never sent")
            try:
                return await adapter.deliver(message)
            except Throttled as error:
                log.info("%s: %s", row.address, error)
                await asyncio.sleep(error.retry_after)
            except Unavailable as error:
                log.warning("%s: %s; again in %g s", row.address, error, pause)
                await asyncio.sleep(pause)
                pause = min(pause * 2, LONGEST_PAUSE)
            except Refused as error:
                if plain:
                    raise PutAside(str(error)) from error
                log.warning("%s: refused (%s); again without markup", row.address, error)
                plain = True
            except Unreachable as error:
                raise PutAside(str(error)) from error
            except Exception as error:
                # A fault of ours or of a library: one message must not stop all the others.
                log.exception("%s: sending failed", row.address)
                faults += 1
                if faults == FAULTS_TAKEN:
                    raise PutAside(repr(error)) from error
                await asyncio.sleep(pause)

    async def _edited(self, row: OutboxRow) -> OutboxRow | None:
        """The row that an edit changes. It went out before: conversations are sent in order."""
        edits = row.edits
        if edits is None:
            return None
        return await self._store.read(lambda tx: tx.outbox.get(edits))

    async def _file(self, row: OutboxRow) -> StoredFile | None:
        file: int | None = row.payload.get("file")
        if file is None:
            return None
        return await self._store.read(lambda tx: tx.outbox.kept(file))

    async def _record(self, work: Callable[[Transaction], None]) -> None:
        """Note what became of a row, however long the store takes: a row that was sent and is not
        on record would be sent again."""
        while True:
            try:
                return await self._store.run(work)
            except StoreError as error:
                self._faults.failed("what was sent cannot be recorded", error)
                await asyncio.sleep(LONGEST_PAUSE)


async def _to_its_end(sending: Coroutine[Any, Any, None]) -> None:
    """Await; when cancelled, leave it some time: a message that is under way when the process is
    told to stop should be on record as sent."""
    task = asyncio.ensure_future(sending)
    try:
        await asyncio.shield(task)
    except asyncio.CancelledError:
        await asyncio.wait([task], timeout=GRACE)
        task.cancel()
        raise


class PutAside(Exception):
    """A message will never be taken. The text says why."""


def _sent(tx: Transaction, row: OutboxRow, message_id: str | None) -> None:
    tx.outbox.sent(row.id, message_id)
    if row.payload.get("file") is not None:
        tx.outbox.drop(row.payload["file"])


def _put_aside(tx: Transaction, row: OutboxRow, why: str) -> None:
    log.error("a message for %s is put aside: %s", row.address, why)
    tx.outbox.failed(row.id, why)
    tx.directory.audit("undelivered", "", {"outbox": row.id, "why": why})
