"""One answer in the chat, while it is written: drafts where the platform has them, else messages
that are posted early and edited.

What is shown is fleeting: skipped when the platform is busy, never queued. Only that a message was
posted is on record, so that the whole text takes its place.
"""

import asyncio
import logging
from collections.abc import Callable, Collection
from dataclasses import dataclass
from functools import partial

from adapters.base import AdapterError, Body, Draft, Edit, Refused, Throttled
from adapters.events import Conversation
from adapters.platforms import PLATFORMS, Pace
from agent.concurrency import within
from agent.runtime.journal import Journal
from gateway.outbound.composer import Composer
from gateway.outbound.live_messages import live_of, post_live
from gateway.status.later import Later
from gateway.status.notices import Notices
from gateway.streaming.partial import growing
from storage.errors import EpochLost, StoreError
from storage.records.chats.live_messages import LiveKind
from storage.store import Store, Transaction

log = logging.getLogger(__name__)

FIRST = 0.5
"""Seconds from the first word until something is shown: an answer that is whole by then is posted
as it is."""
AGAIN = 20.0
"""Seconds after which a draft that has not changed is sent again: it fades after 30."""
GRACE = 10.0
"""Seconds for a request that is under way when the text is whole: one that is given up may yet be
carried out, after the whole text then."""
LONGEST = 40_000
"""Characters that are shown while more come: each edit renders them all."""
MOST = 5
"""Messages that are posted early; of a longer answer the others come when it is whole. One that
goes as a file has not filled the chat by then."""
NEW_MESSAGE = 200
"""Characters that the next message begins with, at the least: its first words may yet fit into the
one before it."""


@dataclass(slots=True)
class OnRecord:
    """Whether a turn may have live messages on record."""

    maybe: bool = False


@dataclass(frozen=True, slots=True)
class Place:
    """Where an answer goes."""

    address: str
    journal: Journal
    """Of the turn: who has lost the session shows nothing more."""
    inbox: int
    """The row that it answers."""
    rows: Callable[[], list[int]]
    """All rows that it answers."""
    reply_to: str
    private: bool
    said: Callable[[], Collection[str]]
    """Texts that stand in the chat already, of this turn: they are not shown again."""


@dataclass(frozen=True, slots=True)
class Streaming:
    """Makes live answers."""

    store: Store
    notices: Notices
    composer: Composer
    stream_at: Callable[[str], bool]

    def answer(self, place: Place, on_record: OnRecord) -> "LiveAnswer | None":
        """None where nothing can be shown before it is whole, or nobody wants it."""
        platform = PLATFORMS.get(Conversation.parse(place.address).platform)
        if platform is None or platform.pace is None or not self.stream_at(place.address):
            return None
        return LiveAnswer(self, place, platform.pace, on_record)


class LiveAnswer:
    """Belongs to a turn. Its task lives from a while after a reply's first word until `settle`;
    a reply that is whole by then has none."""

    def __init__(self, parts: Streaming, place: Place, pace: Pace, on_record: OnRecord) -> None:
        self._parts = parts
        self._place = place
        self._conversation = Conversation.parse(place.address)
        self._pace = pace
        self._on_record = on_record
        self._drafts = pace.drafts and place.private
        self._later: Later | None = None
        self._begin()

    def _begin(self) -> None:
        self._text = ""
        self._over = asyncio.Event()
        self._posts: list[int] | None = None
        """Outbox rows of the messages, once looked up."""
        self._ids: dict[int, str] = {}
        """By outbox row."""
        self._shown: dict[int, Body] = {}
        """By number of the message."""
        self._told = ""
        self._told_at = 0.0

    @property
    def begun(self) -> bool:
        """Whether something may be on its way."""
        return self._later is not None and self._later.task is not None

    def heard(self, piece: str) -> None:
        """The next piece of the answer's text."""
        self._text = (self._text + piece)[:LONGEST]
        if self._later is None:
            self._later = Later(FIRST, self._run, f"live answer in {self._place.address}")

    def forget(self) -> None:
        """The reply is whole, or broke off, before anything of it was shown."""
        if self._later is not None:
            self._later.drop()
            self._later = None
            self._begin()

    async def settle(self) -> None:
        """The reply is whole, or broke off; returns when no request is under way."""
        later, self._later = self._later, None
        self._over.set()
        if later is not None:
            if later.task is not None:
                await asyncio.wait([later.task], timeout=GRACE)
            await later.end()
        self._begin()

    async def _run(self) -> None:
        over = self._over
        pace = self._pace.private if self._place.private else self._pace.group
        while not over.is_set():
            pause = pace
            try:
                await self._show()
            except EpochLost:
                return log.info("a newer turn goes on with the answer in %s", self._place.address)
            except Throttled as error:
                pause = error.retry_after  # its place is kept until then
            except (AdapterError, StoreError) as error:
                log.debug("nothing shown in %s: %s", self._place.address, error)
            await within(over, pause)

    async def _show(self) -> None:
        text = self._text[:LONGEST]
        stale = self._drafts and _now() - self._told_at > AGAIN
        if not text.strip() or (text == self._told and not stale):
            return
        if any(said.startswith(text.strip()) for said in self._place.said()):
            return
        bodies = self._parts.composer.bodies(self._place.address, growing(text))
        if not bodies:
            return
        if not (self._drafts and await self._drafted(bodies)):
            await self._messages(bodies)
        self._told, self._told_at = text, _now()

    async def _drafted(self, bodies: list[Body]) -> bool:
        """The parts that are full are posted, and the next one is the draft. False where there are
        no drafts here."""
        if self._posts is None:
            await self._recall()
        posts = self._posts = self._posts or []
        full = len(bodies) - (1 if len(bodies[-1]["text"]) >= NEW_MESSAGE else 2)
        await self._messages(bodies[: max(full, len(posts))])
        if len(bodies) == len(posts):
            return True
        return await self._draft(bodies[len(posts)] if len(posts) >= full else bodies[-1])

    async def _draft(self, body: Body) -> bool:
        """False where there are no drafts here."""
        try:
            await self._send(Draft(self._conversation, self._place.inbox, body))
        except Refused as error:
            log.info("no drafts in %s: %s", self._place.address, error)
            self._drafts = False
            return False
        return True

    async def _messages(self, bodies: list[Body]) -> None:
        if self._posts is None:
            await self._recall()
        assert self._posts is not None
        bodies = bodies[: max(min(self._parts.composer.max_messages - 1, MOST), 1)]
        first_new = len(self._posts)
        for number, body in enumerate(bodies[first_new:], start=first_new):
            if number and len(body["text"]) < NEW_MESSAGE:
                break
            await self._post(number, body)
        for number, body in enumerate(bodies[: len(self._posts)]):
            if self._shown.get(number) != body:
                await self._edit(number, body)

    async def _recall(self) -> None:
        """What a killed turn has posted is written on."""
        self._posts = []
        if self._on_record.maybe:
            rows, kind = self._place.rows(), LiveKind.ANSWER
            self._posts = await self._parts.store.read(partial(live_of, rows=rows, kind=kind))

    async def _post(self, number: int, body: Body) -> None:
        place = self._place
        reply_to = "" if number else place.reply_to
        self._on_record.maybe = True

        def work(tx: Transaction) -> int:
            place.journal.hold(tx)
            args = (LiveKind.ANSWER, place.inbox, place.address, body, reply_to)
            return post_live(tx, *args).id

        row = await self._parts.store.run(work)
        assert self._posts is not None
        self._posts.append(row)
        self._shown[number] = body

    async def _edit(self, number: int, body: Body) -> None:
        assert self._posts is not None
        row = self._posts[number]
        if row not in self._ids:
            sent = await self._parts.store.read(lambda tx: tx.outbox.get(row).message_id)
            if sent is None:
                return  # it is still on its way
            self._ids[row] = sent
        await self._send(Edit(self._conversation, self._ids[row], body, fleeting=True))
        self._shown[number] = body

    async def _send(self, notice: Draft | Edit) -> None:
        if not await self._parts.store.read(self._place.journal.is_held):
            raise EpochLost(f"session {self._place.journal.session} has a newer turn")
        await self._parts.notices.send(self._conversation.platform, notice)


def _now() -> float:
    return asyncio.get_running_loop().time()
