"""Lines of the ledger added up, in SQL."""

from typing import Any

from sqlalchemy import Connection, delete, func, insert, select

from storage.sql.schema import ledger

_GROUP = (
    ledger.c.day,
    ledger.c.tier,
    ledger.c.model,
    ledger.c.session,
    ledger.c.address,
    ledger.c.person,
    # Where a price is not known, that of a sum is not either: those are added up apart.
    ledger.c.cost.is_(None),
)


def sum_up(connection: Connection, before: float, limit: int) -> int:
    """See Pruning.sum_up."""
    groups = (
        select(*_GROUP, func.count())
        .where(ledger.c.time < before)
        .group_by(*_GROUP)
        .having((func.count() > 1) | (func.count(ledger.c.delegation) > 0))
        .limit(limit)
    )
    taken = 0
    for *key, _ in connection.execute(groups).all():
        taken += _one(connection, before, key)
        if taken >= limit:
            break
    return taken


def _one(connection: Connection, before: float, key: list[Any]) -> int:
    these = [column == value for column, value in zip(_GROUP[:-1], key[:-1], strict=True)]
    these += [
        ledger.c.time < before,
        ledger.c.cost.is_(None) if key[-1] else ledger.c.cost.is_not(None),
    ]
    sums = (
        func.max(ledger.c.time),
        func.sum(ledger.c.input_tokens),
        func.sum(ledger.c.output_tokens),
        func.sum(ledger.c.calls),
        func.sum(ledger.c.cost),
        func.sum(ledger.c.cached_tokens),
    )
    time, input_, output, calls, cost, cached = connection.execute(
        select(*sums).where(*these)
    ).one()
    gone = connection.execute(delete(ledger).where(*these)).rowcount
    day, tier, model, session, address, person, _ = key
    values = {
        "time": time,
        "day": day,
        "tier": tier,
        "model": model,
        "session": session,
        "address": address,
        "person": person,
        "input_tokens": int(input_),
        "output_tokens": int(output),
        "calls": int(calls),
        "cost": cost,
        "cached_tokens": int(cached),
        "delegation": None,
    }
    connection.execute(insert(ledger).values(values))
    return gone
