"""The one way out for signs of life: typing, progress, the live panel, acknowledgements of presses.

A notice is a value, sent at once or not at all: it is never stored, and nothing waits for it. So it
may be made where its platform is not connected, once it can be carried to the process where it is.
Where a chat is told as much as its platform allows, it is not sent. But the last edit of a message,
which is not followed by another, waits a little.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from adapters.base import Acknowledge, Adapter, Draft, Edit, Post, Typing, Unavailable
from gateway.outbound.pace import Pace

Notice = Typing | Draft | Post | Edit | Acknowledge

PATIENCE = 5.0
"""Seconds that a last edit waits for its turn: a turn ends with it."""


@dataclass(frozen=True, slots=True)
class Notices:
    connections: Mapping[str, Adapter]
    """Those that can be sent to now, by platform."""
    pace: Pace = field(default_factory=Pace)

    async def send(self, platform: str, notice: Notice) -> str | None:
        """The id of a message that was posted, else None. Raises an AdapterError: Unavailable
        where the platform is away, Throttled where it is not its turn. A press is acknowledged
        whatever else is said: its platform does not wait."""
        adapter = self.connections.get(platform)
        if adapter is None:
            raise Unavailable(f"{platform} is away")
        if isinstance(notice, Acknowledge):
            return await adapter.deliver(notice)
        last = isinstance(notice, Edit) and not notice.fleeting
        kind = type(notice).__name__.lower()
        async with self.pace.turn(
            notice.conversation, kind, fleeting=not last, patience=PATIENCE if last else None
        ):
            return await adapter.deliver(notice)
