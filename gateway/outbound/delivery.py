"""Sends what is in the outbox: in order within a conversation, side by side between them.

Notices of a conversation have an order of their own: an answer does not wait behind them. Of
several edits that wait for one message, only the last is sent.

A row stays until the platform has it or refuses it for good, so a crash repeats at most the one
message that was under way.
"""

import asyncio
import logging
import time
from collections import Counter, deque
from collections.abc import Callable, Coroutine, Iterable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from adapters.base import Adapter, Edit, Misconfigured, Refused, Throttled, Unavailable, Unreachable
from adapters.cleaning import clean
from adapters.events import Conversation
from adapters.pacing import Urgency
from agent.backoff import backoff
from agent.spans import Span, SpanKind, span_below
from gateway.chats.known_threads import KnownThreads
from gateway.monitoring.observer import Observer, Unobserved
from gateway.outbound.composer import NOTICE, held_up, outgoing
from gateway.outbound.ends import is_over, late, put_aside, sent
from gateway.outbound.pace import Pace
from gateway.processes.duties import Duties, Hold, Lapsed
from gateway.processes.shares import BUCKETS, bucket_of
from storage.errors import StoreUnavailable
from storage.faults import Faults
from storage.records.inbox_outbox import OutboxRow, StoredFile
from storage.store import Store, Transaction
from storage.traces import traced

log = logging.getLogger(__name__)

FIRST_PAUSE = 0.5
LONGEST_PAUSE = 30.0
FAULTS_TAKEN = 3
NOTICES_TO = "notices to "
"""Before an address: the name of the queue of its notices."""
AT_ONCE = 20
"""Rows of a conversation that are read before the first of them is sent."""
LONG = 10.0
"""Seconds: who waits longer for an answer because the platform asks for it is told why."""
GRACE = 3.0
"""Seconds for a message that is under way when the gateway stops."""


@dataclass(slots=True)
class _Queue:
    bucket: str
    tenure: int
    """Of this process, of that bucket, when the rows were read."""
    rows: deque[OutboxRow] = field(default_factory=deque)
    inherited: int | None = None
    """A row that the process which sent there before may have sent, and was about to record."""
    held: float = 0.0
    """Seconds for which the platform asked to wait, where that was not told yet."""


class Delivery:
    def __init__(
        self,
        store: Store,
        adapters: Mapping[str, Adapter],
        pace: Pace | None = None,
        threads: KnownThreads | None = None,
        observer: Observer | None = None,
        duties: Duties | None = None,
    ) -> None:
        """`threads`: those that are known, kept up to date here where one cannot be opened.
        `duties`: which conversations are sent to by this process."""
        self._store = store
        self._duties = duties if duties is not None else Duties()
        self._duties.watch(self.notify)
        self._threads = threads if threads is not None else KnownThreads()
        self._adapters = adapters
        self._pace = pace if pace is not None else Pace()
        self._observer = observer if observer is not None else Unobserved()
        self._news = asyncio.Event()
        self._looking = True
        self._looked: Mapping[str, int | None] = {}
        """In which tenures the outbox was looked at."""
        self._taken: set[int] = set()
        self._finished: set[int] = set()
        """Rows that were finished since the last look at the outbox began: it may still show them
        as pending."""
        self._unrecorded: set[int] = set()
        """Rows whose end the store does not take."""
        self._queues: dict[str, _Queue] = {}
        """By conversation, or by the name of a queue that a row asks for."""
        self._busy: Counter[str] = Counter()
        """Of each bucket, how many queues are worked on."""
        self._faults = Faults(log)

    def notify(self) -> None:
        """There may be new rows in the outbox."""
        self._news.set()

    def idle(self) -> bool:
        return not (self._looking or self._news.is_set() or self._queues)

    @property
    def busy(self) -> int:
        """Conversations that something is being sent to, or waits for."""
        return len(self._queues)

    def nothing_under_way(self, bucket: str) -> bool:
        return not self._busy[bucket]

    async def run(self) -> None:
        """Send until cancelled. What is being recorded as sent is still recorded."""
        async with asyncio.TaskGroup() as group:
            while True:
                self._finished.clear()
                # As things are before the look: what another process sent while a bucket was its
                # own may still be shown as pending by a look that was begun then.
                tenures = self._tenures()
                if tenures is None or any(one is not None for one in tenures.values()):
                    for row in await self._pending():
                        self._take(row, tenures, group)
                    self._looked = tenures or {}
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

    def _tenures(self) -> Mapping[str, int | None] | None:
        """By bucket; None where all are always ours."""
        if self._duties.alone:
            return None
        local = {bucket_of(f"{name}:") for name in self._adapters}
        return {name: self._duties.tenure(name) for name in (*BUCKETS, *local)}

    def _take(
        self, row: OutboxRow, tenures: Mapping[str, int | None] | None, group: asyncio.TaskGroup
    ) -> None:
        if row.id in self._taken or row.id in self._finished or row.id in self._unrecorded:
            return
        if self._adapter(row.address) is None:
            return
        name = self._queue_of(row)
        bucket, tenure = "", 0
        if tenures is not None:
            bucket, now = _bucket(row), tenures.get(_bucket(row))
            if now is None:
                return
            tenure = now
        queue = self._queues.get(name)
        if queue is not None:
            if queue.tenure == tenure:
                self._taken.add(row.id)
                queue.rows.append(row)
            return
        self._taken.add(row.id)
        inherited = tenures is not None and self._looked.get(bucket) != tenure
        self._queues[name] = _Queue(bucket, tenure, deque([row]), row.id if inherited else None)
        self._busy[bucket] += 1
        group.create_task(self._drain(name), name=f"delivery to {name}")

    def _queue_of(self, row: OutboxRow) -> str:
        """By name. What changes a message stands behind what else is to be sent of that message."""
        names = (row.address, f"{NOTICES_TO}{row.address}")
        if row.edits is not None:
            for name in names:
                queue = self._queues.get(name)
                if queue and any(row.edits in (one.id, one.edits) for one in queue.rows):
                    return name
        queue_asked: str | None = row.payload.get("queue")
        return queue_asked or names[bool(row.payload.get(NOTICE))]

    async def _drain(self, name: str) -> None:
        queue, count = self._queues[name], 0
        rows = queue.rows
        try:
            while rows:
                row = rows[0]
                if not await _to_its_end(self._send(row, queue)):
                    break
                rows.popleft()
                self._finished.add(row.id)
                self._taken.discard(row.id)
                count += 1
                if row.payload.get(NOTICE) and len(rows) + 1 >= AT_ONCE:
                    self.notify()  # an answer may stand behind what was read
        finally:
            # What is left waits in the outbox for its platform, which may be back by now, or for
            # the process that sends there now.
            self._taken -= {row.id for row in rows}
            del self._queues[name]
            self._busy[queue.bucket] -= 1
            self._duties.settled()
        more = count >= AT_ONCE or self._has_sibling(name)  # behind what was read
        left = rows and self._adapter(rows[0].address) is not None
        if more or left or self._duties.tenure(queue.bucket) != queue.tenure:
            self.notify()

    def _has_sibling(self, name: str) -> bool:
        """Whether the answers, or the notices, of the same conversation are being sent."""
        return (
            name.removeprefix(NOTICES_TO) in self._queues or f"{NOTICES_TO}{name}" in self._queues
        )

    def _adapter(self, address: str) -> Adapter | None:
        """None while its platform is away."""
        return self._adapters.get(address.partition(":")[0])

    async def _send(self, row: OutboxRow, queue: _Queue) -> bool:
        """Whether the row is done with; it is not where its platform went away, or another process
        sends there now."""
        about = {"bough.platform": row.address.partition(":")[0], "bough.kind": row.kind}
        with (
            traced(row.trace),
            span_below(row.trace, "deliver", about, SpanKind.PRODUCER) as span,
        ):
            return await self._carried_out(row, queue, span)

    async def _carried_out(self, row: OutboxRow, queue: _Queue, span: Span) -> bool:
        try:
            later = _overtaken(row, queue.rows)
            message_id = await self._deliver(row, queue) if not later else None
        except _Over:
            return True
        except (_Away, Lapsed):
            span.fail("away")
            return False
        except PutAside as error:
            span.fail("refused")
            if row.kind == "thread":
                self._threads.refused(row.address, row.payload["channel"])
            aside = partial(
                put_aside, row=row, why=clean(str(error)), unreachable=error.unreachable
            )
            self._observer.put_aside(_platform(row))
            await self._record(row, queue, aside)
        else:
            told = clean(message_id) if message_id is not None else None
            self._observer.delivered(_platform(row), time.time() - row.time)
            await self._record(row, queue, partial(self._sent, row=row, queue=queue, told=told))
            queue.held = 0.0
            if row.trace:
                log.info("delivered", extra={"address": row.address, "kind": row.kind})
        return True

    def _sent(self, tx: Transaction, row: OutboxRow, queue: _Queue, told: str | None) -> None:
        sent(tx, row=row, message_id=told)
        if queue.held >= LONG and not row.payload.get(NOTICE):
            tx.outbox.enqueue(held_up(row.address, queue.held))

    async def _deliver(self, row: OutboxRow, queue: _Queue) -> str | None:
        """Send until the platform has it; its id for it. PutAside when it never will, _Away when
        its platform is not served any more."""
        pauses = backoff(FIRST_PAUSE, LONGEST_PAUSE, jitter=True)
        plain, anew, faults = False, False, 0
        while True:
            try:
                async with self._duties.hold(queue.bucket, queue.tenure) as hold:
                    return await self._attempt(row, queue, hold, plain, anew)
            except (PutAside, _Over, _Away, Lapsed):
                raise
            except Throttled as error:
                log.info("%s: %s", row.address, error)
                queue.held = max(queue.held, error.retry_after)
                await self._pause(queue, error.retry_after)
            except (Unavailable, Misconfigured) as error:
                # Misconfigured: the token was refused. The next one will not be.
                pause = next(pauses)
                self._observer.sent_again(_platform(row), type(error).__name__.lower())
                log.warning("%s: %s; again in %.1f s", row.address, error, pause)
                await self._pause(queue, pause)
            except Refused as error:
                if plain and (anew or not _may_be_posted(row)):
                    raise PutAside(str(error)) from error
                self._observer.sent_again(_platform(row), "refused")
                log.warning("%s: refused (%s); again in another form", row.address, error)
                plain, anew = not plain, anew or plain
            except Unreachable as error:
                if not anew and _may_be_posted(row):
                    anew = True  # the message may be gone, and its chat not
                    self._observer.sent_again(_platform(row), "unreachable")
                    continue
                raise PutAside(str(error), unreachable=True) from error
            except StoreUnavailable as error:
                self._faults.failed("what is to be sent cannot be read", error)
                await self._pause(queue, next(pauses))
            except Exception as error:
                # A fault of ours or of a library: one message must not stop all the others.
                log.exception("%s: sending failed", row.address)
                faults += 1
                if faults == FAULTS_TAKEN:
                    raise PutAside(repr(error)) from error
                self._observer.sent_again(_platform(row), "fault")
                await self._pause(queue, next(pauses))

    async def _pause(self, queue: _Queue, seconds: float) -> None:
        """Lapsed at once where another process is to send there."""
        async with self._duties.hold(queue.bucket, queue.tenure):
            await asyncio.sleep(seconds)

    async def _attempt(
        self, row: OutboxRow, queue: _Queue, hold: Hold, plain: bool, anew: bool
    ) -> str | None:
        """In its turn; only then is read what is to be sent, which may be large."""
        to = Conversation.parse(row.address)
        queue.held = max(queue.held, self._pace.held(to, row.kind))
        urgency = Urgency.NOTICE if row.payload.get(NOTICE) else Urgency.ANSWER
        async with self._pace.turn(to, row.kind, urgency):
            hold.acts = True
            adapter = self._adapter(row.address)
            if adapter is None:
                raise _Away
            if row.id == queue.inherited and await self._store.read(partial(is_over, row=row)):
                raise _Over
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

    async def _record(
        self, row: OutboxRow, queue: _Queue, work: Callable[[Transaction], None]
    ) -> None:
        """Note what became of a row, however long the store takes: a row that was sent and is not
        on record would be sent again. What the store will never take is at least not sent again
        by this process. What another process has recorded since stays as it is."""
        pauses = backoff(FIRST_PAUSE, LONGEST_PAUSE)
        while True:
            ours = self._duties.tenure(queue.bucket) == queue.tenure
            try:
                return await self._store.run(work if ours else partial(late, row=row, work=work))
            except StoreUnavailable as error:
                self._faults.failed("what was sent cannot be recorded", error)
                await asyncio.sleep(next(pauses))
            except Exception:
                log.exception("%s: a delivery cannot be recorded", row.address)
                self._unrecorded.add(row.id)
                return


def _overtaken(row: OutboxRow, rows: Iterable[OutboxRow]) -> bool:
    """Whether a notice's edit need not be sent: another one of the same message waits behind it."""
    if row.kind != "edit" or row.edits is None or not row.payload.get(NOTICE):
        return False
    return any(one.kind == "edit" and one.edits == row.edits for one in rows if one is not row)


def _platform(row: OutboxRow) -> str:
    return row.address.partition(":")[0]


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


class _Over(Exception):
    """Another process has done it."""


def _bucket(row: OutboxRow) -> str:
    """What a queue has of its own is on the way to chats of one platform."""
    queue: str | None = row.payload.get("queue")
    return bucket_of(queue or row.address)


def _may_be_posted(row: OutboxRow) -> bool:
    """It changes a message, and says all that a message of its own says."""
    return row.kind == "edit" and "nonce" in row.payload
