"""Web sites that run here: pages as somebody wrote them down, search services, and misbehaviour.

    async with Site({"/": html("<h1>Hi</h1>")}) as site:
        ...  # site.url; site.requests

A page is the bytes of an answer, or a coroutine that writes what it likes. By hand, pages of a
folder: python -m tests.stand_ins.web --port 8084 FOLDER
"""

import argparse
import asyncio
import json
import ssl
from collections.abc import Awaitable, Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpcore

from tests.stand_ins.serving import TcpServer


@dataclass(frozen=True, slots=True)
class Asked:
    """One request as it arrived."""

    method: str
    path: str
    """With the query."""
    headers: Mapping[str, str]
    """Names in small letters."""
    body: bytes


Handler = Callable[[asyncio.StreamWriter, Asked], Awaitable[None]]
Pages = Mapping[str, bytes | Handler]


def answer(
    body: bytes | str,
    media: str = "text/html; charset=utf-8",
    status: str = "200 OK",
    headers: Mapping[str, str] | None = None,
) -> bytes:
    """A whole HTTP answer."""
    data = body.encode() if isinstance(body, str) else body
    lines = [f"HTTP/1.1 {status}", f"Content-Length: {len(data)}"]
    lines += [f"Content-Type: {media}"] if media else []
    lines += [f"{name}: {value}" for name, value in (headers or {}).items()]
    return "\r\n".join([*lines, "", ""]).encode("latin-1") + data


def html(body: str, title: str = "A page") -> bytes:
    return answer(f"<html><head><title>{title}</title></head><body>{body}</body></html>")


def redirect(location: str, status: str = "302 Found") -> bytes:
    return answer("", "", status, {"Location": location})


class Site(TcpServer):
    """A page "*" stands for every other."""

    def __init__(self, pages: Pages, *, port: int = 0, tls: ssl.SSLContext | None = None) -> None:
        super().__init__(port)
        self.pages = dict(pages)
        self.requests: list[Asked] = []
        self.hung_up = asyncio.Event()
        """Set when a client has gone, or a connection came to its end."""
        self._tls = tls

    @property
    def url(self) -> str:
        return f"{'https' if self._tls else 'http'}://127.0.0.1:{self.port}"

    async def _start(self) -> asyncio.Server:
        return await asyncio.start_server(
            self._serve, "127.0.0.1", self.port, ssl=self._tls, limit=2**20
        )

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        asked = await _request(reader)
        self.requests.append(asked)
        page = self.pages.get(urlsplit(asked.path).path, self.pages.get("*"))
        page = page if page is not None else answer("not here", "text/plain", "404 Not Found")
        gone = asyncio.create_task(self._watch(reader))
        try:
            if isinstance(page, bytes):
                writer.write(page)
                await writer.drain()
            else:
                await page(writer, asked)
        finally:
            gone.cancel()

    async def _handle(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            # The client may go, which is what some tests are about.
            with suppress(OSError, asyncio.IncompleteReadError, EOFError):
                await self._answer(reader, writer)
        finally:
            self.hung_up.set()
            writer.close()
            with suppress(OSError, ssl.SSLError):
                await writer.wait_closed()

    async def _watch(self, reader: asyncio.StreamReader) -> None:
        with suppress(OSError):
            await reader.read()
            self.hung_up.set()


async def _request(reader: asyncio.StreamReader) -> Asked:
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
    first, *lines = head.split("\r\n")
    method, path, _ = first.split(" ", 2)
    headers = {
        name.strip().lower(): value.strip()
        for name, _, value in (line.partition(":") for line in lines if line)
    }
    body = await reader.readexactly(int(headers.get("content-length", "0")))
    return Asked(method, path, headers, body)


def search_service(engine: str, found: Iterable[Mapping[str, str]], key: str = "") -> Handler:
    """A search as SearXNG, Brave and Tavily answer one; another key than `key` is refused with
    words that repeat it, as real ones do. `found`: title, url and snippet of each."""
    hits = list(found)

    async def handle(writer: asyncio.StreamWriter, asked: Asked) -> None:
        given = asked.headers.get("x-subscription-token") or asked.headers.get(
            "authorization", ""
        ).removeprefix("Bearer ")
        if key and given != key:
            writer.write(answer(f"bad key {given}", "text/plain", "401 Unauthorized"))
            return
        writer.write(answer(json.dumps(_results(engine, hits, asked)), "application/json"))
        await writer.drain()

    return handle


def _results(engine: str, hits: list[Mapping[str, str]], asked: Asked) -> Any:
    if engine == "brave":
        name = "description"
        count = int(parse_qs(urlsplit(asked.path).query)["count"][0])
    elif engine == "tavily":
        name = "content"
        count = int(json.loads(asked.body)["max_results"])
    else:
        assert parse_qs(urlsplit(asked.path).query)["format"] == ["json"]
        name, count = "content", len(hits)
    made = [{"title": h["title"], "url": h["url"], name: h["snippet"]} for h in hits[:count]]
    return {"web": {"results": made}} if engine == "brave" else {"results": made}


class Rerouted(httpcore.AsyncNetworkBackend):
    """Makes connections as if the addresses of the internet were ports of this machine.

    `ports`: for an address, where it is served here. Whatever else is dialled is refused, as by a
    machine where nothing listens. `dialled` has all of it.
    """

    def __init__(self, ports: Mapping[str, int]) -> None:
        self._ports = ports
        self._inner = httpcore.AnyIOBackend()
        self.dialled: list[tuple[str, int]] = []

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore.AsyncNetworkStream:
        self.dialled.append((host, port))
        if host not in self._ports:
            raise httpcore.ConnectError("refused")
        stream = await self._inner.connect_tcp("127.0.0.1", self._ports[host], timeout)
        return _Elsewhere(stream, (host, port))

    async def sleep(self, seconds: float) -> None:
        await self._inner.sleep(seconds)


class _Elsewhere(httpcore.AsyncNetworkStream):
    """A connection that says that it leads to another address."""

    def __init__(self, inner: httpcore.AsyncNetworkStream, place: tuple[str, int]) -> None:
        self._inner = inner
        self._place = place

    async def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        return await self._inner.read(max_bytes, timeout)

    async def write(self, buffer: bytes, timeout: float | None = None) -> None:
        await self._inner.write(buffer, timeout)

    async def aclose(self) -> None:
        await self._inner.aclose()

    async def start_tls(
        self,
        ssl_context: ssl.SSLContext,
        server_hostname: str | None = None,
        timeout: float | None = None,
    ) -> httpcore.AsyncNetworkStream:
        return await self._inner.start_tls(ssl_context, server_hostname, timeout)

    def get_extra_info(self, info: str) -> Any:
        return self._place if info == "server_addr" else self._inner.get_extra_info(info)


async def _run(folder: Path, port: int) -> None:
    pages = {
        f"/{path.relative_to(folder)}": answer(path.read_bytes()) for path in folder.rglob("*.html")
    }
    async with Site(pages, port=port) as site:
        print(site.url, *pages, sep="\n", flush=True)
        await asyncio.Event().wait()


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("--port", type=int, default=8084)
    given = parser.parse_args()
    asyncio.run(_run(given.folder, given.port))
