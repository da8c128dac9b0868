"""The clock of a PostgreSQL server, for those who connect by a URL of their own: set forward and
back while they are connected.

Functions of the same names come before the server's own in their search path. What a column has by
default is the server's time all the same.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import psycopg


@dataclass(frozen=True, slots=True)
class ServersClock:
    url: str
    """By which this clock is the server's."""
    _plain: str

    def set_ahead(self, seconds: float) -> None:
        """Below 0 it is behind."""
        with psycopg.connect(self._plain) as connection:
            connection.execute("UPDATE moved.clock SET ahead = %s", [seconds])


@contextmanager
def servers_clock(url: str) -> Iterator[ServersClock]:
    with psycopg.connect(url) as connection:
        connection.execute("CREATE SCHEMA moved")
        connection.execute("CREATE TABLE moved.clock AS SELECT 0.0::double precision AS ahead")
        for name in ("now", "clock_timestamp"):
            connection.execute(
                f"CREATE FUNCTION moved.{name}() RETURNS timestamptz VOLATILE LANGUAGE sql AS "
                f"'SELECT pg_catalog.{name}() + make_interval(secs => ahead) FROM moved.clock'"
            )
    try:
        path = "-csearch_path%3Dmoved,pg_catalog,public"
        yield ServersClock(f"{url}&options={path}", url)
    finally:
        with psycopg.connect(url) as connection:
            connection.execute("DROP SCHEMA moved CASCADE")
