"""The HTTP server to which Telegram brings updates: what is let in, before anything is read.

Plain HTTP, for a proxy that speaks TLS to stand before it. Whatever the proxy says of where a
request comes from is not believed: the secret alone decides.
"""

import hmac
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from http import HTTPStatus

from aiohttp import web

from adapters.serving.bounded_http import BoundedHttp
from adapters.serving.listening import Listen

HEADER = "X-Telegram-Bot-Api-Secret-Token"
"""In which Telegram shows the secret."""
LARGEST_BODY = 1_000_000
"""Bytes. Telegram's updates are far smaller."""

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
    _http: BoundedHttp = field(init=False)

    def __post_init__(self) -> None:
        self._http = BoundedHttp(self.listen, self._answer, "[telegram] listen")

    async def open(self) -> None:
        """Misconfigured where the place to listen cannot be had."""
        await self._http.open()

    @property
    def port(self) -> int:
        """The one that it listens at, also where the system chose it."""
        return self._http.port

    async def close(self) -> None:
        await self._http.close()

    async def _answer(self, request: web.BaseRequest) -> web.StreamResponse:
        return web.Response(status=await self._status(request))

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
