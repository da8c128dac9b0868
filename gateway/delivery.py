"""Sends what is in the outbox: in order within a conversation, side by side between them.

A row stays until the platform has it or refuses it for good, so a crash repeats at most the one
message that was under way.
"""

import asyncio
import logging
from collections import deque
from collections.abc import Mapping

from adapters.base import Adapter, Refused, Throttled, Unavailable, Unreachable
from adapters.events import Conversation
from gateway.parcels import outgoing
from storage.boxes import OutboxRow
from storage.store import Store, Transaction

log = logging.getLogger(__name__)

FIRST_PAUSE = 0.5
LONGEST_PAUSE = 30.0


class Delivery:
    def __init__(self, store: Store, adapters: Mapping[str, Adapter]) -> None:
        self._store = store
        self._adapters = adapters
        self._news = asyncio.Event()
        self._looking = True
        self._taken: set[int] = set()
        self._queues: dict[str, deque[OutboxRow]] = {}

    def notify(self) -> None:
        """There may be new rows in the outbox."""
        self._news.set()

    def idle(self) -> bool:
        return not (self._looking or self._news.is_set() or self._queues)

    async def run(self) -> None:
        """Send until cancelled. What is being recorded as sent is still recorded."""
        async with asyncio.TaskGroup() as group:
            while True:
                for row in await self._store.read(lambda tx: tx.outbox.pending()):
                    self._take(row, group)
                self._looking = False
                await self._news.wait()
                self._looking = True
                self._news.clear()

    def _take(self, row: OutboxRow, group: asyncio.TaskGroup) -> None:
        if row.id in self._taken or Conversation.parse(row.address).platform not in self._adapters:
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
            await self._send(row)
            self._taken.discard(row.id)
        del self._queues[address]

    async def _send(self, row: OutboxRow) -> None:
        adapter = self._adapters[Conversation.parse(row.address).platform]
        edited = await self._edited(row)
        pause, plain = FIRST_PAUSE, False
        while True:
            message = outgoing(row, edited, plain=plain)
            if message is None:
                return await self._give_up(row, "the message it changes was never sent")
            try:
                await self._record(row, await adapter.deliver(message))
            except Throttled as error:
                log.info("%s: %s", row.address, error)
                await asyncio.sleep(error.retry_after)
            except Unavailable as error:
                log.warning("%s: %s; again in %g s", row.address, error, pause)
                await asyncio.sleep(pause)
                pause = min(pause * 2, LONGEST_PAUSE)
            except Refused as error:
                if plain:
                    return await self._give_up(row, str(error))
                log.warning("%s: refused (%s); again without markup", row.address, error)
                plain = True
            except Unreachable as error:
                return await self._give_up(row, str(error))
            else:
                return None

    async def _record(self, row: OutboxRow, message_id: str | None) -> None:
        await self._store.run(lambda tx: tx.outbox.sent(row.id, message_id))

    async def _edited(self, row: OutboxRow) -> OutboxRow | None:
        """The row that an edit changes. It went out before: conversations are sent in order."""
        edits = row.edits
        if edits is None:
            return None
        return await self._store.read(lambda tx: tx.outbox.get(edits))

    async def _give_up(self, row: OutboxRow, why: str) -> None:
        log.error("a message for %s is put aside: %s", row.address, why)

        def work(tx: Transaction) -> None:
            tx.outbox.failed(row.id, why)
            tx.directory.audit("undelivered", "", {"outbox": row.id, "why": why})

        await self._store.run(work)
