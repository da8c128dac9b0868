"""Leases. They end by the clock of the server, which is one for all processes; with SQLite, where
there is one process, by its own."""

from collections.abc import Collection, Mapping
from typing import Any

from sqlalchemy import (
    Column,
    ColumnElement,
    Connection,
    Double,
    MetaData,
    Table,
    bindparam,
    cast,
    delete,
    extract,
    func,
    literal,
    or_,
    select,
    text,
)
from sqlalchemy.dialects import postgresql, sqlite

from storage.sql.dialect import Words
from storage.sql.prepared import Prepared

HOUR = 3_600.0
LONGEST = 60.0
"""Seconds for which a lease is had, at most."""

_RENEW = Prepared(
    text("""
    WITH cut AS (
        UPDATE leases SET until = EXTRACT(EPOCH FROM clock_timestamp()) + :longest
        WHERE until > EXTRACT(EPOCH FROM clock_timestamp()) + :longest
        AND name <> ALL(CAST(:names AS TEXT[]))
    ), had AS (
        INSERT INTO leases (name, owner, until)
        SELECT name, :owner, EXTRACT(EPOCH FROM clock_timestamp()) + :seconds
        FROM unnest(CAST(:names AS TEXT[])) AS name ORDER BY name COLLATE "C"
        ON CONFLICT (name) DO UPDATE SET owner = excluded.owner, until = excluded.until
        WHERE leases.owner = excluded.owner
        OR leases.until <= EXTRACT(EPOCH FROM clock_timestamp())
        RETURNING name
    )
    SELECT name, CAST(:owner AS TEXT) FROM had
    UNION ALL SELECT name, owner FROM leases
    WHERE until > EXTRACT(EPOCH FROM clock_timestamp()) AND name NOT IN (SELECT name FROM had)
    """)
)
"""PostgreSQL's: every process does this again and again, so it is one statement, which SQLAlchemy
need not compile anew for so many rows. What ends later than any lease may is of a time before the
server's clock was set back. Who lives renews it; that of who is gone would last as long."""

leases = Table(
    "leases",
    MetaData(),  # of its own: it is neither copied nor kept, as processes are gone then
    Column("name", Words, primary_key=True),
    Column("owner", Words, nullable=False),
    Column("until", Double, nullable=False),
)

_SERVERS_CLOCK = cast(extract("epoch", func.clock_timestamp()), Double)
_LAST = "\U0010ffff"
"""Sorts after all that a name has."""
_held = select(leases.c.name, leases.c.owner).where(
    leases.c.name >= bindparam("low"), leases.c.name < bindparam("high")
)
_HELD = {
    "postgresql": Prepared(_held.where(leases.c.until > _SERVERS_CLOCK)),
    "sqlite": Prepared(_held.where(leases.c.until > bindparam("now"))),
}


class SqlLeases:
    def __init__(self, connection: Connection, now: float) -> None:
        self._connection = connection
        self._now = now

    def take(self, names: Collection[str], owner: str, seconds: float) -> frozenset[str]:
        if not names:
            return frozenset()
        now = self._clock()
        rows: list[dict[str, Any]] = [
            {"name": name, "owner": owner, "until": now + seconds} for name in sorted(set(names))
        ]
        of = postgresql if self._connection.dialect.name == "postgresql" else sqlite
        insert = of.insert(leases).values(rows)
        free = or_(leases.c.owner == owner, leases.c.until <= now)
        taken = insert.on_conflict_do_update(
            index_elements=[leases.c.name],
            set_={"owner": insert.excluded.owner, "until": insert.excluded.until},
            where=free,
        ).returning(leases.c.name)
        return frozenset(self._connection.execute(taken).scalars())

    def renew(self, names: Collection[str], owner: str, seconds: float) -> Mapping[str, str]:
        if self._connection.dialect.name == "postgresql":
            values = {
                "names": sorted(names),
                "owner": owner,
                "seconds": seconds,
                "longest": LONGEST,
            }
            held: list[Any] = _RENEW.rows(self._connection, values)
            return dict(held)
        self.take(names, owner, seconds)
        return self.holders("")

    def release(self, owner: str, names: Collection[str] | None = None) -> None:
        mine = delete(leases).where(leases.c.owner == owner)
        if names is not None:
            mine = mine.where(leases.c.name.in_(names))
        self._connection.execute(mine)

    def holders(self, prefix: str) -> Mapping[str, str]:
        dialect = self._connection.dialect.name
        values: dict[str, Any] = {"low": prefix, "high": prefix + _LAST}
        if dialect == "sqlite":
            values["now"] = self._now
        return dict(_HELD[dialect].rows(self._connection, values))

    def tidy(self) -> None:
        self._connection.execute(delete(leases).where(leases.c.until <= self._clock() - HOUR))

    def _clock(self) -> ColumnElement[float]:
        return clock_of(self._connection, self._now)


def clock_of(connection: Connection, now: float) -> ColumnElement[float]:
    """Unix seconds by the clock that leases end by; `now` where the transaction's is that one."""
    if connection.dialect.name == "postgresql":
        return _SERVERS_CLOCK
    return literal(now)
