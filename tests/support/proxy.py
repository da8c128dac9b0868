"""A TCP proxy between a process and a server, which can be made to behave like a bad network."""

import asyncio
from contextlib import suppress
from pathlib import Path

from tests.stand_ins.serving import TcpServer

_CHUNK = 1 << 16


class Proxy(TcpServer):
    """Leads to a Unix socket."""

    def __init__(self, target: Path, port: int = 0) -> None:
        super().__init__(port)
        self._target = target
        self._open = asyncio.Event()
        self._open.set()
        self._writers: set[asyncio.StreamWriter] = set()

    def part(self) -> None:
        """From now on nothing gets through, and nobody is told: what is sent waits."""
        self._open.clear()

    def join(self) -> None:
        """The end of `part`: what waited gets through."""
        self._open.set()

    def reset(self) -> None:
        """Cut all connections there are. What was under way is lost."""
        for writer in self._writers:
            writer.transport.abort()

    async def _handle(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        ends = [writer]
        try:
            with suppress(OSError):  # the server may be down, which is what some tests are about
                far, away = await asyncio.open_unix_connection(self._target)
                ends.append(away)
                self._writers.update(ends)
                async with asyncio.TaskGroup() as group:
                    group.create_task(self._pass(reader, away))
                    group.create_task(self._pass(far, writer))
        finally:
            self._writers.difference_update(ends)
            for end in ends:
                end.transport.abort()

    async def _pass(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One way, until its end; then the other way ends too."""
        with suppress(OSError):
            while data := await reader.read(_CHUNK):
                await self._open.wait()
                writer.write(data)
                await writer.drain()
        writer.transport.abort()
