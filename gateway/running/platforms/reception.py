"""What this process receives of the platforms, and what others do."""

from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import partial

from adapters.base import Adapter
from adapters.platforms import PLATFORMS
from gateway.outbound.connections import Connections
from gateway.processes.duties import Duties
from gateway.processes.roles import Role
from gateway.processes.shares import Share, receiving
from gateway.running.platforms.renewal import Renewal
from gateway.turns.failures import once_there


@dataclass
class Reception:
    role: Role
    duties: Duties
    renewal: Renewal
    here: Connections = field(default_factory=Connections, init=False)
    """Platforms that this process receives from now."""
    _open: set[str] = field(default_factory=set, init=False)
    """Feeds that are received from."""

    def wanted(self, adapter: Adapter) -> bool:
        """Whether this process is to receive from a platform at all."""
        local = adapter.name in PLATFORMS and PLATFORMS[adapter.name].local
        return self.role.receives or local

    @asynccontextmanager
    async def of(self, adapter: Adapter) -> AsyncIterator[Share | None]:
        """Take part in receiving from a platform; None where any number of processes may."""
        if not adapter.feeds:
            yield None
            return
        share = receiving(adapter.name, adapter.feeds)
        self.duties.want(share, lambda feed: feed not in self._open)
        try:
            await once_there(self.duties.begin, adapter.name)
            yield share
        finally:
            self.duties.leave(share)

    async def taken(self, share: Share | None, standby: Callable[[], None]) -> Mapping[str, int]:
        """What of it is this process's, once there is something; `standby` is called where that
        has to be waited for."""
        if share is None:
            return {}
        if mine := self.duties.mine(share):
            return mine
        standby()
        return await self.duties.other_than(share, {})

    @asynccontextmanager
    async def receiving(self, adapter: Adapter, feeds: Mapping[str, int]) -> AsyncIterator[None]:
        """Open questions whose buttons may be dead are renewed first."""
        self._open |= feeds.keys()
        try:
            await once_there(partial(self.renewal.began, adapter.name), adapter.name)
            self.here.opened(adapter)
            yield
        finally:
            self.here.closed(adapter.name)
            self._open -= feeds.keys()
            self.duties.settled()
