"""People are forgotten: in steps, each a short transaction, so that it goes on after a restart and
nobody waits for it."""

import asyncio
from dataclasses import dataclass
from functools import partial

from agent.tools.files.common import FILE_THREADS
from gateway.retention.copies import Copies
from storage.records.retention.forgetting import Forgetting, Step
from storage.store import Store, Transaction

ROWS = 200
"""That one transaction looks at."""
ENTRIES = 4
"""The same of entries: each of their words is looked for in the search index."""
PAUSE = 0.005
"""Seconds between two transactions, in which others come first."""


@dataclass(frozen=True, slots=True)
class Forgetters:
    store: Store
    copies: Copies

    async def run(self) -> None:
        """Go on with everybody who is to be forgotten, as far as that goes now."""
        for one in await self.store.read(lambda tx: tx.forgettings.open()):
            await self._go_on(one)

    async def _go_on(self, one: Forgetting) -> None:
        while True:
            now = await self.store.read(partial(_as_it_is, forgetting=one.id))
            await self._remove_files(now)
            if not await self.store.run(partial(_advance, forgetting=now)):
                break
            await asyncio.sleep(PAUSE)

    async def _remove_files(self, now: Forgetting) -> None:
        """In workspaces: what they sent, and what their commands said. Before the rows that name
        it go: whoever is cut off here finds them again."""
        if now.step is not Step.ENTRIES:
            return
        if not now.reached:
            await FILE_THREADS.run("", partial(self.copies.clear, now.sessions), patient=True)
            for session, path in await self.store.read(lambda tx: tx.forgettings.outputs(now)):
                output = partial(self.copies.remove_output, session, path)
                await FILE_THREADS.run("", output, patient=True)
        for session, path in await self.store.read(lambda tx: tx.forgettings.paths(now, ENTRIES)):
            remove = partial(self.copies.remove, [session], [path])
            await FILE_THREADS.run("", remove, patient=True)


def _as_it_is(tx: Transaction, forgetting: int) -> Forgetting:
    return tx.forgettings.get(forgetting)


def _advance(tx: Transaction, forgetting: Forgetting) -> bool:
    limit = ENTRIES if forgetting.step is Step.ENTRIES else ROWS
    return tx.forgettings.advance(forgetting, limit)
