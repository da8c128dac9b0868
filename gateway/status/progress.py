"""What a turn is doing, in the chat: one message, edited, never a flood.

The message is on record, so that a restart goes on with it, or folds it away. What it shows in
between is best effort.
"""

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from functools import partial

from adapters.base import AdapterError, Body, Edit, Throttled, Unavailable
from adapters.events import Conversation
from agent.concurrency import kept_going
from agent.runtime.journal import Journal
from gateway.outbound.composer import Composer
from gateway.outbound.live_messages import live_of, post_live
from gateway.status.later import Later
from gateway.status.notices import Notices
from storage.errors import StoreError
from storage.records.chats.live_messages import LiveKind
from storage.store import Store, Transaction

log = logging.getLogger(__name__)

AFTER = 10.0
EVERY = 2.0
"""Seconds: until the message appears, and between its edits. Platforms throttle edits."""

Describe = Callable[[bool], Awaitable[str]]
"""What is going on and what has ended, in Markdown; where the body is over, only that. "" for
nothing worth telling."""
OVER = "✔ Done; /agents shows what was delegated."
OVER_ALONE = "✔ Done."
LONGEST_END = 5.0
"""Seconds for the last edit to be put on record."""


@dataclass(frozen=True, slots=True)
class Owner:
    """Whose message it is."""

    address: str
    journal: Journal
    """Of the turn: who has lost the session shows nothing more."""
    inbox: int
    """The first row that the turn answers."""
    again: bool
    """The turn was begun before, and may have left a message."""


@contextlib.asynccontextmanager
async def progress(
    store: Store, notices: Notices, composer: Composer, owner: Owner, describe: Describe
) -> AsyncIterator[None]:
    """Show what `describe` says while the body runs."""
    message = _Message(store, notices, composer, owner)
    # What a killed turn has left is looked up at once.
    pause = AFTER if owner.again else 0.0
    show = partial(_show, message, describe, pause)
    later = Later(AFTER - pause, show, f"progress {owner.address}")
    try:
        yield
    finally:
        await later.end()


@dataclass(slots=True)
class _Message:
    store: Store
    notices: Notices
    composer: Composer
    owner: Owner
    row: int | None = None
    """The outbox row that posted it."""
    id: str | None = None
    """Once it is there."""

    async def find(self) -> None:
        """The message of a turn that was killed is this one's."""
        if self.owner.again:
            of_turn = partial(live_of, rows=[self.owner.inbox], kind=LiveKind.STATUS)
            self.row = next(iter(await self.store.read(of_turn)), None)

    async def put(self, text: str) -> bool:
        """Whether it is shown."""
        address = self.owner.address
        body = self.composer.last_body(address, text)
        if (row := self.row) is None:
            self.row = await self.store.run(partial(self._post, body))
            return True
        if self.id is None:
            self.id = await self.store.read(lambda tx: tx.outbox.get(row).message_id)
        if self.id is None or not await self.store.read(self.owner.journal.is_held):
            return False
        where = Conversation.parse(address)
        await self.notices.send(where.platform, Edit(where, self.id, body, fleeting=True))
        return True

    def _post(self, body: Body, tx: Transaction) -> int:
        self.owner.journal.hold(tx)
        return post_live(tx, LiveKind.STATUS, self.owner.inbox, self.owner.address, body).id

    async def close(self, describe: Describe) -> None:
        """The last edit: nothing runs any more."""
        if (row := self.row) is None:
            return
        with contextlib.suppress(StoreError):
            ended = await describe(True)
            text = f"{OVER}\n\n{ended}" if ended else OVER_ALONE
            change = self.composer.change(self.owner.address, text, row=row)[:1]

            def work(tx: Transaction) -> None:
                self.owner.journal.hold(tx)  # else it is the newer turn's to close
                if row in live_of(tx, [self.owner.inbox], LiveKind.STATUS):
                    tx.live_messages.end([row])
                    for parcel in change:
                        tx.outbox.enqueue(parcel)

            await self.store.run(work)


async def _show(message: _Message, describe: Describe, pause: float) -> None:
    """`pause`: seconds until the message appears."""
    shown = ""
    try:
        if message.owner.again:
            await message.find()
        await asyncio.sleep(pause)
        while True:
            pause = EVERY
            text = await describe(False)
            if text and text != shown:
                try:
                    if await message.put(text):
                        shown = text
                except Throttled as error:
                    pause = max(EVERY, error.retry_after)
                except Unavailable as error:
                    log.debug("no progress in %s for now: %s", message.owner.address, error)
            await asyncio.sleep(pause)
    except (AdapterError, StoreError) as error:
        log.debug("no progress in %s: %s", message.owner.address, error)
    finally:
        # The turn is over by now, and so is whoever cancels this.
        with contextlib.suppress(TimeoutError):
            await kept_going(message.close(describe), LONGEST_END)
