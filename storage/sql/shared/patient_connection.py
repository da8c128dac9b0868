"""A connection that sleeps until something comes. psycopg's own wakes up ten times a second while
it waits, in case of a Ctrl-C, which asyncio sees to by itself."""

from typing import Any, TypeVar

from psycopg import AsyncConnection
from psycopg.abc import PQGen

T = TypeVar("T")

LOOK_EVERY = 60.0
"""Seconds."""


class PatientConnection(AsyncConnection[Any]):
    async def wait(self, gen: PQGen[T], *_interval: Any, **more: Any) -> T:
        return await super().wait(gen, **{**more, "interval": LOOK_EVERY})
