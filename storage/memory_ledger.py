"""The ledger in memory."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import reduce
from operator import add

from storage.memory_rows import Table
from storage.memory_tree import TreeTables
from storage.records.entries import Usage
from storage.records.ledger import LedgerGroup, LedgerLine, Spending


@dataclass(frozen=True, slots=True)
class Booked:
    line: LedgerLine
    time: float


class MemoryLedger:
    def __init__(self, table: Table[int, Booked], tree: TreeTables, now: float) -> None:
        self._table = table
        self._tree = tree
        self._now = now

    def add(self, line: LedgerLine) -> None:
        self._tree.sessions.expect(line.session)
        self._table[self._table.next_id] = Booked(line, self._now)

    def by_tier(self, delegation: int) -> dict[str, Usage]:
        booked = [b for b in self._table.values() if b.line.delegation == delegation]
        groups = _groups(booked, lambda b: b.line.tier)
        return {tier: reduce(add, (b.line.usage for b in same)) for tier, same in groups.items()}

    def total(
        self, *, since: float, address: str | None = None, person: str | None = None
    ) -> Spending:
        return _sum(self._which(since, address, person))

    def grouped(
        self, by: LedgerGroup, *, since: float, address: str | None = None
    ) -> list[tuple[str, Spending]]:
        groups = _groups(self._which(since, address), lambda b: _name(b, by))
        sums = [(name, _sum(same)) for name, same in groups.items()]
        return sorted(sums, key=lambda group: (-group[1].cost, group[0]))

    def _which(self, since: float, address: str | None, person: str | None = None) -> list[Booked]:
        rows = (b for b in self._table.values() if b.time >= since)
        found = (b for b in rows if address in (None, b.line.address))
        return [b for b in found if person in (None, b.line.person)]


def _name(booked: Booked, by: LedgerGroup) -> str:
    if by == "day":
        return datetime.fromtimestamp(booked.time, UTC).date().isoformat()
    return str(getattr(booked.line, by))


def _groups(booked: Iterable[Booked], key: Callable[[Booked], str]) -> dict[str, list[Booked]]:
    names: dict[str, list[Booked]] = {}
    for one in booked:
        names.setdefault(key(one), []).append(one)
    return names


def _sum(booked: Iterable[Booked]) -> Spending:
    used = [b.line.usage for b in booked]
    return Spending(
        sum(usage.input for usage in used),
        sum(usage.output for usage in used),
        sum(usage.calls for usage in used),
        sum(usage.cost or 0.0 for usage in used),
        sum(usage.cost is None for usage in used),
    )
