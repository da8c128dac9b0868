"""What processes say to each other besides what they commit: at once or never, so nothing may
depend on it alone. Nobody hears what they said themselves."""

import logging
from collections import defaultdict
from collections.abc import Callable

from storage.news import Committed, Signal
from storage.records.entries import Json
from storage.store import Store

log = logging.getLogger(__name__)

Hear = Callable[[Json], None]
"""Called on the event loop."""


class Switchboard:
    def __init__(self, store: Store) -> None:
        self._store = store
        self._handlers: defaultdict[str, list[Hear]] = defaultdict(list)
        store.watch(self._committed)

    def on(self, topic: str, hear: Hear) -> None:
        """Have `hear` called with what other processes say under a topic."""
        self._handlers[topic].append(hear)

    async def say(self, topic: str, message: Json) -> None:
        """StoreUnavailable where the database is away."""
        await self._store.run(lambda tx: tx.signal(topic, message))

    def _committed(self, news: Committed) -> None:
        if news.elsewhere:
            for signal in news.signals:
                for hear in self._handlers[signal.topic]:
                    self._hear(signal, hear)

    def _hear(self, signal: Signal, hear: Hear) -> None:
        """Another process may be of another version: what it says and we do not understand is
        nothing, and keeps nobody from hearing the rest."""
        try:
            hear(signal.message)
        except (KeyError, TypeError, ValueError):
            log.warning("what another process says of %s is not understood", signal.topic)
