"""Conversations that are threads of a channel.

They are rows of the store. They are few, and asked for with every message, so they stand here, too:
read once, at the start, and changed by what takes messages in and what sends them.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from storage.records.inbox_outbox import Thread
from storage.store import Store


@dataclass(slots=True)
class KnownThreads:
    _by_address: dict[str, Thread] = field(default_factory=dict)

    @classmethod
    async def read(cls, store: Store) -> "KnownThreads":
        found: Mapping[str, Thread] = await store.read(lambda tx: tx.directory.threads())
        return cls(dict(found))

    def at(self, address: str) -> Thread | None:
        """None where a conversation is no thread, as far as is known."""
        return self._by_address.get(address)

    def refused_at(self, address: str) -> Thread | None:
        """The thread that a conversation would be, where it cannot be opened."""
        thread = self.at(address)
        return thread if thread is not None and thread.refused else None

    def refused_in(self, channel: str) -> list[str]:
        """The threads of a channel that cannot be opened, the oldest first."""
        known = self._by_address.items()
        return [at for at, one in known if one.refused and one.channel == channel]

    def seen(self, address: str, channel: str) -> None:
        """Somebody speaks in a thread of a channel. What is known of it stays."""
        self._by_address.setdefault(address, Thread(channel))

    def opens(self, address: str, channel: str) -> None:
        """The bot opens it, for a question."""
        self._by_address[address] = Thread(channel, opened=True)

    def refused(self, address: str, channel: str) -> None:
        """It could not be opened."""
        self._by_address[address] = Thread(channel, opened=True, refused=True)
