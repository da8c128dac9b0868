"""The platforms that can be sent to now."""

import asyncio
from collections.abc import Iterator, Mapping

from adapters.base import Adapter


class Connections(Mapping[str, Adapter]):
    """Adapters that have started, by platform. Whoever serves one says so here; all others look."""

    def __init__(self) -> None:
        self._open: dict[str, Adapter] = {}
        self._news = asyncio.Event()

    def opened(self, adapter: Adapter) -> None:
        self._open[adapter.name] = adapter
        self._news.set()

    def closed(self, platform: str) -> None:
        self._open.pop(platform, None)

    async def reached(self, platform: str) -> Adapter:
        """Once it can be sent to."""
        while platform not in self._open:
            self._news.clear()
            await self._news.wait()
        return self._open[platform]

    def __getitem__(self, platform: str) -> Adapter:
        return self._open[platform]

    def __iter__(self) -> Iterator[str]:
        return iter(self._open)

    def __len__(self) -> int:
        return len(self._open)
