"""The official SDK behind `connection`: nothing else imports it, and this is imported late."""

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from functools import partial
from importlib.metadata import PackageNotFoundError, version
from typing import Any
from urllib.parse import urlsplit

from httpx2 import AsyncClient, HTTPError, InvalidURL
from mcp import ClientSession, MCPError
from mcp.client.session import IncomingMessage
from mcp.client.sse import sse_client
from mcp.client.streamable_http import streamable_http_client
from mcp.client.subscriptions import ListenNotSupportedError, SubscriptionLost, listen
from mcp.shared.dispatcher import CallOptions, ProgressFnT
from mcp.shared.jsonrpc_dispatcher import JSONRPCDispatcher
from mcp.shared.transport_context import TransportContext
from mcp_types import (
    CONNECTION_CLOSED,
    METHOD_NOT_FOUND,
    REQUEST_TIMEOUT,
    CallToolRequest,
    CallToolRequestParams,
    Implementation,
    ListToolsRequest,
    PaginatedRequestParams,
    Request,
    ToolListChangedNotification,
)
from pydantic import RootModel, ValidationError

from agent.backoff import backoff
from agent.text.untrusted import visible
from agent.tools.mcp.wire.connection import (
    LONGEST_CALL,
    Connection,
    Endpoint,
    Late,
    Refused,
    Unreachable,
)
from agent.tools.mcp.wire.mending import mended_listing, mended_result
from agent.tools.mcp.wire.pace import MOST_BYTES
from agent.tools.mcp.wire.stdio import stdio_streams
from agent.tools.mcp.wire.streamable import Status, client
from storage.records.entries import Json

_MORE = 30.0
"""Seconds beyond those for the greeting: where it does not even take it."""
_DISCOVER = "server/discover"
_SSE = "/sse"
"""How the addresses end of servers that speak the transport of 2024."""
PAGES = 20
"""Of a list of tools."""
LIST_SECONDS = 30.0
_AGAIN, _LATEST = 5.0, 300.0
"""Seconds between tries to be told of changes."""
_MENDED: Mapping[str, Callable[[Mapping[str, Any]], Json]] = {
    "tools/list": mended_listing,
    "tools/call": mended_result,
}
_FAULTS = (OSError, HTTPError, InvalidURL, MCPError, RuntimeError, ValidationError, Unreachable)
_NO_POST = ("HTTP 404", "HTTP 405")
_MAYBE_SSE = f"a server of the former SSE transport needs its address that ends in {_SSE}"
_MOMENT = 1.0
_LONGEST = 500
"""Characters of an error."""
_ENDED = "Session terminated"
"""What the SDK says where an HTTP server no longer knows our session."""

# It logs, with tracebacks, whatever a server does wrong, as often as the server does it. All of
# that comes to us as errors, and is told where it matters.
for _name in ("mcp", "client", "httpx2", "httpcore2"):
    logging.getLogger(_name).setLevel(logging.CRITICAL)


log = logging.getLogger(__name__)


class _Answer(RootModel[dict[str, Any]]):
    """An answer as it came: to take it apart and put it together again costs seconds."""


class _Dispatcher(JSONRPCDispatcher[TransportContext]):
    """Mends answers before the session checks them, and says when it has ended."""

    def __init__(self, received: Any, send: Any, start_seconds: float) -> None:
        super().__init__(received, send)
        self._start_seconds = start_seconds
        self.ended = asyncio.Event()

    async def send_raw_request(
        self,
        method: str,
        params: Mapping[str, Any] | None,
        opts: CallOptions | None = None,
        **more: Any,
    ) -> Json:
        if method == _DISCOVER:
            # The SDK waits 10 s. Who is greeted in the former way after that, while it still
            # starts, reads both, and refuses the second.
            opts = {**(opts or {}), "timeout": self._start_seconds}
        answer = await super().send_raw_request(method, params, opts, **more)
        mend = _MENDED.get(method)
        return mend(answer) if mend is not None else answer

    async def run(self, *args: Any, **more: Any) -> None:
        try:
            await super().run(*args, **more)
        finally:
            self.ended.set()


@asynccontextmanager
async def connect(
    endpoint: Endpoint, changed: Callable[[], None], said: Callable[[str], None]
) -> AsyncIterator[Connection]:
    """See agent.tools.mcp.wire.connection.Connect."""
    try:
        async with AsyncExitStack() as stack:
            yield await _entered(stack, endpoint, changed, said)
    except Unreachable:
        raise
    except _FAULTS as error:
        raise Unreachable(_words(error)) from None
    except BaseExceptionGroup as group:  # of the SDK's task groups, as soon as one of theirs fails
        faults, other = group.split(_FAULTS)
        if faults is None or other is not None:
            raise
        raise Unreachable(_words(_first(faults))) from None


async def _entered(
    stack: AsyncExitStack,
    endpoint: Endpoint,
    changed: Callable[[], None],
    said: Callable[[str], None],
) -> "_SdkConnection":
    """The transport and the session, which end with the stack, and what both sides agreed on."""
    status = Status()
    fate: Callable[[], Awaitable[str]] = _closed
    received: Any
    send: Any
    if endpoint.command:
        streams = stdio_streams(endpoint.command, endpoint.env or {}, said)
        running = await stack.enter_async_context(streams)
        received, send, fate = running.received, running.send, running.fate
    else:
        received, send = await stack.enter_async_context(_over_http(endpoint, status))
    dispatcher = _Dispatcher(received, send, endpoint.start_seconds)
    session = ClientSession(
        dispatcher=dispatcher,
        read_timeout_seconds=endpoint.start_seconds,
        message_handler=partial(_heard, changed),
        client_info=_us(),
    )
    await stack.enter_async_context(session)
    made = _SdkConnection(session, dispatcher, status, fate)
    try:
        async with asyncio.timeout(endpoint.start_seconds + _MORE):
            await made.agree(endpoint.old or _is_sse(endpoint.url))
    except TimeoutError:
        raise Unreachable("it does not answer") from None
    listening = asyncio.create_task(_follow(session, changed), name="mcp-listen")
    stack.push_async_callback(_stopped, listening)
    return made


def _is_sse(url: str) -> bool:
    return urlsplit(url).path.rstrip("/").endswith(_SSE)


@asynccontextmanager
async def _over_http(endpoint: Endpoint, status: Status) -> AsyncIterator[tuple[Any, Any]]:
    """The streams of the transport that the address is of."""
    headers = endpoint.headers or {}
    if _is_sse(endpoint.url):

        def ours(*_: object, **__: object) -> AsyncClient:
            """With our bounds and headers, whatever is asked for."""
            return client(headers, status)

        async with sse_client(endpoint.url, httpx_client_factory=ours) as streams:
            yield streams
        return
    async with client(headers, status) as http:
        made = streamable_http_client(endpoint.url, http_client=http, max_sse_event_size=MOST_BYTES)
        async with made as streams:
            yield streams


async def _closed() -> str:
    return "it closed the connection"


async def _stopped(task: asyncio.Task[None]) -> None:
    task.cancel()
    (outcome,) = await asyncio.gather(task, return_exceptions=True)
    if isinstance(outcome, Exception):
        log.warning("a server's changes were not followed: %s", _words(outcome))


def _us() -> Implementation:
    try:
        return Implementation(name="bough", version=version("bough"))
    except PackageNotFoundError:  # run from its folder, without being installed
        return Implementation(name="bough", version="0")


async def _heard(changed: Callable[[], None], message: IncomingMessage) -> None:
    if isinstance(message, ToolListChangedNotification):
        changed()


async def _follow(session: ClientSession, changed: Callable[[], None]) -> None:
    """Since 2026 a server tells of changes where it is asked to."""
    capabilities = session.server_capabilities
    if capabilities is None or capabilities.tools is None:
        return
    for pause in backoff(_AGAIN, _LATEST):
        try:
            async with listen(session, tools_list_changed=True) as events:
                changed()  # there may have been one before we listened
                async for _ in events:
                    changed()
        except ListenNotSupportedError:
            return  # an older one tells without being asked
        except MCPError as error:
            if error.code == METHOD_NOT_FOUND:
                return
        except (SubscriptionLost, TimeoutError) as error:
            # Where the connection is gone we end with it.
            log.debug("changes of a server's tools are asked for again: %r", error)
        await asyncio.sleep(pause)


@dataclass(slots=True)
class _SdkConnection:
    session: ClientSession
    dispatcher: _Dispatcher
    status: Status
    fate: Callable[[], Awaitable[str]]

    async def agree(self, old: bool) -> None:
        """What both sides speak: servers since 2026 are asked, older ones begin with a greeting."""
        if not old:
            try:
                await self.session.discover()
                return
            except (MCPError, RuntimeError, ValidationError) as error:
                if _closed_by(error) and await self._ends():
                    raise Unreachable(await self.fate()) from None
                if isinstance(error, MCPError) and error.code == REQUEST_TIMEOUT:
                    # It may be about to answer: the former greeting is for a connection of its own.
                    raise Unreachable("it does not answer the greeting") from None
        try:
            await self.session.initialize()
        except (MCPError, RuntimeError, ValidationError) as error:
            gone = _closed_by(error) and await self._ends()
            raise Unreachable(await self.fate() if gone else self._words(error)) from None

    async def tools(self) -> list[Json]:
        found: list[Json] = []
        cursor: str | None = None
        for _ in range(PAGES):
            params = PaginatedRequestParams(cursor=cursor) if cursor else None
            page = await self._ask(ListToolsRequest(params=params), LIST_SECONDS)
            found += page["tools"]
            cursor = page.get("nextCursor")
            if not cursor:
                break
        return found

    async def call(
        self, tool: str, arguments: Json, seconds: float, progress: Callable[[str], None]
    ) -> Json:
        # Not the session's own call_tool: it checks results against the server's schema, whose
        # patterns can keep a check busy for hours, on our event loop.
        params = CallToolRequestParams(name=tool, arguments=arguments)
        try:
            async with asyncio.timeout(seconds) as patience:
                heard = partial(_progressed, patience, seconds, progress)
                result = await self._ask(CallToolRequest(params=params), LONGEST_CALL, heard)
        except TimeoutError:
            raise Late(f"there was no answer within {seconds:g} s") from None
        if "content" not in result:
            raise Refused("it asks for input in the middle of a call, which nobody can give here")
        return result

    async def lost(self) -> str:
        await self.dispatcher.ended.wait()
        return await self.fate()

    async def _ask(
        self, request: Request[Any, Any], seconds: float, progress: ProgressFnT | None = None
    ) -> Json:
        """The answer as it came, mended, once the SDK has found it in order."""
        try:
            asked = self.session.send_request(request, _Answer, seconds, progress_callback=progress)
            return (await asked).root
        except ValidationError as error:
            raise Refused(f"its answer is not as the protocol has it: {_words(error)}") from None
        except MCPError as error:
            if _closed_by(error) and await self._ends():
                raise Unreachable(await self.fate()) from None
            if error.message == _ENDED:
                self.dispatcher.ended.set()
                raise Unreachable("it has ended our session") from None
            if error.code == REQUEST_TIMEOUT:
                raise Late(f"there was no answer within {seconds:g} s") from None
            raise Refused(self._words(error)) from None

    async def _ends(self) -> bool:
        """Whether the connection is gone: who waits for an answer hears of it a moment before. A
        server can say so too."""
        try:
            async with asyncio.timeout(_MOMENT):
                await self.dispatcher.ended.wait()
        except TimeoutError:
            return False
        return True

    def _words(self, error: Exception) -> str:
        """With the HTTP status, which the SDK leaves out."""
        said = _words(error)
        if self.status.refused in _NO_POST:
            return f"{said} ({self.status.refused}; {_MAYBE_SSE})"
        return f"{said} ({self.status.refused})" if self.status.refused else said


async def _progressed(
    patience: asyncio.Timeout,
    seconds: float,
    told: Callable[[str], None],
    progress: float,
    total: float | None,
    message: str | None,
) -> None:
    """A call says how far it is: that is one that lives."""
    if not patience.expired():
        patience.reschedule(asyncio.get_running_loop().time() + seconds)
    part = f"{progress:g}/{total:g}" if total else f"{progress:g}"
    told(f"{part} {visible((message or '')[:_LONGEST])}".strip())


def _closed_by(error: Exception) -> bool:
    return isinstance(error, MCPError) and error.code == CONNECTION_CLOSED


def _words(error: BaseException) -> str:
    """For people; what of it is the server's own is bounded."""
    match error:
        case MCPError():
            text = error.message
        case ValidationError():
            first = error.errors(include_url=False, include_input=False)[0]
            text = f"{'.'.join(str(part) for part in first['loc'])}: {first['msg']}"
        case OSError() if error.strerror:
            text = error.strerror
        case HTTPError():
            text = f"it cannot be reached: {error or type(error).__name__}"
        case _:
            text = str(error) or type(error).__name__
    return " ".join(visible(text[:_LONGEST]).split())


def _first(group: BaseExceptionGroup[BaseException]) -> BaseException:
    first = group.exceptions[0]
    return _first(first) if isinstance(first, BaseExceptionGroup) else first
