"""The ledger in SQL."""

from datetime import UTC, datetime

from sqlalchemy import ColumnElement, Connection, Text, bindparam, cast, func, insert, select

from storage.records.entries import Usage
from storage.records.ledger import LedgerGroup, LedgerLine, Spending
from storage.sql.dialect import Count
from storage.sql.prepared import Prepared
from storage.sql.rows import Shape, usage_shape
from storage.sql.schema import ledger

_LINES = Shape(LedgerLine, ledger, usage=usage_shape(ledger))
_LINE = [column.name for column in ledger.c if not column.primary_key]
_ADD = Prepared(insert(ledger).values({name: bindparam(name) for name in _LINE}))
_COST = func.sum(ledger.c.cost)
_UNKNOWN = func.count() - func.count(ledger.c.cost)
_SUMS = (
    # PostgreSQL sums up to decimals.
    cast(func.coalesce(func.sum(ledger.c.input_tokens), 0), Count),
    cast(func.coalesce(func.sum(ledger.c.output_tokens), 0), Count),
    cast(func.coalesce(func.sum(ledger.c.calls), 0), Count),
    func.coalesce(_COST, 0.0),
    _UNKNOWN,
    cast(func.coalesce(func.sum(ledger.c.cached_tokens), 0), Count),
)
_BY_TIER = (
    select(ledger.c.tier, *_SUMS)
    .where(ledger.c.delegation == bindparam("delegation"))
    .group_by(ledger.c.tier)
)


class SqlLedger:
    def __init__(self, connection: Connection, now: float) -> None:
        self._connection = connection
        self._now = now
        self.added: list[LedgerLine] = []

    def add(self, line: LedgerLine) -> None:
        day = datetime.fromtimestamp(self._now, UTC).date().isoformat()
        _ADD.later(self._connection, _LINES.row(line) | {"time": self._now, "day": day})
        self.added.append(line)

    def by_tier(self, delegation: int) -> dict[str, Usage]:
        rows = self._connection.execute(_BY_TIER, {"delegation": delegation})
        return {tier: _usage(Spending(*sums)) for tier, *sums in rows}

    def total(
        self, *, since: float, address: str | None = None, person: str | None = None
    ) -> Spending:
        query = select(*_SUMS).where(*_which(since, address, person))
        return Spending(*self._connection.execute(query).one())

    def grouped(
        self, by: LedgerGroup, *, since: float, address: str | None = None
    ) -> list[tuple[str, Spending]]:
        column = cast(ledger.c[by], Text)
        query = select(column, *_SUMS).where(*_which(since, address)).group_by(column)
        groups = [(name, Spending(*sums)) for name, *sums in self._connection.execute(query)]
        # Not in SQL: how texts are sorted there depends on the server.
        return sorted(groups, key=lambda group: (-group[1].cost, group[0]))


def _which(
    since: float, address: str | None, person: str | None = None
) -> list[ColumnElement[bool]]:
    where: list[ColumnElement[bool]] = [ledger.c.time >= since]
    if address is not None:
        where.append(ledger.c.address == address)
    if person is not None:
        where.append(ledger.c.person == person)
    return where


def _usage(spent: Spending) -> Usage:
    """Where the cost of one call is not known, neither is that of all."""
    cost = None if spent.unpriced else spent.cost
    return Usage(spent.input, spent.output, spent.calls, cost, spent.cached)
