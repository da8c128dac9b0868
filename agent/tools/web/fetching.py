"""One answer fetched from the web: redirects by hand, and a bound for everything.

Each hop is a connection of its own, so what was checked holds for what is asked. Nothing is kept
from one to the next: no cookies, no login, no proxy and nothing of the environment.
"""

import asyncio
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass, replace
from functools import partial

import certifi
import httpcore

from agent.errors import ToolError
from agent.fairness import FairPlaces
from agent.text.untrusted import quote, visible
from agent.tools.web.bodies import ACCEPTED, Unpacker
from agent.tools.web.connecting import CheckedNetwork
from agent.tools.web.resolving import Resolver
from agent.tools.web.urls import NOBODY, Allowed, Target, parse_url

AGENT = "Mozilla/5.0 (compatible; Bough/0.1)"
_A_PART = 206
REDIRECTS = frozenset((301, 302, 303, 307, 308))
FETCHES_AT_ONCE = 16
PATIENCE = 60.0
"""Seconds for which a request waits until it may begin."""


@dataclass(frozen=True, slots=True)
class Limits:
    seconds: float = 30.0
    """For everything, redirects included: a server that sends a byte now and then gains nothing."""
    received: int = 10_000_000
    """Bytes of a body on the wire."""
    unpacked: int = 10_000_000
    redirects: int = 5


@dataclass(frozen=True, slots=True)
class Answer:
    """What a server said, redirects followed."""

    target: Target
    """Who said it."""
    status: int
    media: str
    """"text/html", in small letters, "" where nothing was said."""
    charset: str
    body: bytes
    """b"" where it was not wanted."""
    wanted: bool
    whole: bool
    """The body is all of it."""
    length: int | None
    """Bytes, as the server says, on the wire."""
    redirects: int
    downgraded: bool
    """A redirect led from https to http."""


Wanted = Callable[[Target, str], bool]
"""Whether a body from there of this media type is to be read."""
May = Callable[[Target], Awaitable[None]]
"""Raises ToolError where a redirect is not to be followed to there; the text says why."""


@dataclass(frozen=True, slots=True)
class Request:
    """What is to be fetched, and for whom."""

    target: Target
    whose: str
    """The conversation's address."""
    allowed: Allowed = NOBODY
    """Hosts that may be private."""


class Fetcher:
    """Fetches for everybody of a gateway, a bounded number at once, which conversations share.

    `tls`: whom to trust; None: the machine's certificates and the usual ones. `wire`: what makes
    connections to addresses.
    """

    def __init__(
        self,
        resolver: Resolver,
        *,
        limits: Limits | None = None,
        tls: ssl.SSLContext | None = None,
        wire: httpcore.AsyncNetworkBackend | None = None,
    ) -> None:
        self._resolver = resolver
        self._limits = limits if limits is not None else Limits()
        self._tls = tls
        self._wire = wire if wire is not None else httpcore.AnyIOBackend()
        self._places = FairPlaces(FETCHES_AT_ONCE, "pages that are fetched", PATIENCE)

    async def get(self, request: Request, wanted: Wanted, may: May) -> Answer:
        """Follows redirects to where one may go. ToolError, in words, for whatever goes wrong on
        the way."""
        target, downgraded, followed = request.target, False, 0
        async with self._in_time(request):
            while True:
                found = await self._ask(replace(request, target=target), wanted)
                if isinstance(found, _Answered):
                    return found.answer(target, followed, downgraded=downgraded)
                if followed == self._limits.redirects:
                    raise ToolError(f"more than {followed} redirects, perhaps in a circle")
                followed += 1
                onward = _onward(target, found.location, request.allowed)
                await may(onward)
                downgraded |= target.scheme == "https" and onward.scheme == "http"
                target = onward

    async def ask(
        self, request: Request, headers: Mapping[str, str], content: bytes | None = None
    ) -> Answer:
        """One request to a service, a POST where there is content. A redirect is an error: the
        headers hold a key, which is for nobody else."""
        target = request.target
        async with self._in_time(request):
            found = await self._ask(request, _always, headers, content)
        if isinstance(found, _Redirect):
            raise ToolError(f"{target.authority} redirects, which is not followed here")
        return found.answer(target, 0, downgraded=False)

    @asynccontextmanager
    async def _in_time(self, request: Request) -> AsyncIterator[None]:
        try:
            async with (
                self._places.place(request.whose),
                asyncio.timeout(self._limits.seconds),
            ):
                yield
        except TimeoutError:
            raise ToolError(
                f"{request.target.authority} gave no whole answer within {self._limits.seconds:g} s"
            ) from None

    async def _ask(
        self,
        request: Request,
        wanted: Wanted,
        headers: Mapping[str, str] | None = None,
        content: bytes | None = None,
    ) -> "_Answered | _Redirect":
        target = request.target
        network = CheckedNetwork(self._resolver, request.allowed, self._wire, request.whose)
        pool = httpcore.AsyncConnectionPool(
            ssl_context=await self._trust() if target.scheme == "https" else None,
            max_connections=1,
            max_keepalive_connections=0,
            network_backend=network,
        )
        try:
            async with (
                pool,
                pool.stream(
                    "GET" if content is None else "POST",
                    httpcore.URL(
                        scheme=target.scheme, host=target.host, port=target.port, target=target.path
                    ),
                    headers=_headers(target, headers or {}),
                    content=content,
                ) as response,
            ):
                return await self._read(response, partial(wanted, target))
        except httpcore.TimeoutException:
            raise ToolError(f"{target.authority} did not answer in time") from None
        except httpcore.NetworkError as error:
            words = quote(str(error), 200) if str(error) else "the connection was closed"
            raise ToolError(f"{target.authority} could not be read: {words}") from None
        except httpcore.ProtocolError:
            # Its text would quote what came, outside of any fence.
            words = "what came is not a whole HTTP answer"
            raise ToolError(f"{target.authority} could not be read: {words}") from None
        finally:
            await network.close()

    async def _read(
        self, response: httpcore.Response, wanted: Callable[[str], bool]
    ) -> "_Answered | _Redirect":
        headers = _first_of_each(response.headers)
        if response.status in REDIRECTS and "location" in headers:
            return _Redirect(headers["location"])
        media, charset = _media(headers.get("content-type", ""))
        length = headers.get("content-length", "")
        made = _Answered(response.status, media, charset, _number(length), wanted(media))
        if made.wanted:
            made.body, made.whole = await self._body(response, headers.get("content-encoding", ""))
        return made

    async def _body(self, response: httpcore.Response, encoding: str) -> tuple[bytes, bool]:
        unpacker = Unpacker(encoding, self._limits.unpacked + 1)
        pieces, received = [], 0
        async with aclosing(response.aiter_stream()) as chunks:  # type: ignore[type-var]
            async for chunk in chunks:
                received += len(chunk)
                for piece in unpacker.feed(chunk):
                    pieces.append(piece)
                    await asyncio.sleep(0)  # a bomb unpacks for long
                if unpacker.full or received > self._limits.received:
                    return b"".join(pieces)[: self._limits.unpacked], False
                await asyncio.sleep(0)  # chunks of a byte each come without a pause, too
        return b"".join(pieces), not unpacker.broken_off and response.status != _A_PART

    async def _trust(self) -> ssl.SSLContext:
        if self._tls is None:
            self._tls = await asyncio.to_thread(_usual_trust)
        return self._tls


@dataclass(frozen=True, slots=True)
class _Redirect:
    location: str


@dataclass(slots=True)
class _Answered:
    status: int
    media: str
    charset: str
    length: int | None
    wanted: bool
    body: bytes = b""
    whole: bool = True

    def answer(self, target: Target, redirects: int, *, downgraded: bool) -> Answer:
        return Answer(
            target,
            self.status,
            self.media,
            self.charset,
            self.body,
            self.wanted,
            self.whole,
            self.length,
            redirects,
            downgraded,
        )


def _onward(target: Target, location: str, allowed: Allowed) -> Target:
    """Where a redirect leads. A server wrote that: what is said of it holds nothing unseen."""
    try:
        return parse_url(location, base=target, allowed=allowed)
    except ToolError as error:
        raise ToolError(f"a redirect is not followed: {visible(str(error))}") from None


def _always(_: Target, media: str) -> bool:
    return True


def _headers(target: Target, more: Mapping[str, str]) -> list[tuple[bytes | str, bytes | str]]:
    usual = {
        "Host": target.authority,
        "User-Agent": AGENT,
        "Accept": "text/html, application/xhtml+xml, text/plain, application/json, */*;q=0.5",
        "Accept-Encoding": ACCEPTED,
        "Connection": "close",
    }
    return list((usual | dict(more)).items())


def _first_of_each(headers: list[tuple[bytes, bytes]]) -> dict[str, str]:
    found: dict[str, str] = {}
    for name, value in headers:
        found.setdefault(name.decode("latin-1").lower(), _header_text(value))
    return found


def _header_text(value: bytes) -> str:
    try:
        return value.decode()
    except UnicodeDecodeError:
        return value.decode("latin-1")


def _media(content_type: str) -> tuple[str, str]:
    media, *parameters = content_type.split(";")
    for parameter in parameters:
        name, _, value = parameter.partition("=")
        if name.strip().lower() == "charset":
            return media.strip().lower(), value
    return media.strip().lower(), ""


def _number(text: str) -> int | None:
    return int(text) if text.isascii() and text.isdigit() and len(text) < 19 else None


def _usual_trust() -> ssl.SSLContext:
    """The machine's certificates, with an operator's own among them, and those that always are
    there: small images of a system have none."""
    context = ssl.create_default_context()
    context.load_verify_locations(certifi.where())
    return context
