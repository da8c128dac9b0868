"""Strangers at a port of ours: who holds connections or is too slow keeps nobody out."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from aiohttp import web

from adapters.serving import bounded_http
from adapters.serving.bounded_http import MOST_CONNECTIONS, BoundedHttp
from adapters.serving.listening import Listen

Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]
HEAD = b"GET / HTTP/1.1\r\nHost: x\r\n\r\n"
SLOW = b"GET / HTTP/1.1\r\nHost:"


class Desk:
    """Answers at once, but for `/slow`, which waits for `open`."""

    def __init__(self) -> None:
        self.http = BoundedHttp(Listen("127.0.0.1", 0), self._answer, "[server] listen")
        self.open = asyncio.Event()
        self.asked = 0
        self._strangers: list[Streams] = []

    async def _answer(self, request: web.BaseRequest) -> web.StreamResponse:
        if request.path == "/slow":
            self.asked += 1
            await self.open.wait()
        return web.Response(text="here")

    async def comes(self, words: bytes) -> Streams:
        """Somebody who says this, and holds the connection."""
        reader, writer = await asyncio.open_connection("127.0.0.1", self.http.port)
        writer.write(words)
        self._strangers.append((reader, writer))
        return reader, writer

    async def asks(self) -> bytes:
        """All that is answered to a whole request."""
        reader, _ = await self.comes(HEAD)
        return await reader.read()

    async def leave(self) -> None:
        for _, writer in self._strangers:
            writer.transport.abort()


@asynccontextmanager
async def desk() -> AsyncIterator[Desk]:
    one = Desk()
    await one.http.open()
    try:
        yield one
    finally:
        await one.leave()
        await one.http.close()


async def cut(reader: asyncio.StreamReader) -> bool:
    try:
        return await reader.read() == b""
    except ConnectionError:
        return True


@pytest.mark.parametrize("words", [b"", SLOW])
async def test_who_asks_is_answered_while_hundreds_hold_connections(words: bytes) -> None:
    async with desk() as one:
        for _ in range(MOST_CONNECTIONS + 50):
            await one.comes(words)
        for _ in range(5):
            assert (await one.asks()).endswith(b"here")


async def test_the_oldest_that_asked_nothing_makes_room(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bounded_http, "MOST_CONNECTIONS", 2)
    async with desk() as one:
        asking, _ = await one.comes(HEAD.replace(b"/", b"/slow", 1))
        while not one.asked:
            await asyncio.sleep(0)
        idle, _ = await one.comes(SLOW)
        assert (await one.asks()).endswith(b"here")
        assert await cut(idle)
        one.open.set()
        assert (await asking.read()).endswith(b"here")


async def test_where_all_are_being_answered_the_next_one_is_sent_away(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(bounded_http, "MOST_CONNECTIONS", 2)
    async with desk() as one:
        asking = [await one.comes(HEAD.replace(b"/", b"/slow", 1)) for _ in range(2)]
        while one.asked < 2:
            await asyncio.sleep(0)
        reader, _ = await one.comes(HEAD)
        assert await cut(reader)
        one.open.set()
        for reader, _ in asking:
            assert (await reader.read()).endswith(b"here")
        assert (await one.asks()).endswith(b"here")


@pytest.mark.parametrize("limit", ["HEAD", "LIFETIME"])
async def test_who_sends_a_byte_now_and_then_is_cut_off(
    limit: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bounded_http, limit, 0.1)
    async with desk() as one:
        reader, _ = await one.comes(SLOW)
        assert await cut(reader)


async def test_an_answer_may_take_longer_than_a_head(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bounded_http, "HEAD", 0.05)
    async with desk() as one:
        asking, _ = await one.comes(HEAD.replace(b"/", b"/slow", 1))
        while not one.asked:
            await asyncio.sleep(0)
        waiting, _ = await one.comes(SLOW)
        assert await cut(waiting)  # so long it has been
        one.open.set()
        assert (await asking.read()).endswith(b"here")
