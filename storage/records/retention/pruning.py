"""Pruning: what has had its time, and the seam to the rows."""

from collections.abc import Collection
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol


class Pruned(StrEnum):
    """What is pruned by its age alone."""

    BUTTONS = "buttons"
    QUESTIONS = "questions"
    OUTBOX = "outbox"
    INBOX = "inbox"
    AUDIT = "audit"
    COMMANDS = "commands"
    SCHEDULES = "schedules"
    DELEGATIONS = "delegations"
    MOVES = "moves"
    SALTS = "salts"


@dataclass(frozen=True, slots=True)
class FamilyOfSessions:
    """Sessions that hang together: a conversation, its forks, the transcripts of its
    delegations."""

    sessions: tuple[int, ...]
    addresses: frozenset[str]
    """Conversations that any of them ever was in."""
    busy: bool
    """Something is to be done in one of them, or waits for somebody."""


@dataclass(frozen=True, slots=True)
class Portion:
    """What a look at some rows came to."""

    removed: int
    reached: int
    """The last row that was looked at."""
    more: bool
    """There are older rows behind it."""


class Pruning(Protocol):
    def prune(self, what: Pruned, before: float, after: int, limit: int) -> Portion:
        """Remove finished rows from before a time (Unix seconds), of the next `limit` behind the
        row `after`."""
        ...

    def sum_up(self, before: float, limit: int) -> int:
        """Add up lines of the ledger from days that ended before a time, one line for each day,
        conversation, person, session, tier and model; how many lines that took."""
        ...

    def families(self) -> list[FamilyOfSessions]: ...

    def sessions_with_old(self, sessions: Collection[int], before: float) -> list[int]:
        """Those of them that have entries from before a time (Unix seconds) that are no tombstones.
        Reads all entries of the others."""
        ...

    def old_entries(
        self, session: int, before: float, after: int, limit: int
    ) -> list[tuple[int, int]]:
        """Such entries behind the number `after`, at most so many: id, number."""
        ...

    def expire(self, entries: Collection[int]) -> int:
        """Replace entries by tombstones, where they are none yet; how many."""
        ...

    def broken_imports(self, before: float) -> list[int]:
        """Sessions that began to be taken in before a time, and never came to their end."""
        ...

    def drop_originals(self, session: int, limit: int) -> int:
        """Forget what the entries of a session were called in their file; how many of them."""
        ...

    def expire_files(self, sessions: Collection[int], before: float, limit: int) -> int:
        """Let go of the contents that such entries show; how many."""
        ...

    def shown_files(
        self, sessions: Collection[int], before: float
    ) -> tuple[frozenset[str], frozenset[str]]:
        """Where in workspaces stand the contents that entries of these sessions show: those that
        only entries from before a time (Unix seconds) show, and all others."""
        ...

    def tidy_index(self, pages: int) -> bool:
        """Merge a bounded part of the search index, where words were taken out, so that they are
        not in it any more; False where there is nothing left to merge, or the database does it by
        itself."""
        ...

    def give_back(self, pages: int) -> int:
        """Give at most so many free pages of a database file back; how many those were."""
        ...
