"""What a conversation sees of a turn while it runs."""

import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial

from agent.tools.terminal.commands import Seen
from gateway.outbound.composer import Composer
from gateway.status.agents_panel import Live
from gateway.status.notices import Notices
from gateway.status.progress import progress
from gateway.status.typing_indicator import typing
from gateway.views.commands import commands_text
from gateway.views.delegations import progress_text
from storage.records.delegations import Delegation
from storage.store import Store, Transaction


@dataclass(frozen=True, slots=True)
class SignsOfLife:
    store: Store
    notices: Notices
    composer: Composer
    panel: Live
    commands: Callable[[int], Sequence[Seen]] = lambda _: ()
    """What a session's agents run now."""

    @asynccontextmanager
    async def during(self, session: int, address: str, since: float) -> AsyncIterator[None]:
        """Show in a conversation that a turn of a session runs, as long as the body does. `since`:
        when what it answers came, in Unix seconds."""
        describe = partial(self._describe, session, address, since)
        async with (
            typing(self.notices, address),
            progress(self.notices, self.composer, address, describe),
        ):
            yield

    async def _describe(self, session: int, address: str, since: float, over: bool) -> str:
        children = await self._describe_children(session, address, since, over)
        commands = "" if over else commands_text(self.commands(session), time.time())
        return "\n".join(part for part in (children, commands) if part)

    async def _describe_children(self, session: int, address: str, since: float, over: bool) -> str:
        if self.panel.shows(address):
            return ""  # /agents tells the same there, and is edited as often
        now, rows = await self.store.read(partial(_worked_on, session=session, since=since))
        return progress_text(rows, {} if over else self.panel.active, now)


def _worked_on(tx: Transaction, session: int, since: float) -> tuple[float, Sequence[Delegation]]:
    """The time, and a session's delegations that are unfinished or have ended since then, as they
    were made."""
    recent = (row for row in tx.delegations.recent(session) if row.updated >= since)
    rows = {row.id: row for row in (*recent, *tx.delegations.unfinished(session))}
    return tx.now, sorted(rows.values(), key=lambda row: row.id)
