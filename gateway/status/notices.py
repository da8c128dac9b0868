"""The one way out for signs of life: typing, progress, the live panel, acknowledgements of presses.

A notice is a value, sent at once or not at all: it is never stored, and nothing waits for it. It is
made in the process that works, and carried to the one that sends to that chat and counts how much
is said there; but a press is acknowledged by the process that got it.
Where a chat is told as much as its platform allows, it is not sent. But the last edit of a message,
which is not followed by another, waits a little.
"""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

from adapters.base import Acknowledge, Adapter, Edit, Unavailable
from adapters.pacing import Urgency
from gateway.outbound.pace import Pace
from gateway.processes.duties import Duties, Hold, Lapsed
from gateway.processes.shares import bucket_of
from gateway.status.carrying import Carried, Carrier

Notice = Carried | Acknowledge

PATIENCE = 5.0
"""Seconds that a last edit waits for its turn: a turn ends with it."""


@dataclass(frozen=True, slots=True)
class Notices:
    connections: Mapping[str, Adapter]
    """Those that can be sent to now, by platform."""
    pace: Pace = field(default_factory=Pace)
    duties: Duties = field(default_factory=Duties)
    carrier: Carrier | None = None
    """To other processes, where there may be any."""
    _busy: Counter[str] = field(default_factory=Counter, init=False)
    """How many are under way, by bucket."""

    def __post_init__(self) -> None:
        if self.carrier is not None:
            self.carrier.serve(self._in_time)

    async def send(self, platform: str, notice: Notice) -> str | None:
        """The id of a message that was posted, else None. Raises an AdapterError: Unavailable
        where the platform is away, Throttled where it is not its turn. A press is acknowledged
        whatever else is said: its platform does not wait."""
        if isinstance(notice, Acknowledge):
            return await self._adapter(platform).deliver(notice)
        if self.carrier is None:
            return await self._in_turn(notice)
        bucket = bucket_of(notice.conversation.address)
        if self.duties.has(bucket):
            return await self._in_time(bucket, notice)
        return await self.carrier.ask(bucket, notice)

    def nothing_under_way(self, bucket: str) -> bool:
        return not self._busy[bucket]

    async def close(self) -> None:
        if self.carrier is not None:
            await self.carrier.close()

    async def _in_time(self, bucket: str, notice: Carried) -> str | None:
        """While this process sends there."""
        tenure = self.duties.tenure(bucket)
        self._busy[bucket] += 1
        try:
            if tenure is None:
                raise Lapsed
            async with self.duties.hold(bucket, tenure) as hold:
                return await self._in_turn(notice, hold)
        except Lapsed:
            raise Unavailable("another process sends there now") from None
        finally:
            self._busy[bucket] -= 1
            self.duties.settled()

    async def _in_turn(self, notice: Carried, hold: Hold | None = None) -> str | None:
        adapter = self._adapter(notice.conversation.platform)
        last = isinstance(notice, Edit) and not notice.fleeting
        kind = type(notice).__name__.lower()
        urgency = Urgency.NOTICE if last else Urgency.FLEETING
        patience = PATIENCE if last else None
        async with self.pace.turn(notice.conversation, kind, urgency, patience=patience):
            if hold is not None:
                hold.acts = True
            return await adapter.deliver(notice)

    def _adapter(self, platform: str) -> Adapter:
        adapter = self.connections.get(platform)
        if adapter is None:
            raise Unavailable(f"{platform} is away")
        return adapter
