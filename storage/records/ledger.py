"""The ledger: a line of it is one model call, what it used, and for whom."""

from dataclasses import dataclass
from typing import Literal, Protocol

from storage.records.entries import Usage

LedgerGroup = Literal["tier", "model", "person", "address", "day", "session"]
"""Days are UTC, as "2026-11-21"."""


@dataclass(frozen=True, slots=True)
class Spending:
    """What model calls used, added up."""

    input: int = 0
    output: int = 0
    calls: int = 0
    cost: float = 0.0
    """Dollars of the calls whose cost is known."""
    unpriced: int = 0
    """How many calls' cost is not known."""
    cached: int = 0
    """Tokens of `input` that providers had in their prompt caches."""


@dataclass(frozen=True, slots=True)
class LedgerLine:
    tier: str
    """parent, worker, overseer, judge."""
    model: str
    usage: Usage
    session: int
    """The session that called: the chat's, or that of a child's delegation."""
    address: str
    """The conversation it was for."""
    person: str
    """Identity of who asked for it; "" where nobody did."""
    delegation: int | None = None


class Ledger(Protocol):
    """What model calls used, and for whom. Lines are only ever added."""

    def add(self, line: LedgerLine) -> None: ...

    def by_tier(self, delegation: int) -> dict[str, Usage]:
        """What each tier used in one delegation."""
        ...

    def total(
        self, *, since: float, address: str | None = None, person: str | None = None
    ) -> Spending:
        """Since a time in Unix seconds: of one conversation or person, or of all."""
        ...

    def grouped(
        self, by: LedgerGroup, *, since: float, address: str | None = None
    ) -> list[tuple[str, Spending]]:
        """The same in groups, the dearest first."""
        ...
