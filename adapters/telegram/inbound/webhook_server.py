"""The HTTP server to which Telegram brings updates: what is let in, before anything is read.

Plain HTTP, for a proxy that speaks TLS to stand before it. Whatever the proxy says of where a
request comes from is not believed: the secret alone decides.
"""

import asyncio
import hmac
import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any

from aiohttp import web

from adapters.base import Misconfigured
from adapters.listening import Listen

HEADER = "X-Telegram-Bot-Api-Secret-Token"
"""In which Telegram shows the secret."""
LARGEST_BODY = 1_000_000
"""Bytes. Telegram's updates are far smaller."""
MOST_CONNECTIONS = 200
LIFETIME = 30.0
"""Seconds for which a connection is there at most. Each carries one request, so that this is also
the bound on somebody who sends a byte now and then."""
_LINGERING = 1.0
"""Seconds for which what was refused unread is still taken off the wire, to be dropped."""

Bring = Callable[[bytes], Awaitable[HTTPStatus]]
"""Takes the body of a request that may be read; what to answer."""


@dataclass
class WebhookServer:
    listen: Listen
    path: str
    """Of the URL that Telegram was told, without host and query."""
    secret: str = field(repr=False)
    bring: Bring
    refused: int = field(default=0, init=False)
    """Requests without the right secret, since somebody last set this to 0."""
    _runner: web.ServerRunner | None = field(default=None, init=False)

    async def open(self) -> None:
        """Misconfigured where the place to listen cannot be had."""
        quiet = logging.getLogger(f"{__name__}.http")
        quiet.setLevel(logging.CRITICAL)  # it would write a traceback for what strangers send
        server = _Server(
            self._answer,
            access_log=None,
            logger=quiet,
            lingering_time=_LINGERING,
            auto_decompress=False,
        )
        self._runner = web.ServerRunner(server, shutdown_timeout=1.0)
        await self._runner.setup()
        try:
            await web.TCPSite(self._runner, self.listen.host, self.listen.port).start()
        except OSError as error:
            await self.close()
            why = (error.strerror or "the system does not say why").lower()
            raise Misconfigured(
                f"nothing can listen at {self.listen.host}, port {self.listen.port} ({why}): "
                "change [telegram] listen, or end the program that is there"
            ) from None

    @property
    def port(self) -> int:
        """The one that it listens at, also where the system chose it."""
        assert self._runner is not None, "it is open"
        return int(self._runner.addresses[0][1])

    async def close(self) -> None:
        runner, self._runner = self._runner, None
        if runner is not None:
            await runner.cleanup()

    async def _answer(self, request: web.BaseRequest) -> web.StreamResponse:
        response = web.Response(status=await self._status(request))
        response.force_close()
        return response

    async def _status(self, request: web.BaseRequest) -> HTTPStatus:
        """The secret is looked at before the body: of a stranger's request nothing is read."""
        if request.path != self.path or request.method != "POST":
            return HTTPStatus.NOT_FOUND
        if not self._is_telegram(request):
            self.refused += 1
            return HTTPStatus.UNAUTHORIZED
        if request.content_type != "application/json" or "Content-Encoding" in request.headers:
            return HTTPStatus.UNSUPPORTED_MEDIA_TYPE
        if (request.content_length or 0) > LARGEST_BODY:
            return HTTPStatus.REQUEST_ENTITY_TOO_LARGE
        body = bytearray()
        try:
            async for part in request.content.iter_any():
                body += part
                if len(body) > LARGEST_BODY:
                    return HTTPStatus.REQUEST_ENTITY_TOO_LARGE
        except (web.RequestPayloadError, ConnectionError):
            return HTTPStatus.BAD_REQUEST
        return await self.bring(bytes(body))

    def _is_telegram(self, request: web.BaseRequest) -> bool:
        given = request.headers.getall(HEADER, [])
        shown = given[0].encode("utf-8", "surrogateescape") if len(given) == 1 else b""
        return hmac.compare_digest(shown, self.secret.encode())


class _Server(web.Server):
    def __call__(self) -> web.RequestHandler:
        return _Connection(self, loop=self._loop, **self._kwargs)


class _Connection(web.RequestHandler):
    """One request, within `LIFETIME`. aiohttp itself waits for the head of one for an hour."""

    def __init__(self, server: _Server, **more: Any) -> None:
        super().__init__(server, **more)
        self._others = server
        self._end: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(transport)
        assert isinstance(transport, asyncio.Transport)
        if len(self._others.connections) > MOST_CONNECTIONS:
            transport.abort()
        else:
            loop = asyncio.get_running_loop()
            self._end = loop.call_later(LIFETIME, transport.abort)

    def connection_lost(self, exc: BaseException | None) -> None:
        if self._end is not None:
            self._end.cancel()
        super().connection_lost(exc)
