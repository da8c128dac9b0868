"""The typing indicator: shown while a turn runs, when it takes long enough to notice."""

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator
from functools import partial

from adapters.base import AdapterError, Typing
from adapters.events import Conversation
from gateway.status.later import Later
from gateway.status.notices import Notices

log = logging.getLogger(__name__)

AFTER = 0.3
AGAIN = 4.0
"""Seconds. Telegram shows it for 5, Discord for 10."""


@contextlib.asynccontextmanager
async def typing(notices: Notices, address: str) -> AsyncIterator[None]:
    conversation = Conversation.parse(address)
    later = Later(AFTER, partial(_type, notices, conversation), f"typing in {address}")
    try:
        yield
    finally:
        await later.end()


async def _type(notices: Notices, conversation: Conversation) -> None:
    while True:
        try:
            await notices.send(conversation.platform, Typing(conversation))
        except AdapterError as error:
            log.debug("no typing indicator in %s: %s", conversation.address, error)
        await asyncio.sleep(AGAIN)
