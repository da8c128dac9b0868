"""Compaction: by itself where a context grows too long, once where a provider says so, and by
/compact. A failing model leaves the session as it is."""

import logging
from dataclasses import dataclass, replace
from functools import partial

from agent.compaction.cut import Cut, context_tokens, cut, due, recent_tokens
from agent.compaction.summary import compaction_draft, summarise
from agent.concurrency import off_loop
from agent.models.base import Model, ModelError, ModelSpec, Purpose
from agent.models.metering import Account, MeteredModel
from agent.runtime.journal import Alongside, Journal
from agent.settings import CompactionConfig
from storage.records.entries import Entry

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Compacting:
    model: Model
    config: CompactionConfig
    writer: ModelSpec | None = None
    """The model that writes summaries; None: the one whose context they are for."""

    async def where_due(self, journal: Journal, spec: ModelSpec, purpose: Purpose) -> None:
        """Compact where the next call's context would pass the threshold. Where the summary fails
        the call goes ahead without: it may still fit."""
        config = self.config
        threshold, keep = config.compaction_threshold, config.keep_recent_tokens
        path = journal.path
        if not await off_loop(len(path), partial(due, path, spec.context_window, threshold, keep)):
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
        refused: bool = False,
    ) -> Entry | None:
        """Compact whether it is due or not, to as little as can be kept where all of it is recent;
        None where there is nothing to gain. Where the provider `refused` the context, at most half
        of it is kept, and calls that wait for people are summarised like others. Raises ModelError.
        """
        path = journal.path
        found = await off_loop(len(path), partial(self._cut, path, spec, refused))
        if found is None:
            return None
        account = Account("parent", journal.session, purpose)
        metered = MeteredModel(self.model, journal.store, account)
        writer = self.writer or spec
        summary = await summarise(
            metered, writer, found, instructions=instructions, purpose=purpose
        )
        draft = replace(compaction_draft(found, summary), author=purpose.person)
        entry = await journal.append(draft, alongside)
        log.info("session %s: compacted %d tokens", journal.session, found.tokens_before)
        return entry

    def _cut(self, path: tuple[Entry, ...], spec: ModelSpec, refused: bool) -> Cut | None:
        config = self.config
        threshold, keep = config.compaction_threshold, config.keep_recent_tokens
        most = recent_tokens(spec.context_window, threshold, keep)
        if refused:
            most = min(most, context_tokens(path) // 2)
        return cut(path, most, past_waiting=refused) or cut(path, 0, past_waiting=refused)
