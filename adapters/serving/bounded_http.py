"""A small HTTP server of ours: so many connections, each with one request and not for long, so that
neither who is slow nor who comes often can hold it up.

Where there is no room for one more, the oldest that is not being answered makes room: who sends a
whole request at once is served while others hold connections and send nothing.

Plain HTTP, for a proxy that speaks TLS to stand before it. aiohttp is imported with this module,
which whoever listens imports late.
"""

import asyncio
import logging
import socket
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web

from adapters.base import Misconfigured
from adapters.serving.listening import Listen

MOST_CONNECTIONS = 200
LIFETIME = 30.0
"""Seconds for which a connection is there at most. Each carries one request, so that this is also
the bound on somebody who sends its body a byte now and then."""
HEAD = 5.0
"""Seconds for the line and the headers of a request."""
_LINGERING = 1.0
"""Seconds for which what was refused unread is still taken off the wire, to be dropped."""

Answer = Callable[[web.BaseRequest], Awaitable[web.StreamResponse]]


@dataclass
class BoundedHttp:
    listen: Listen
    answer: Answer
    key: str
    """Of the configuration, that says where to listen, as people write it."""
    _runner: web.ServerRunner | None = field(default=None, init=False)

    async def open(self) -> None:
        """Misconfigured where the place to listen cannot be had."""
        quiet = logging.getLogger(f"{__name__}.http")
        quiet.setLevel(logging.CRITICAL)  # it would write a traceback for what strangers send
        server = _Server(
            self._once,
            access_log=None,
            logger=quiet,
            lingering_time=_LINGERING,
            auto_decompress=False,
        )
        self._runner = web.ServerRunner(server, shutdown_timeout=1.0)
        await self._runner.setup()
        try:
            await self._site(self._runner).start()
        except OSError as error:
            await self.close()
            why = (error.strerror or "the system does not say why").lower()
            raise Misconfigured(
                f"nothing can listen at {self.listen.host}, port {self.listen.port} ({why}): "
                f"change {self.key}, or end the program that is there"
            ) from None

    @property
    def port(self) -> int:
        """The one that it listens at, also where the system chose it."""
        assert self._runner is not None, "it is open"
        return int(self._runner.addresses[0][1])

    def _site(self, runner: web.ServerRunner) -> web.BaseSite:
        if not (self.listen.everywhere and socket.has_dualstack_ipv6()):
            return web.TCPSite(runner, self.listen.host, self.listen.port)
        # asyncio would have IPv6 alone there, and probes and proxies of IPv4 would find nobody.
        place = (self.listen.host, self.listen.port)
        both = socket.create_server(place, family=socket.AF_INET6, dualstack_ipv6=True)
        return web.SockSite(runner, both)

    async def close(self) -> None:
        runner, self._runner = self._runner, None
        if runner is not None:
            await runner.cleanup()

    async def _once(self, request: web.BaseRequest) -> web.StreamResponse:
        connection = request.protocol
        assert isinstance(connection, _Connection), "the server makes no others"
        with connection.answered():
            response = await self.answer(request)
        response.force_close()
        return response


class _Server(web.Server):
    def __init__(self, *handler: Any, **more: Any) -> None:
        super().__init__(*handler, **more)
        self.open: dict[_Connection, None] = {}
        """Connections, the oldest first."""

    def __call__(self) -> web.RequestHandler:
        return _Connection(self, loop=self._loop, **self._kwargs)

    def make_room(self) -> bool:
        """Whether there is room for one more."""
        if len(self.open) < MOST_CONNECTIONS:
            return True
        oldest = next((one for one in self.open if not one.is_answered), None)
        if oldest is not None:
            oldest.cut()
        return oldest is not None


class _Connection(web.RequestHandler):
    """One request: its head within `HEAD`, all of it within `LIFETIME`. aiohttp itself waits for
    the head of one for an hour."""

    def __init__(self, server: _Server, **more: Any) -> None:
        super().__init__(server, **more)
        self._others = server
        self._ends: list[asyncio.TimerHandle] = []
        self.is_answered = False
        """Whether a whole head has come, and its answer is being found."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(transport)
        assert isinstance(transport, asyncio.Transport)
        if not self._others.make_room():
            transport.abort()
            return
        self._others.open[self] = None
        loop = asyncio.get_running_loop()
        self._ends = [loop.call_later(HEAD, self.cut), loop.call_later(LIFETIME, self.cut)]

    def connection_lost(self, exc: BaseException | None) -> None:
        self._forget()
        super().connection_lost(exc)

    @contextmanager
    def answered(self) -> Iterator[None]:
        """While its request is."""
        if self._ends:
            self._ends[0].cancel()
        self.is_answered = True
        try:
            yield
        finally:
            self.is_answered = False

    def cut(self) -> None:
        self._forget()
        if self.transport is not None:
            self.transport.abort()

    def _forget(self) -> None:
        self._others.open.pop(self, None)
        for end in self._ends:
            end.cancel()
