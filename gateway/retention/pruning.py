"""Pruning: rows that are finished and old; what is said and sent, where a rule says how long.

Each step is one short transaction, and others have their turn between two of them. A run that is
cut off has done what it did; the next one finds the rest. Two at the same time, in two processes,
do no harm: what one has removed the other does not find.
"""

import asyncio
import logging
import math
from collections.abc import Callable, Collection
from dataclasses import dataclass
from functools import partial

from agent.tools.mcp.results import FOLDER as MCP
from agent.tools.terminal.terminal import OUTPUTS
from gateway.chats.settings import ChatSettings
from gateway.retention.copies import Copies
from storage.blobs.base import BlobStore
from storage.records.attached import INBOX
from storage.records.retention.pruning import FamilyOfSessions, Portion, Pruned
from storage.store import Store, Transaction

log = logging.getLogger(__name__)

ROWS = 200
"""That one transaction looks at."""
ENTRIES = 4
"""The same of entries: each of their words is looked for in the search index."""
PAGES = 100
"""Of an index that are merged, and of a file that are given back, in one transaction."""
PAUSE = 0.01
"""Seconds between two transactions, in which others come first."""
DAY = 86_400.0
BROKEN_AFTER = DAY
"""Seconds after which an import that has not come to its end never will: its reader has minutes."""


@dataclass(frozen=True, slots=True)
class Pruning:
    store: Store
    settings: ChatSettings
    blobs: BlobStore
    copies: Copies
    known: Callable[[str], bool]
    """Whether somebody, by their identity, may do anything: they are no stranger."""

    async def run(self) -> dict[str, int]:
        """Go through all that may be old; what was removed, by its name."""
        now = await self.store.read(lambda tx: tx.now)
        done: dict[str, int] = {}
        for what, kept in self._rules():
            if not math.isinf(kept):
                done[what.value] = await self._prune(what, now - kept)
        done["ledger"] = await self._until_none(self._sum_up, now)
        done["strangers"] = await self._until_none(self._strangers, now)
        done["copies"] = await self._expire_copies(now)
        words, files = await self._expire(now)
        done["imports"] = await self._broken_imports(now)
        done |= {"messages": words, "files": files + await self.blobs.sweep()}
        await self.tidy()
        done["pages"] = await self._until_none(_give_back)
        if found := {name: count for name, count in done.items() if count}:
            log.info("pruned: %s", ", ".join(f"{count} {name}" for name, count in found.items()))
        return done

    async def tidy(self) -> None:
        """Have nothing left in the index of what was taken out of it."""
        await self._until_none(_tidy)

    def _rules(self) -> list[tuple[Pruned, float]]:
        """In their order: what refers to a row goes before it."""
        kept = self.settings.config.retention
        return [
            (Pruned.BUTTONS, kept.menus),
            (Pruned.QUESTIONS, kept.questions),
            (Pruned.OUTBOX, kept.rows),
            (Pruned.INBOX, kept.rows),
            (Pruned.COMMANDS, kept.work),
            (Pruned.SCHEDULES, kept.work),
            (Pruned.DELEGATIONS, kept.work),
            (Pruned.MOVES, kept.work),
            (Pruned.AUDIT, kept.audit),
            (Pruned.SALTS, kept.audit),
        ]

    async def _prune(self, what: Pruned, before: float) -> int:
        removed, after, more = 0, 0, True
        while more:
            work = partial(_portion, what=what, before=before, after=after)
            portion = await self.store.run(work)
            removed, after, more = removed + portion.removed, portion.reached, portion.more
            await asyncio.sleep(PAUSE)
        return removed

    async def _until_none(
        self, work: Callable[[Transaction, float], int], before: float = 0.0
    ) -> int:
        total = 0
        while count := await self.store.run(lambda tx: work(tx, before)):
            total += count
            await asyncio.sleep(PAUSE)
        return total

    def _sum_up(self, tx: Transaction, before: float) -> int:
        """Whole days only."""
        kept = self.settings.config.retention.ledger
        if math.isinf(kept):
            return 0
        return tx.pruning.sum_up((before - kept) // DAY * DAY, ROWS)

    def _strangers(self, tx: Transaction, before: float) -> int:
        kept = self.settings.config.retention.strangers
        return 0 if math.isinf(kept) else tx.people.strangers(before - kept, self.known, ROWS)

    async def _expire_copies(self, now: float) -> int:
        """Files in workspaces, before the entries that name them: whoever is cut off in between
        finds them again. What a command said is kept no longer than its row."""
        total, work = 0, self.settings.config.retention.work
        for sessions, messages, files in self._workspaces(
            await self.store.read(lambda tx: tx.pruning.families())
        ):
            kept = {INBOX: files, OUTPUTS: min(messages, work), MCP: files}
            before = {name: now - one for name, one in kept.items() if not math.isinf(one)}
            named: frozenset[str] = frozenset()
            if INBOX in before:
                shown = partial(_shown_files, sessions=sessions, before=before[INBOX])
                gone, named = await self.store.read(shown)
                total += await asyncio.to_thread(self.copies.remove, sessions, gone)
            if before:
                total += await asyncio.to_thread(self.copies.expire, sessions, before, named)
        return total

    def _workspaces(
        self, families: Collection[FamilyOfSessions]
    ) -> list[tuple[tuple[int, ...], float, float]]:
        """The sessions whose workspaces are looked at together, with the seconds that words and
        files are kept there. A workspace that all sessions share keeps what any of them keeps."""
        if not self.copies.shared:
            return [(one.sessions, *self._kept(one)) for one in families if not one.busy]
        kept = [self._kept(one) for one in families]
        every = tuple(session for one in families for session in one.sessions)
        return [(every, max(m for m, _ in kept), max(f for _, f in kept))] if kept else []

    async def _expire(self, now: float) -> tuple[int, int]:
        """Words, and files, that are kept no longer. Where something goes on in a conversation, it
        is left until that is over."""
        chats = self.settings.config.chats.values()
        kept = self.settings.config.retention
        own = (one for chat in chats for one in (chat.retention.messages, chat.retention.files))
        rules = [kept.messages, kept.files, *(one for one in own if one is not None)]
        if all(map(math.isinf, rules)):
            return 0, 0
        words = files = 0
        for family in await self.store.read(lambda tx: tx.pruning.families()):
            if family.busy:
                continue
            messages, sent = self._kept(family)
            if not math.isinf(messages):
                words += await self._bury(family.sessions, now - messages)
            if not math.isinf(sent):
                files += await self._until_none(partial(_expire_files, family=family), now - sent)
        return words, files

    async def _bury(self, sessions: Collection[int], before: float) -> int:
        """Looked for where nobody who writes waits for it."""
        total = 0
        old = partial(_sessions_with_old, sessions=sessions, before=before)
        for session in await self.store.read(old):
            after = 0
            while found := await self.store.read(
                partial(_old_entries, session=session, before=before, after=after)
            ):
                for at in range(0, len(found), ENTRIES):
                    some = [entry for entry, _ in found[at : at + ENTRIES]]
                    total += await self.store.run(partial(_expire, entries=some))
                    await asyncio.sleep(PAUSE)
                after = found[-1][1]
        return total

    async def _broken_imports(self, now: float) -> int:
        """What is left of them: entries that nobody sees."""
        total = 0
        broken = await self.store.read(lambda tx: tx.pruning.broken_imports(now - BROKEN_AFTER))
        for session in broken:
            total += await self._bury([session], math.inf)
            await self._until_none(partial(_drop_originals, session=session))
        return total

    def _kept(self, family: FamilyOfSessions) -> tuple[float, float]:
        """Seconds that words and files are kept: as long as any conversation says that shows
        them."""
        places = [one for one in family.addresses if ":" in one]
        if not places:
            kept = self.settings.config.retention
            return kept.messages, min(kept.files, kept.messages)
        return (
            max(map(self.settings.messages_kept_at, places)),
            max(map(self.settings.files_kept_at, places)),
        )


def _portion(tx: Transaction, what: Pruned, before: float, after: int) -> Portion:
    return tx.pruning.prune(what, before, after, ROWS)


def _tidy(tx: Transaction, before: float) -> int:
    return int(tx.pruning.tidy_index(PAGES))


def _give_back(tx: Transaction, before: float) -> int:
    return tx.pruning.give_back(PAGES)


def _sessions_with_old(tx: Transaction, sessions: Collection[int], before: float) -> list[int]:
    return tx.pruning.sessions_with_old(sessions, before)


def _old_entries(tx: Transaction, session: int, before: float, after: int) -> list[tuple[int, int]]:
    return tx.pruning.old_entries(session, before, after, ROWS)


def _expire(tx: Transaction, entries: Collection[int]) -> int:
    return tx.pruning.expire(entries)


def _drop_originals(tx: Transaction, before: float, session: int) -> int:
    return tx.pruning.drop_originals(session, ROWS)


def _shown_files(
    tx: Transaction, sessions: Collection[int], before: float
) -> tuple[frozenset[str], frozenset[str]]:
    return tx.pruning.shown_files(sessions, before)


def _expire_files(tx: Transaction, before: float, family: FamilyOfSessions) -> int:
    return tx.pruning.expire_files(family.sessions, before, ROWS)
