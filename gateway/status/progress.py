"""Progress of a turn's children in the chat: one message, edited, never a flood.

Best effort and not in the outbox: a progress message that is lost is missed by nobody.
"""

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping

from adapters.base import Adapter, AdapterError, Body, Edit, Post, Throttled
from adapters.events import Conversation
from storage.errors import StoreError

log = logging.getLogger(__name__)

AFTER = 10.0
EVERY = 2.0
"""Seconds: until the message appears, and between its edits. Platforms throttle edits."""

Describe = Callable[[], Awaitable[str]]
"""What is going on, in Markdown; "" for nothing worth telling."""


@contextlib.asynccontextmanager
async def progress(
    adapters: Mapping[str, Adapter], address: str, describe: Describe
) -> AsyncIterator[None]:
    """Show what `describe` says while the body runs."""
    conversation = Conversation.parse(address)
    adapter = adapters.get(conversation.platform)
    if adapter is None:
        yield
        return
    task = asyncio.create_task(_show(adapter, conversation, describe), name=f"progress {address}")
    try:
        yield
    finally:
        task.cancel()
        await asyncio.wait([task])


async def _show(adapter: Adapter, conversation: Conversation, describe: Describe) -> None:
    await asyncio.sleep(AFTER)
    message_id, shown = None, ""
    try:
        while True:
            pause = EVERY
            text = await describe()
            if text and text != shown:
                body = adapter.render(text)[-1]
                try:
                    message_id = await _put(adapter, conversation, message_id, body)
                    shown = text
                except Throttled as error:
                    pause = max(EVERY, error.retry_after)
            await asyncio.sleep(pause)
    except (AdapterError, StoreError) as error:
        log.debug("no progress in %s: %s", conversation.address, error)
    finally:
        if message_id is not None:
            await _close(adapter, conversation, message_id)


async def _put(
    adapter: Adapter, conversation: Conversation, message_id: str | None, body: Body
) -> str | None:
    if message_id is None:
        return await adapter.deliver(Post(conversation, body))
    await adapter.deliver(Edit(conversation, message_id, body, fleeting=True))
    return message_id


async def _close(adapter: Adapter, conversation: Conversation, message_id: str) -> None:
    """The last edit: nothing runs any more. Shielded, because the turn is over by now."""
    body = adapter.render("✔ Done; /agents shows what was delegated.")[-1]
    with contextlib.suppress(AdapterError):
        await asyncio.shield(adapter.deliver(Edit(conversation, message_id, body)))
