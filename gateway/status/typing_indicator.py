"""The typing indicator: shown while a turn runs, when it takes long enough to notice."""

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator, Mapping

from adapters.base import Adapter, AdapterError, Typing
from adapters.events import Conversation

log = logging.getLogger(__name__)

AFTER = 0.3
AGAIN = 4.0
"""Seconds. Telegram shows it for 5, Discord for 10."""


@contextlib.asynccontextmanager
async def typing(adapters: Mapping[str, Adapter], address: str) -> AsyncIterator[None]:
    conversation = Conversation.parse(address)
    adapter = adapters.get(conversation.platform)
    if adapter is None:
        yield
        return
    task = asyncio.create_task(_type(adapter, conversation), name=f"typing in {address}")
    try:
        yield
    finally:
        task.cancel()
        await asyncio.wait([task])


async def _type(adapter: Adapter, conversation: Conversation) -> None:
    await asyncio.sleep(AFTER)
    while True:
        try:
            await adapter.deliver(Typing(conversation))
        except AdapterError as error:
            log.debug("no typing indicator in %s: %s", conversation.address, error)
        await asyncio.sleep(AGAIN)
