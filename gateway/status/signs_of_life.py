"""What a conversation sees of a turn while it runs."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial

from gateway.outbound.composer import Composer
from gateway.status.agents_panel import Live
from gateway.status.notices import Notices
from gateway.status.progress import progress
from gateway.status.typing_indicator import typing
from gateway.views.delegations import progress_text
from storage.store import Store


@dataclass(frozen=True, slots=True)
class SignsOfLife:
    store: Store
    notices: Notices
    composer: Composer
    panel: Live

    @asynccontextmanager
    async def during(self, session: int, address: str) -> AsyncIterator[None]:
        """Show in a conversation that a turn of a session runs, as long as the body does."""
        describe = partial(self._describe_children, session, address)
        async with (
            typing(self.notices, address),
            progress(self.notices, self.composer, address, describe),
        ):
            yield

    async def _describe_children(self, session: int, address: str) -> str:
        if self.panel.shows(address):
            return ""  # /agents tells the same there, and is edited as often
        now, rows = await self.store.read(lambda tx: (tx.now, tx.delegations.unfinished(session)))
        return progress_text(rows, self.panel.active, now)
