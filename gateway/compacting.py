"""Compaction: by itself where a context grows too long, once where a provider says so, and by
/compact. A failing model leaves the session as it is."""

import asyncio
import logging
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import TypeVar

from agent.compaction import Cut, cut, due, recent_tokens
from agent.journal import Alongside, Journal
from agent.model import Model, ModelError, ModelSpec, Purpose
from agent.summary import Summary, compaction_draft, summarise
from gateway.config import SessionConfig
from storage.entries import Entry
from storage.ledger import LedgerLine
from storage.store import Transaction

log = logging.getLogger(__name__)

T = TypeVar("T")

LONG = 2_000
"""Entries from which on a path is looked at off the event loop."""


@dataclass(frozen=True, slots=True)
class Compacting:
    model: Model
    config: SessionConfig

    async def where_due(self, journal: Journal, spec: ModelSpec, purpose: Purpose) -> None:
        """Compact where the next call's context would pass the threshold. Where the summary fails
        the call goes ahead without: it may still fit."""
        config = self.config
        threshold, keep = config.compaction_threshold, config.keep_recent_tokens
        path = journal.path
        if not await _off_loop(len(path), partial(due, path, spec.context_window, threshold, keep)):
            return
        try:
            await self.compact(journal, spec, purpose)
        except ModelError as error:
            log.warning("session %s is not compacted: %s", journal.session, error)

    async def compact(
        self,
        journal: Journal,
        spec: ModelSpec,
        purpose: Purpose,
        *,
        instructions: str = "",
        alongside: Alongside | None = None,
    ) -> Entry | None:
        """Compact whether it is due or not, to as little as can be kept where all of it is recent;
        None where there is nothing to gain. Raises ModelError."""
        path = journal.path
        found = await _off_loop(len(path), partial(self._cut, path, spec))
        if found is None:
            return None
        summary = await summarise(
            self.model, spec, found, instructions=instructions, purpose=purpose
        )

        def book(tx: Transaction, entry: Entry) -> None:
            for line in bill(summary, journal.session, purpose):
                tx.ledger.add(line)
            if alongside is not None:
                alongside(tx, entry)

        draft = replace(compaction_draft(found, summary), author=purpose.person)
        entry = await journal.append(draft, book)
        log.info("session %s: compacted %d tokens", journal.session, found.tokens_before)
        return entry

    def _cut(self, path: tuple[Entry, ...], spec: ModelSpec) -> Cut | None:
        config = self.config
        threshold, keep = config.compaction_threshold, config.keep_recent_tokens
        most = recent_tokens(spec.context_window, threshold, keep)
        return cut(path, most) or cut(path, 0)


def bill(summary: Summary, session: int, purpose: Purpose) -> list[LedgerLine]:
    """What a summary cost, by the model that wrote it."""
    return [
        LedgerLine("parent", model, usage, session, purpose.address, purpose.person)
        for model, usage in summary.by_model.items()
    ]


async def _off_loop(length: int, look: Callable[[], T]) -> T:
    """Look at a path of this length, in a thread where it is long."""
    return look() if length < LONG else await asyncio.to_thread(look)
