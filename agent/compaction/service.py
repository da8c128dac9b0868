"""Compaction: by itself where a context grows too long, once where a provider says so, and by
/compact. A failing model leaves the session as it is."""

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial

from agent.compaction.cut import Cut, context_tokens, cut, due, recent_tokens
from agent.compaction.summary import compaction_draft, summarise
from agent.concurrency import off_loop
from agent.models.base import Model, ModelError, ModelErrorKind, ModelSpec, Purpose
from agent.models.metering import Account, MeteredModel
from agent.runtime.journal import Alongside, Journal
from agent.runtime.loop import Loop, Result
from agent.settings import CompactionConfig
from storage.records.entries import Entry, Kind

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Compacting:
    model: Model
    settings: Callable[[], CompactionConfig]
    writer: ModelSpec | None = None
    """The model that writes summaries; None: the one whose context they are for."""

    @property
    def config(self) -> CompactionConfig:
        """As it is now."""
        return self.settings()

    async def run(self, loop: Loop, keep: Callable[[], str] = lambda: "") -> Result:
        """Run a loop; where the provider says that the context is too long, again after a
        compaction, as often as the model has answered in between. `keep` as in `compact`. Raises
        ModelError."""
        answers, run = -1, loop.agent_run
        while True:
            try:
                return await loop.run()
            except ModelError as error:
                before, answers = answers, _answers(run.journal.path)
                too_long = error.kind is ModelErrorKind.CONTEXT_LENGTH and not error.partial
                if not too_long or answers == before:
                    raise
                account, spec = run.account, run.agent.spec
                purpose = account.purpose
                if not await self.compact(
                    run.journal, spec, purpose, refused=True, account=account, keep=keep()
                ):
                    raise

    async def where_due(
        self,
        journal: Journal,
        spec: ModelSpec,
        purpose: Purpose,
        *,
        account: Account | None = None,
        keep: Callable[[], str] = lambda: "",
    ) -> None:
        """Compact where the next call's context would pass the threshold. Where the summary fails
        the call goes ahead without: it may still fit."""
        config = self.config
        threshold, recent = config.compaction_threshold, config.keep_recent_tokens
        path = journal.path
        is_due = partial(due, path, spec.context_window, threshold, recent)
        if not await off_loop(len(path), is_due):
            return
        try:
            await self.compact(journal, spec, purpose, account=account, keep=keep())
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
        account: Account | None = None,
        keep: str = "",
    ) -> Entry | None:
        """Compact whether it is due or not, to as little as can be kept where all of it is recent;
        None where there is nothing to gain. Where the provider `refused` the context, at most half
        of it is kept, and calls that wait for people are summarised like others. `account`: who
        pays, where it is not the session's parent; `keep`: what stands below the summary word for
        word. Raises ModelError."""
        path = journal.path
        found = await off_loop(len(path), partial(self._cut, path, spec, refused))
        if found is None:
            return None
        account = account or Account("parent", journal.session, purpose)
        metered = MeteredModel(self.model, journal.store, account)
        summary = await summarise(
            metered, self.writer or spec, found, instructions=instructions, purpose=purpose
        )
        if keep:
            summary = replace(summary, text=f"{summary.text}\n\n{keep}")
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


def _answers(path: Sequence[Entry]) -> int:
    return sum(e.kind is Kind.MESSAGE and e.body["role"] == "assistant" for e in path)
