"""A server that is reached over HTTP: what it may send, and how long single steps may take.

Only `sdk` imports this, late. Redirects that leave the server's origin the SDK follows never.
"""

import asyncio
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass

import httpx2

from agent.tools.mcp.wire.pace import MOST_BYTES, MOST_VALUES, Pace, cost, values

_CONNECT = 10.0
_WRITE = 30.0
_SHORT = 10.0
"""Seconds for the answer where none is waited for elsewhere: to notifications and answers. The SDK
sends nothing else meanwhile."""
_STREAMS = 2
"""Streams that are opened in a second: a server that ends each at once tells the SDK to open the
next without a pause."""
_LAST = 2.0
"""Seconds for the goodbye."""
_ENDLESS = "text/event-stream"
_METHOD = b'"method":'
_NOTIFICATION = _METHOD + b'"notifications/'


class TooLarge(httpx2.StreamError):
    """Of the class that the SDK takes for the fault of one answer, not of the connection."""


@dataclass(slots=True)
class Status:
    refused: str = ""
    """The last answer, where it was a refusal: "HTTP 401"."""


def client(headers: Mapping[str, str], status: Status) -> httpx2.AsyncClient:
    """Without what the environment says of proxies and logins: the server is what is configured.

    Nothing is asked for compressed, so that what arrives is as large as it is.
    """
    return httpx2.AsyncClient(
        headers={**headers, "Accept-Encoding": "identity"},
        timeout=httpx2.Timeout(_CONNECT, read=None, write=_WRITE, pool=_CONNECT),
        transport=_Bounded(httpx2.AsyncHTTPTransport(), status),
        follow_redirects=False,
        trust_env=False,
    )


class _Bounded(httpx2.AsyncBaseTransport):
    def __init__(self, inner: httpx2.AsyncBaseTransport, status: Status) -> None:
        self._inner = inner
        self._status = status
        self._streams = Pace(_STREAMS)

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        if request.method == "GET":
            now = asyncio.get_running_loop().time()
            await asyncio.sleep(self._streams.spend(1, now))
        await request.aread()  # where it was redirected, its body is a stream
        if seconds := _patience(request):
            request.extensions["timeout"] = dict.fromkeys(
                ("connect", "read", "write", "pool"), seconds
            )
        response = await self._inner.handle_async_request(request)
        code = response.status_code
        self._status.refused = f"HTTP {code}" if code >= 400 else ""
        encoding = response.headers.get("content-encoding", "identity")
        stream = response.stream
        assert isinstance(stream, httpx2.AsyncByteStream)
        if encoding != "identity":
            await stream.aclose()
            raise TooLarge(f"the server sent {encoding}, which was not asked for")
        endless = response.headers.get("content-type", "").lower().startswith(_ENDLESS)
        response.stream = _BoundedStream(stream, None if endless else MOST_BYTES)
        return response

    async def aclose(self) -> None:
        await self._inner.aclose()


def _patience(request: httpx2.Request) -> float | None:
    """Seconds, where nobody else looks at the time."""
    if request.method == "DELETE":
        return _LAST
    if request.method == "POST":
        begin = request.content[:300]
        return _SHORT if _NOTIFICATION in begin or _METHOD not in begin else None
    return None


class _BoundedStream(httpx2.AsyncByteStream):
    """A body of at most `limit` bytes; without a limit, one that comes no faster than a server may
    talk."""

    def __init__(self, inner: httpx2.AsyncByteStream, limit: int | None) -> None:
        self._inner = inner
        self._limit = limit

    async def __aiter__(self) -> AsyncIterator[bytes]:
        pace, read, seen, loop = Pace(), 0, 0, asyncio.get_running_loop()
        async for data in self._inner:
            read += len(data)
            if self._limit is not None and read > self._limit:
                raise TooLarge(
                    f"the server's answer has more than {self._limit:,} bytes. Ask it for less"
                )
            # Events are parted by empty lines; the last of them may be longer than this chunk.
            seen = values(data) + (0 if self._limit is None and b"\n\n" in data else seen)
            if seen > MOST_VALUES:
                raise TooLarge("the server's answer has too many parts. Ask it for less")
            yield data
            wait = pace.spend(cost(len(data), data.count(b"\n\n")), loop.time())
            await asyncio.sleep(wait)

    async def aclose(self) -> None:
        await self._inner.aclose()
