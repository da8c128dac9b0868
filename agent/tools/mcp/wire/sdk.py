"""The official SDK behind `connection`: nothing else imports it, and this is imported late."""

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from functools import partial
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from httpx2 import HTTPError, InvalidURL
from mcp import ClientSession, MCPError
from mcp.client.session import IncomingMessage
from mcp.client.streamable_http import streamable_http_client
from mcp.client.subscriptions import ListenNotSupportedError, SubscriptionLost, listen
from mcp.shared.dispatcher import CallOptions
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
from agent.tools.mcp.wire.connection import Connection, Endpoint, Late, Refused, Unreachable
from agent.tools.mcp.wire.mending import mended_listing, mended_result
from agent.tools.mcp.wire.pace import MOST_BYTES
from agent.tools.mcp.wire.stdio import stdio_streams
from agent.tools.mcp.wire.streamable import Status, client
from storage.records.entries import Json

START_SECONDS = 60.0
"""For the greeting: some commands fetch their program first."""
_LONGEST_START = 90.0
"""Where it does not even take the greeting."""
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

    def __init__(self, received: Any, send: Any) -> None:
        super().__init__(received, send)
        self.ended = asyncio.Event()

    async def send_raw_request(
        self,
        method: str,
        params: Mapping[str, Any] | None,
        opts: CallOptions | None = None,
        **more: Any,
    ) -> Json:
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
        http = await stack.enter_async_context(client(endpoint.headers or {}, status))
        streamable = streamable_http_client(
            endpoint.url, http_client=http, max_sse_event_size=MOST_BYTES
        )
        received, send = await stack.enter_async_context(streamable)
    dispatcher = _Dispatcher(received, send)
    session = ClientSession(
        dispatcher=dispatcher,
        read_timeout_seconds=START_SECONDS,
        message_handler=partial(_heard, changed),
        client_info=_us(),
    )
    await stack.enter_async_context(session)
    made = _SdkConnection(session, dispatcher, status, fate)
    try:
        async with asyncio.timeout(_LONGEST_START):
            await made.agree(endpoint.old)
    except TimeoutError:
        raise Unreachable("it does not answer") from None
    listening = asyncio.create_task(_follow(session, changed), name="mcp-listen")
    stack.push_async_callback(_stopped, listening)
    return made


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

    async def call(self, tool: str, arguments: Json, seconds: float) -> Json:
        # Not the session's own call_tool: it checks results against the server's schema, whose
        # patterns can keep a check busy for hours, on our event loop.
        params = CallToolRequestParams(name=tool, arguments=arguments)
        result = await self._ask(CallToolRequest(params=params), seconds)
        if "content" not in result:
            raise Refused("it asks for input in the middle of a call, which nobody can give here")
        return result

    async def lost(self) -> str:
        await self.dispatcher.ended.wait()
        return await self.fate()

    async def _ask(self, request: Request[Any, Any], seconds: float) -> Json:
        """The answer as it came, mended, once the SDK has found it in order."""
        try:
            return (await self.session.send_request(request, _Answer, seconds)).root
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
        return f"{said} ({self.status.refused})" if self.status.refused else said


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
