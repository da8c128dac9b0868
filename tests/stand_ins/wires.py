"""A server that answers as any provider does, in bytes that a test hands it, and keeps requests."""

import asyncio
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Self

from aiohttp import web

from storage.records.entries import Json
from tests.stand_ins.serving import listen


@dataclass(frozen=True, slots=True)
class Whole:
    body: Json
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Stream:
    content_type: str
    pieces: Sequence[bytes]
    cut: bool = False
    """Whether the connection is closed without an end."""


@dataclass(frozen=True, slots=True)
class Asked:
    path: str
    body: Json


class WireServer:
    """Listens on 127.0.0.1 while its `async with` block runs; `answers` are used up in order."""

    def __init__(self) -> None:
        self.answers: deque[Whole | Stream] = deque()
        self.asked: list[Asked] = []
        self.url = ""
        app = web.Application()
        app.router.add_route("*", "/{path:.*}", self._answer)
        self._runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1)

    async def __aenter__(self) -> Self:
        self.url = f"http://127.0.0.1:{await listen(self._runner)}"
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._runner.cleanup()

    async def _answer(self, request: web.Request) -> web.StreamResponse:
        body = await request.json() if request.can_read_body else {}
        self.asked.append(Asked(request.path, body))
        match self.answers.popleft() if self.answers else None:
            case Whole(body, status, headers):
                return web.json_response(body, status=status, headers=headers)
            case Stream() as stream:
                return await _stream(request, stream)
            case None:
                return web.json_response({"error": "nothing is left to answer"}, status=418)


async def _stream(request: web.Request, stream: Stream) -> web.StreamResponse:
    response = web.StreamResponse(headers={"Content-Type": stream.content_type})
    await response.prepare(request)
    try:
        for piece in stream.pieces:
            await response.write(piece)
            await asyncio.sleep(0)
        if stream.cut:
            assert request.transport is not None
            request.transport.close()
        else:
            await response.write_eof()
    except ConnectionError:
        pass  # the client had all that it wanted
    return response
