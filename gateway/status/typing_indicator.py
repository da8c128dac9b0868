"""The typing indicator: shown while a turn runs, when it takes long enough to notice."""

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator

from adapters.base import AdapterError, Typing
from adapters.events import Conversation
from gateway.status.notices import Notices

log = logging.getLogger(__name__)

AFTER = 0.3
AGAIN = 4.0
"""Seconds. Telegram shows it for 5, Discord for 10."""


@contextlib.asynccontextmanager
async def typing(notices: Notices, address: str) -> AsyncIterator[None]:
    conversation = Conversation.parse(address)
    task = asyncio.create_task(_type(notices, conversation), name=f"typing in {address}")
    try:
        yield
    finally:
        task.cancel()
        await asyncio.wait([task])


async def _type(notices: Notices, conversation: Conversation) -> None:
    await asyncio.sleep(AFTER)
    while True:
        try:
            await notices.send(conversation.platform, Typing(conversation))
        except AdapterError as error:
            log.debug("no typing indicator in %s: %s", conversation.address, error)
        await asyncio.sleep(AGAIN)
