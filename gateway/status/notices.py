"""The one way out for signs of life: typing, progress, the live panel, acknowledgements of presses.

A notice is a value, sent at once or not at all: it is never stored, and nothing waits for it. So it
may be made where its platform is not connected, once it can be carried to the process where it is.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from adapters.base import Acknowledge, Adapter, Draft, Edit, Post, Typing, Unavailable

Notice = Typing | Draft | Post | Edit | Acknowledge


@dataclass(frozen=True, slots=True)
class Notices:
    connections: Mapping[str, Adapter]
    """Those that can be sent to now, by platform."""

    async def send(self, platform: str, notice: Notice) -> str | None:
        """The id of a message that was posted, else None. Raises an AdapterError: Unavailable
        where the platform is away."""
        adapter = self.connections.get(platform)
        if adapter is None:
            raise Unavailable(f"{platform} is away")
        return await adapter.deliver(notice)
