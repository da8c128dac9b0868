"""The rights that were given in chats, as they stand in the database: the one place that knows them
between its rows and who asks.

What stands in the database holds. This is its image, because who may what is asked at every message
and every press: read at the start and by every sweep, and changed with each commit of this process,
before anybody hears of that.
"""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from storage.news import Committed
from storage.records.chats.people import Right, Role
from storage.store import Store


@dataclass(slots=True)
class GivenRights:
    clock: Callable[[], float] = time.time
    """Unix seconds: a right ends by it, whether or not anybody has looked since."""
    _known: Mapping[str, Right] = field(default_factory=dict, init=False)
    _commits: int = field(default=0, init=False)
    """Of this process, that changed something."""

    def role(self, identity: str) -> Role | None:
        """What somebody is; None where nothing was given, or its time is over."""
        right = self._known.get(identity)
        return right.role if right is not None and right.holds(self.clock()) else None

    def holding(self, *roles: Role) -> tuple[str, ...]:
        """Identities of those who have one of these roles now."""
        return tuple(identity for identity in self._known if self.role(identity) in roles)

    def owners_for_good(self) -> tuple[str, ...]:
        """Identities of the owners whose right does not end by itself."""
        owners = self.holding(Role.OWNER)
        return tuple(identity for identity in owners if self._known[identity].until is None)

    async def read(self, store: Store) -> frozenset[str]:
        """Take over what stands in the database: another process may have changed it. Whom that
        took a right from."""
        commits = -1
        while commits != self._commits:  # what was read before a commit is older than it
            commits = self._commits
            found = await store.read(lambda tx: tx.rights.all())
        before, self._known = self._known, {right.identity: right for right in found}
        return frozenset(who for who in before if who not in self._known)

    def committed(self, news: Committed) -> None:
        """Take over what a commit of this process changed."""
        if not news.rights:
            return
        self._commits += 1
        known = dict(self._known)
        for identity, right in news.rights.items():
            if right is None:
                known.pop(identity, None)
            else:
                known[identity] = right
        self._known = known
