"""The seam to the job engine: a session that something is due in is a job, which one process of
many carries out. The store knows what is due, a job only says that somebody is to look: one that is
lost or comes twice does no harm.
"""

from collections.abc import Awaitable, Callable, Collection, Mapping
from dataclasses import dataclass, field
from typing import Protocol

Advance = Callable[[int], Awaitable[None]]
"""Does what is due in a session."""


@dataclass(frozen=True, slots=True)
class Periodic:
    """What one process of many does again and again."""

    cron: str
    """Five fields, or six with seconds as the last one."""
    run: Callable[[], Awaitable[None]]


@dataclass(slots=True)
class TakenJob:
    """A job that this process has from the transaction that makes it, as if it had fetched it: no
    other process is told of it, or has it before this one ends it."""

    id: int
    session: int
    worker: int
    """Who has it: as the engine knows this process."""
    work: Callable[[], Awaitable[None]] | None = field(default=None, compare=False)
    """What it does; None: what each job does (Advance)."""


class Jobs(Protocol):
    async def wake(self, sessions: Collection[int]) -> None:
        """Have somebody look at these sessions, where nobody is to already. What a transaction
        makes due is woken by its commit."""
        ...

    async def working(self, session: int) -> bool:
        """Whether some process works on a session now, as far as the engine knows."""
        ...

    async def work(self, advance: Advance, periodic: Mapping[str, Periodic]) -> None:
        """Carry out what is due, of whatever process, until cancelled; what was begun is over by
        then. What a process left that died is taken up again."""
        ...

    def fetch_no_more(self) -> None:
        """Leave what is due to other processes; what was begun goes on."""
        ...

    async def close(self) -> None: ...
