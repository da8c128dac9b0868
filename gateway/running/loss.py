"""What a gateway tells of its database: that it is lost, which ends it; and at the start, that one
which was lost before lies beside it.

Nothing can be put into the outbox of a lost one, so this goes out past it, once, and nobody waits
long.
"""

import asyncio
import logging
from collections.abc import Iterable, Mapping

from adapters.base import Adapter, AdapterError, Post
from adapters.events import Conversation
from adapters.platforms import private_chat
from agent.text.markdown import escape
from storage.errors import StoreLost

log = logging.getLogger(__name__)

PATIENCE = 10.0
"""Seconds for telling everybody."""


def loss_in(group: BaseExceptionGroup[BaseException]) -> StoreLost | None:
    """The first loss among what has failed."""
    for error in group.exceptions:
        if isinstance(error, StoreLost):
            return error
        if isinstance(error, BaseExceptionGroup) and (found := loss_in(error)) is not None:
            return found
    return None


async def tell_owners(text: str, owners: Iterable[str], serving: Mapping[str, Adapter]) -> None:
    """Best effort: who cannot be reached is in the log."""
    told = [
        _tell(adapter, chat, text)
        for owner in owners
        if (chat := private_chat(owner)) is not None
        and (adapter := serving.get(chat.platform)) is not None
    ]
    try:
        async with asyncio.timeout(PATIENCE):
            for fault in await asyncio.gather(*told, return_exceptions=True):
                if fault is not None:
                    log.warning("an owner could not be told", exc_info=fault)
    except TimeoutError:
        log.warning("not every owner could be told within %g s", PATIENCE)


async def _tell(adapter: Adapter, chat: Conversation, text: str) -> None:
    try:
        for body in adapter.render(escape(text)):
            await adapter.deliver(Post(chat, body))
    except AdapterError as error:
        log.warning("%s could not be told: %s", chat.address, error)
