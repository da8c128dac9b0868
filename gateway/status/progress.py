"""Progress of a turn's children in the chat: one message, edited, never a flood.

Best effort and not in the outbox: a progress message that is lost is missed by nobody.
"""

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass

from adapters.base import AdapterError, Edit, Post, Throttled
from adapters.events import Conversation
from gateway.outbound.composer import Composer
from gateway.status.notices import Notices
from storage.errors import StoreError

log = logging.getLogger(__name__)

AFTER = 10.0
EVERY = 2.0
"""Seconds: until the message appears, and between its edits. Platforms throttle edits."""

Describe = Callable[[bool], Awaitable[str]]
"""What is going on and what has ended, in Markdown; where the body is over, only that. "" for
nothing worth telling."""
OVER = "✔ Done; /agents shows what was delegated."


@contextlib.asynccontextmanager
async def progress(
    notices: Notices, composer: Composer, address: str, describe: Describe
) -> AsyncIterator[None]:
    """Show what `describe` says while the body runs."""
    message = _Message(notices, composer, Conversation.parse(address))
    task = asyncio.create_task(_show(message, describe), name=f"progress {address}")
    try:
        yield
    finally:
        task.cancel()
        await asyncio.wait([task])


@dataclass(slots=True)
class _Message:
    notices: Notices
    composer: Composer
    conversation: Conversation
    id: str | None = None
    """Once it is there."""

    async def put(self, text: str) -> None:
        where = self.conversation
        body = self.composer.last_body(where.address, text)
        if self.id is None:
            self.id = await self.notices.send(where.platform, Post(where, body))
        else:
            edit = Edit(where, self.id, body, fleeting=True)
            await self.notices.send(where.platform, edit)

    async def close(self, describe: Describe) -> None:
        """The last edit: nothing runs any more. Shielded, because the turn is over by now."""
        if self.id is None:
            return
        where, text = self.conversation, OVER
        with contextlib.suppress(AdapterError, StoreError):
            if ended := await asyncio.shield(describe(True)):
                text = f"{OVER}\n\n{ended}"
            edit = Edit(where, self.id, self.composer.last_body(where.address, text))
            await asyncio.shield(self.notices.send(where.platform, edit))


async def _show(message: _Message, describe: Describe) -> None:
    await asyncio.sleep(AFTER)
    shown = ""
    try:
        while True:
            pause = EVERY
            text = await describe(False)
            if text and text != shown:
                try:
                    await message.put(text)
                    shown = text
                except Throttled as error:
                    pause = max(EVERY, error.retry_after)
            await asyncio.sleep(pause)
    except (AdapterError, StoreError) as error:
        log.debug("no progress in %s: %s", message.conversation.address, error)
    finally:
        await message.close(describe)
