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

from adapters.base import Adapter, Edit, Misconfigured, Refused, Throttled, Unavailable, Unreachable
from adapters.cleaning import clean
from adapters.events import Conversation
from agent.backoff import backoff
from gateway.chats.known_threads import KnownThreads
from gateway.outbound.composer import outgoing
from gateway.outbound.pace import Pace
from storage.errors import StoreUnavailable
from storage.faults import Faults
from storage.records.inbox_outbox import OutboxRow, StoredFile
from storage.store import Store, Transaction

log = logging.getLogger(__name__)

FIRST_PAUSE = 0.5
LONGEST_PAUSE = 30.0
FAULTS_TAKEN = 3
AT_ONCE = 20
"""Rows of a conversation that are read before the first of them is sent."""
GRACE = 3.0
"""Seconds for a message that is under way when the gateway stops."""
UNREACHED = "what it said did not reach this chat"
"""Why what repeats is paused."""


class Delivery:
    def __init__(
        self,
        store: Store,
        adapters: Mapping[str, Adapter],
        pace: Pace | None = None,
        threads: KnownThreads | None = None,
    ) -> None:
        """`threads`: those that are known, kept up to date here where one cannot be opened."""
        self._store = store
        self._threads = threads if threads is not None else KnownThreads()
        self._adapters = adapters
        self._pace = pace if pace is not None else Pace()
        self._news = asyncio.Event()
        self._looking = True
        self._taken: set[int] = set()
        self._finished: set[int] = set()
        """Rows that were finished since the last look at the outbox began: it may still show them
        as pending."""
        self._unrecorded: set[int] = set()
        """Rows whose end the store does not take."""
        self._queues: dict[str, deque[OutboxRow]] = {}
        """By conversation, or by the name of a queue that a row asks for."""
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
                for row in await self._pending():
                    self._take(row, group)
                self._looking = False
                await self._news.wait()
                self._looking = True
                self._news.clear()

    async def _pending(self) -> list[OutboxRow]:
        """What is to be sent, as soon as the store says it."""
        pauses = backoff(FIRST_PAUSE, LONGEST_PAUSE)
        while True:
            try:
                return await self._store.read(lambda tx: tx.outbox.pending(AT_ONCE))
            except StoreUnavailable as error:
                self._faults.failed("the outbox cannot be read", error)
                await asyncio.sleep(next(pauses))
            except Exception:
                # Whatever it is, what was begun is sent on, and no other task ends with this one.
                pause = next(pauses)
                log.exception("the outbox cannot be read; again in %g s", pause)
                await asyncio.sleep(pause)

    def _take(self, row: OutboxRow, group: asyncio.TaskGroup) -> None:
        if row.id in self._taken or row.id in self._finished or row.id in self._unrecorded:
            return
        if self._adapter(row.address) is None:
            return
        self._taken.add(row.id)
        name = row.payload.get("queue") or row.address
        queue = self._queues.get(name)
        if queue is not None:
            queue.append(row)
            return
        self._queues[name] = deque([row])
        group.create_task(self._drain(name), name=f"delivery to {name}")

    async def _drain(self, name: str) -> None:
        queue, count = self._queues[name], 0
        while queue:
            row = queue[0]
            if not await _to_its_end(self._send(row)):
                break
            queue.popleft()
            self._finished.add(row.id)
            self._taken.discard(row.id)
            count += 1
        # What is left waits in the outbox for its platform, which may be back by now.
        self._taken -= {row.id for row in queue}
        del self._queues[name]
        more = count >= AT_ONCE  # behind what was read
        if more or (queue and self._adapter(queue[0].address) is not None):
            self.notify()

    def _adapter(self, address: str) -> Adapter | None:
        """None while its platform is away."""
        return self._adapters.get(address.partition(":")[0])

    async def _send(self, row: OutboxRow) -> bool:
        """Whether the row is done with; it is not where its platform went away."""
        try:
            message_id = await self._deliver(row)
        except _Away:
            return False
        except PutAside as error:
            if row.kind == "thread":
                self._threads.refused(row.address, row.payload["channel"])
            aside = partial(
                _put_aside, row=row, why=clean(str(error)), unreachable=error.unreachable
            )
            await self._record(row, aside)
        else:
            told = clean(message_id) if message_id is not None else None
            await self._record(row, partial(_sent, row=row, message_id=told))
        return True

    async def _deliver(self, row: OutboxRow) -> str | None:
        """Send until the platform has it; its id for it. PutAside when it never will, _Away when
        its platform is not served any more."""
        pauses = backoff(FIRST_PAUSE, LONGEST_PAUSE, jitter=True)
        plain, anew, faults = False, False, 0
        while True:
            try:
                return await self._attempt(row, plain, anew)
            except (PutAside, _Away):
                raise
            except Throttled as error:
                log.info("%s: %s", row.address, error)
                await asyncio.sleep(error.retry_after)
            except (Unavailable, Misconfigured) as error:
                # Misconfigured: the token was refused. The next one will not be.
                pause = next(pauses)
                log.warning("%s: %s; again in %.1f s", row.address, error, pause)
                await asyncio.sleep(pause)
            except Refused as error:
                if plain and (anew or not _may_be_posted(row)):
                    raise PutAside(str(error)) from error
                log.warning("%s: refused (%s); again in another form", row.address, error)
                plain, anew = not plain, anew or plain
            except Unreachable as error:
                if not anew and _may_be_posted(row):
                    anew = True  # the message may be gone, and its chat not
                    continue
                raise PutAside(str(error), unreachable=True) from error
            except StoreUnavailable as error:
                self._faults.failed("what is to be sent cannot be read", error)
                await asyncio.sleep(next(pauses))
            except Exception as error:
                # A fault of ours or of a library: one message must not stop all the others.
                log.exception("%s: sending failed", row.address)
                faults += 1
                if faults == FAULTS_TAKEN:
                    raise PutAside(repr(error)) from error
                await asyncio.sleep(next(pauses))

    async def _attempt(self, row: OutboxRow, plain: bool, anew: bool) -> str | None:
        """In its turn; only then is read what is to be sent, which may be large."""
        async with self._pace.turn(Conversation.parse(row.address), row.kind):
            adapter = self._adapter(row.address)
            if adapter is None:
                raise _Away
            edited, file = await self._edited(row), await self._file(row)
            refused = self._threads.refused_at(row.address)
            message = outgoing(row, edited, file=file, plain=plain, refused=refused, anew=anew)
            if message is None:
                raise PutAside("the message it changes was never sent")
            told = await adapter.deliver(message)
            return message.message_id if isinstance(message, Edit) else told

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

    async def _record(self, row: OutboxRow, work: Callable[[Transaction], None]) -> None:
        """Note what became of a row, however long the store takes: a row that was sent and is not
        on record would be sent again. What the store will never take is at least not sent again
        by this process."""
        while True:
            try:
                return await self._store.run(work)
            except StoreUnavailable as error:
                self._faults.failed("what was sent cannot be recorded", error)
                await asyncio.sleep(LONGEST_PAUSE)
            except Exception:
                log.exception("%s: a delivery cannot be recorded", row.address)
                self._unrecorded.add(row.id)
                return


async def _to_its_end(sending: Coroutine[Any, Any, bool]) -> bool:
    """Await; when cancelled, leave it some time: a message that is under way when the process is
    told to stop should be on record as sent."""
    task = asyncio.ensure_future(sending)
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        await asyncio.wait([task], timeout=GRACE)
        task.cancel()
        raise


class _Away(Exception):
    """The platform is not served for the moment."""


class PutAside(Exception):
    """A message will never be taken. The text says why."""

    def __init__(self, why: str, *, unreachable: bool = False) -> None:
        """`unreachable`: nor will any other for its conversation."""
        super().__init__(why)
        self.unreachable = unreachable


def _sent(tx: Transaction, row: OutboxRow, message_id: str | None) -> None:
    tx.outbox.sent(row.id, message_id)
    _drop_file(tx, row)


def _put_aside(tx: Transaction, row: OutboxRow, why: str, *, unreachable: bool = False) -> None:
    log.error("a message for %s is put aside: %s", row.address, why)
    tx.outbox.failed(row.id, why)
    if row.kind == "thread":
        tx.directory.refuse_thread(row.address)
        return tx.directory.audit("thread", "", {"address": row.address, "why": why})
    tx.directory.audit("undelivered", "", {"outbox": row.id, "why": why})
    if unreachable and (count := tx.schedules.pause_fired(row.address, UNREACHED)):
        # Else a model is asked again and again, for nobody.
        tx.directory.audit("schedules paused", "", {"address": row.address, "count": count})
    _drop_file(tx, row)


def _may_be_posted(row: OutboxRow) -> bool:
    """It changes a message, and says all that a message of its own says."""
    return row.kind == "edit" and "nonce" in row.payload


def _drop_file(tx: Transaction, row: OutboxRow) -> None:
    """Nobody needs it any more, and it may be large."""
    if row.payload.get("file") is not None:
        tx.outbox.drop(row.payload["file"])
