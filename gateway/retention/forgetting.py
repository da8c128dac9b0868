"""People are forgotten: in steps, each a short transaction, so that it goes on after a restart and
nobody waits for it."""

import asyncio
import logging
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from agent.tools.files.common import FILE_THREADS
from agent.tools.files.workspace import Missing, Workspace, WorkspaceError
from storage.records.retention.forgetting import Forgetting, Step
from storage.store import Store, Transaction

log = logging.getLogger(__name__)

ROWS = 200
"""That one transaction looks at."""
ENTRIES = 4
"""The same of entries: each of their words is looked for in the search index."""
SENT = "inbox/"
"""Where in a workspace stands what people send. Other paths are a claim: an entry that was imported
may name any file."""
PAUSE = 0.005
"""Seconds between two transactions, in which others come first."""


@dataclass(frozen=True, slots=True)
class Forgetters:
    store: Store
    workspace: Callable[[int], Workspace]
    """Of a session."""

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
        """What they sent stands in workspaces, too. Before the entries that name it: whoever is
        cut off here finds them again."""
        named = await self.store.read(lambda tx: tx.forgettings.paths(now, ENTRIES))
        for session, path in named:
            if not path.startswith(SENT):
                continue
            try:
                remove = partial(self.workspace(session).remove, path)
                await FILE_THREADS.run("", remove, patient=True)
            except Missing:
                continue
            except WorkspaceError as error:
                log.warning("a file of somebody who is forgotten cannot be removed: %s", error)


def _as_it_is(tx: Transaction, forgetting: int) -> Forgetting:
    return tx.forgettings.get(forgetting)


def _advance(tx: Transaction, forgetting: Forgetting) -> bool:
    limit = ENTRIES if forgetting.step is Step.ENTRIES else ROWS
    return tx.forgettings.advance(forgetting, limit)
