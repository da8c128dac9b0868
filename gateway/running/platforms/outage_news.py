"""Outages of a platform, told to the owners on the others."""

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial

from adapters.base import Adapter
from adapters.platforms import private_chat
from gateway.outbound.composer import Composer
from storage.errors import StoreError
from storage.store import Store, Transaction

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class OutageNews:
    store: Store
    composer: Composer
    owners: Callable[[], tuple[str, ...]]
    """Identities of those who are now."""
    serving: Mapping[str, Adapter]

    async def tell(self, about: str, text: str) -> None:
        """In private, wherever they can be reached without that platform."""
        others = set(self.serving) - {about}
        reached = [
            chat.address
            for owner in self.owners()
            if (chat := private_chat(owner)) is not None and chat.platform in others
        ]
        try:
            await self.store.run(partial(self._post, chats=reached, text=text))
        except StoreError:
            log.exception("the owners were not told: %s", text)

    def _post(self, tx: Transaction, chats: list[str], text: str) -> None:
        for chat in chats:
            for parcel in self.composer.notice(chat, text):
                tx.outbox.enqueue(parcel)
