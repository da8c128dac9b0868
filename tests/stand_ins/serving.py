"""What the servers that run here have in common: they listen on 127.0.0.1 while an `async with`
block runs, at a port that is given or found."""

import asyncio
from abc import ABC, abstractmethod
from typing import Self

from aiohttp import web


async def listen(runner: web.AppRunner, port: int = 0) -> int:
    """Serve until the runner is cleaned up; the port."""
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", port).start()
    return int(runner.addresses[0][1])


class TcpServer(ABC):
    """One that knows no HTTP library's ways: `_handle` has each connection until its end."""

    def __init__(self, port: int = 0) -> None:
        self.port = port
        self._server: asyncio.Server | None = None
        self._serving: set[asyncio.Task[None]] = set()

    async def __aenter__(self) -> Self:
        self._server = await self._start()
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, *_: object) -> None:
        assert self._server is not None
        self._server.close()
        for task in self._serving:
            task.cancel()
        await asyncio.gather(*self._serving, return_exceptions=True)

    async def _start(self) -> asyncio.Server:
        return await asyncio.start_server(self._serve, "127.0.0.1", self.port)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._serving.add(task)
        try:
            await self._handle(reader, writer)
        finally:
            self._serving.discard(task)

    @abstractmethod
    async def _handle(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None: ...
