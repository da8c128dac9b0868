"""Duties that one process has at a time: polling a platform, sending to a share of the chats."""

from collections.abc import Collection, Mapping
from typing import Protocol


class Leases(Protocol):
    """A lease is had until its time is over, by the clock of the database, which all processes
    share. Who still does the work is to renew it well before."""

    def take(self, names: Collection[str], owner: str, seconds: float) -> frozenset[str]:
        """Take or renew what nobody else has; which of the names the owner has from now on, for so
        many seconds."""
        ...

    def renew(self, names: Collection[str], owner: str, seconds: float) -> Mapping[str, str]:
        """Do as `take` does; who has what from now on, of all names."""
        ...

    def release(self, owner: str, names: Collection[str] | None = None) -> None:
        """Let go of some, or of all that the owner has. What others have stays theirs."""
        ...

    def holders(self, prefix: str) -> Mapping[str, str]:
        """Who has what now, of the names that begin so."""
        ...

    def tidy(self) -> None:
        """Forget those that nobody has had for an hour: each process leaves some of its own."""
        ...
