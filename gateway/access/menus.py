"""The menus of owners: whoever became one in a chat gets an owner's, and whoever is none any more
has it taken away, though that was in an earlier run.

Those that the file lists get theirs when their platform starts, too.
"""

import asyncio
import logging
from collections.abc import Mapping
from dataclasses import dataclass, field

from adapters.base import Adapter, AdapterError, Menu
from adapters.platforms import private_chat
from gateway.access.roles import Access
from storage.store import Store

log = logging.getLogger(__name__)

SHOWN = "menus.owners"
"""The fact that says whose chats have an owner's menu."""


@dataclass(slots=True)
class OwnersMenus:
    store: Store
    access: Access
    adapters: Mapping[str, Adapter]
    """Those that have started."""
    _news: asyncio.Event = field(default_factory=asyncio.Event, init=False)
    _shown: frozenset[str] | None = field(default=None, init=False)
    """What the fact says; None: it was not read yet."""

    def changed(self) -> None:
        """Rights may have changed, or a platform may have started."""
        self._news.set()

    async def wait(self) -> None:
        await self._news.wait()
        self._news.clear()

    async def look(self) -> None:
        """Set and take away what is not as it should be. What a platform refuses is left so."""
        if self._shown is None:
            kept = await self.store.read(lambda tx: tx.directory.fact(SHOWN))
            self._shown = frozenset(kept or ())
        owners = frozenset(self.access.owners())
        done = {who for who in sorted(owners ^ self._shown) if await self._show(who, who in owners)}
        if done:
            shown = self._shown ^ done
            await self.store.run(lambda tx: tx.directory.set_fact(SHOWN, sorted(shown)))
            self._shown = shown

    async def _show(self, who: str, owner: bool) -> bool:
        """False where their platform is away: then it is for later."""
        chat = private_chat(who)
        if chat is None:
            return True  # everybody there: nobody's chat
        adapter = self.adapters.get(chat.platform)
        if adapter is None:
            return False
        try:
            await adapter.deliver(Menu(chat, owner))
        except AdapterError as error:
            log.info("the menu of %s is not set: %s", who, error)
        return True
