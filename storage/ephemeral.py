"""What holds only while the process lives that wrote it: what its children do now, which commands
it runs, what it set aside. Other processes read it, and look away once its writer is gone."""

from collections.abc import Collection
from dataclasses import dataclass
from typing import Protocol

from storage.records.entries import Json

PROCESS = "process:"
"""How the name of the lease begins by which a process shows that it lives; its name follows."""


@dataclass(frozen=True, slots=True)
class EphemeralRow:
    kind: str
    key: str
    """One of its kind."""
    owner: str
    """The process that wrote it."""
    scope: str
    """What it is about, where there are many."""
    body: Json
    age: float
    """Seconds since it was written, by the clock of the database, which all processes share."""


class Ephemeral(Protocol):
    def put(self, kind: str, key: str, owner: str, body: Json, scope: str = "") -> bool:
        """Write or change a row. False, and nothing happens, where it is another process's that
        lives."""
        ...

    def of(
        self, kind: str, scope: str | None = None, *, keys: Collection[str] | None = None
    ) -> list[EphemeralRow]:
        """What processes that live have written, of one scope or some keys where they are given;
        by key."""
        ...

    def last(self, kind: str, key: str) -> EphemeralRow | None:
        """Whoever wrote it, alive or not."""
        ...

    def drop(self, kind: str, keys: Collection[str], owner: str) -> None:
        """Remove rows, but for those that are another process's by now."""
        ...

    def clear(self, kind: str) -> None:
        """Remove all of a kind, whoever wrote them."""
        ...

    def leave(self, owner: str) -> None:
        """Remove all that a process wrote: it ends."""
        ...

    def prune(self, seconds: float) -> int:
        """Remove what was written so long ago by processes that live no more; how many."""
        ...

    def living(self) -> frozenset[str]:
        """The processes that live, by their leases."""
        ...
