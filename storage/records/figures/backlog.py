"""What waits in the database: how much of it, and for how long."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

MOST_COUNTED = 10_000
"""Rows of the inbox or the outbox that are looked at, so that a look costs no more however much
waits. Where there are more, the number says so by being this one."""
MOST_QUESTIONS = 50_000
OTHER = "other"
"""The platform of addresses that are of none of those asked for."""


@dataclass(frozen=True, slots=True)
class Queue:
    count: int = 0
    oldest: float | None = None
    """When the one that waits longest came, in Unix seconds; None where nothing waits."""


@dataclass(frozen=True, slots=True)
class Backlog:
    now: float
    """When it was looked at, in Unix seconds by the store's clock."""
    inbox: Mapping[str, Queue] = field(default_factory=dict)
    """Rows that are not finished, by platform."""
    outbox: Mapping[str, Queue] = field(default_factory=dict)
    """Rows that are to be sent, by platform."""
    questions: Mapping[str, Queue] = field(default_factory=dict)
    """Open ones, by what asks."""
    commands: int = 0
    """Commands that run."""


class Backlogs(Protocol):
    def look(self, platforms: Sequence[str]) -> Backlog:
        """What waits now; what is of none of these platforms stands under OTHER."""
        ...
