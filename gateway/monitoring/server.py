"""The HTTP server that operators ask: three paths, which are read and nothing else. It says nothing
of chats, and takes nothing in."""

import json
import logging
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from http import HTTPStatus

from aiohttp import web

from adapters.serving.bounded_http import BoundedHttp
from adapters.serving.listening import Listen

log = logging.getLogger(__name__)

READ = ("GET", "HEAD")
JSON = "application/json; charset=utf-8"
PLAIN = "text/plain; charset=utf-8"


@dataclass(frozen=True, slots=True)
class Page:
    status: HTTPStatus
    body: bytes
    content_type: str


Show = Callable[[str], Awaitable[Page]]
"""Given a request's Accept header."""


@dataclass
class MonitoringServer:
    listen: Listen
    pages: Mapping[str, Show]
    """By path."""
    _http: BoundedHttp = field(init=False)

    def __post_init__(self) -> None:
        self._http = BoundedHttp(self.listen, self._answer, "[server] listen")

    async def open(self) -> None:
        """Misconfigured where the place to listen cannot be had."""
        await self._http.open()
        log.info("Listening at %s, port %d: %s", self.listen.host, self.port, ", ".join(self.pages))

    @property
    def port(self) -> int:
        """The one that it listens at, also where the system chose it."""
        return self._http.port

    async def close(self) -> None:
        await self._http.close()

    async def _answer(self, request: web.BaseRequest) -> web.StreamResponse:
        page, headers = await self._page(request), {"Cache-Control": "no-store"}
        if page.status is HTTPStatus.METHOD_NOT_ALLOWED:
            headers["Allow"] = ", ".join(READ)
        headers["Content-Type"] = page.content_type
        return web.Response(status=page.status, body=page.body, headers=headers)

    async def _page(self, request: web.BaseRequest) -> Page:
        show = self.pages.get(request.path)
        if show is None:
            return plain(HTTPStatus.NOT_FOUND)
        if request.method not in READ:
            return plain(HTTPStatus.METHOD_NOT_ALLOWED)
        try:
            return await show(request.headers.get("Accept", ""))
        except Exception:
            # The boundary of a request: who asks is told that, and the log why.
            log.exception("%s could not be answered", request.path)
            return plain(HTTPStatus.INTERNAL_SERVER_ERROR)


def plain(status: HTTPStatus) -> Page:
    return Page(status, f"{status.phrase}\n".encode(), PLAIN)


def as_json(status: HTTPStatus, content: Mapping[str, object]) -> Page:
    return Page(status, json.dumps(content, sort_keys=True).encode() + b"\n", JSON)
