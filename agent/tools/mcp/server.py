"""One MCP server: one task keeps the connection to it, and calls go through that."""

import asyncio
import logging
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from agent.backoff import backoff
from agent.errors import ToolError
from agent.settings import McpConfig
from agent.text.fencing import fence
from agent.text.untrusted import quote, visible
from agent.tools.base import NOTHING_DONE
from agent.tools.mcp.names import named
from agent.tools.mcp.schemas import cleaned, safe_schema
from agent.tools.mcp.wire.connection import (
    Connect,
    Connection,
    Endpoint,
    Late,
    Refused,
    Unreachable,
)
from agent.tools.mcp.wire.mending import needs_task, schema_of
from storage.interchange.redaction import REDACTED, redactor
from storage.records.entries import Json

MOST_TOOLS = 64
"""Of one server: providers take 128 tools in all."""
LONGEST_DESCRIPTION = 1_024
"""Bytes."""
STEADY = 60.0
"""Seconds after which a connection that was lost had been a good one."""
_LOOK_PAUSE = 1.0
"""Seconds between two looks at a list that changes."""
_SHORTEST = 8
"""Characters of a value that is taken for a secret in results."""
_LONGEST_WHY = 200
_LONGEST_LIST = 120.0
"""Seconds for all pages of a list."""
_MORE = 10.0
"""Seconds beyond a call's own for it to be sent."""
_LEAVING = 10.0
"""Seconds for calls to see that their connection is gone."""
_LINES, _WINDOW = 30, 60.0
"""Of its standard error that are logged in so many seconds."""
_REMEMBERED = 5

log = logging.getLogger(__name__)


class Health(StrEnum):
    STARTING = "starting"
    UP = "up"
    DOWN = "down"


@dataclass(frozen=True, slots=True)
class State:
    """What `/tools` and `bough doctor` say of a server."""

    server: str
    health: Health
    why: str
    """It is not up; or something of its tools is not as configured. "" where all is well."""
    tools: tuple[str, ...]
    """As models know them: those that it has, or had when it was up last."""
    said: tuple[str, ...]
    """The last lines of its standard error, for the operator alone."""


@dataclass(frozen=True, slots=True)
class Listed:
    """A tool as it may be shown to a model."""

    name: str
    own: str
    """The server's name of it."""
    description: str
    parameters: Json
    reads: bool
    """What a trusted server says: it changes nothing."""


@dataclass
class Server:
    name: str
    config: McpConfig
    connect: Callable[[], Connect]
    """Gives what connects. Blocks for the time of an import, the first time."""
    first_pause: float = 1.0
    longest_pause: float = 300.0
    """Seconds between two tries."""
    health: Health = field(default=Health.STARTING, init=False)
    listed: tuple[Listed, ...] = field(default=(), init=False)
    progress: dict[tuple[int, str], str] = field(default_factory=dict, init=False)
    """What a call that runs says of how far it is, by the chat's session and the tool's name as
    models know it."""
    settled: asyncio.Event = field(default_factory=asyncio.Event, init=False)
    """Set once the first try to connect has come to an end."""
    _why: str = field(default="", init=False)
    _note: str = field(default="", init=False)
    _said: deque[str] = field(default_factory=lambda: deque(maxlen=_REMEMBERED), init=False)
    _logged: deque[float] = field(default_factory=deque, init=False)
    _connection: Connection | None = field(default=None, init=False)
    _look: asyncio.Event = field(default_factory=asyncio.Event, init=False)
    _calls: set[asyncio.Task[Json]] = field(default_factory=set, init=False)
    _old: bool = field(default=False, init=False)

    def __post_init__(self) -> None:
        given = [*self.config.env.values(), *self.config.headers.values()]
        values = [one.get_secret_value() for one in given]
        self._redact = redactor(values)
        # Of "Bearer KEY" the key alone, too. Short values are words, such as "true".
        parts = {part for value in values for part in (value, value.rpartition(" ")[2])}
        self._own = sorted((p for p in parts if len(p) >= _SHORTEST), key=len, reverse=True)

    @property
    def state(self) -> State:
        tools = tuple(tool.name for tool in self.listed)
        why = self._note if self.health is Health.UP else self._why
        return State(self.name, self.health, why, tools, tuple(self._said))

    def hide(self, text: str) -> str:
        """A result without the secrets that the server was given, should it repeat them."""
        for secret in self._own:
            text = text.replace(secret, REDACTED)
        return text

    @property
    def unavailable(self) -> str:
        """Why no call can be made now; "" where one can."""
        if self._connection is not None:
            return ""
        why = quote(self._why, _LONGEST_WHY) if self._why else "it is being started"
        return f"the MCP server {self.name} is not available: {why}. It is tried again by itself"

    def mark_down(self, why: str) -> None:
        self._down(why)

    async def run(self) -> None:
        """Keep the connection until cancelled."""
        pauses = backoff(self.first_pause, self.longest_pause, jitter=True)
        while True:
            began = time.monotonic()
            self._down(await self._live())
            if time.monotonic() - began >= STEADY:
                pauses = backoff(self.first_pause, self.longest_pause, jitter=True)
            pause = next(pauses)
            log.warning("[mcp.%s] %s; tried again in %.0f s", self.name, self._why, pause)
            await asyncio.sleep(pause)

    async def _live(self) -> str:
        """One connection, from its beginning to its end; why it ended."""
        try:
            connect = await asyncio.to_thread(self.connect)
            async with connect(self._endpoint(), self._look.set, self._hear) as connection:
                await self._list(connection)
                self._up(connection)
                await self._follow(connection)
        except Unreachable as error:
            if self._connection is None:
                self._old = not self._old  # some old servers end at a question they do not know
            return str(error)
        except Exception as error:
            # The boundary to the SDK: whatever goes wrong in it must cost no more than this server.
            log.exception("[mcp.%s] the connection failed", self.name)
            return f"the connection failed ({type(error).__name__})"
        finally:
            self._connection = None
            await self._left()
        return "the connection ended"

    def _endpoint(self) -> Endpoint:
        config = self.config
        env = {name: value.get_secret_value() for name, value in config.env.items()}
        headers = {name: value.get_secret_value() for name, value in config.headers.items()}
        command = (config.command, *config.args) if config.command is not None else ()
        url, seconds = config.url or "", config.start_timeout
        return Endpoint(command, env, url, headers, self._old, seconds)

    async def _left(self) -> None:
        """Calls end by themselves when their connection has."""
        if self._calls:
            _, late = await asyncio.wait(self._calls, timeout=_LEAVING)
            for task in late:
                task.cancel()
            await asyncio.gather(*late, return_exceptions=True)

    async def _follow(self, connection: Connection) -> None:
        """Look at the list again as often as it changes. Raises Unreachable when the connection is
        gone, or the server does not answer any more."""
        lost = asyncio.create_task(connection.lost(), name=f"mcp-{self.name}-lost")
        look: asyncio.Task[Any] | None = None
        try:
            while True:
                look = asyncio.create_task(self._look.wait(), name=f"mcp-{self.name}-look")
                await asyncio.wait({lost, look}, return_when=asyncio.FIRST_COMPLETED)
                if lost.done():
                    raise Unreachable(lost.result())
                self._look.clear()
                await self._list(connection)
                await asyncio.sleep(_LOOK_PAUSE)
        finally:
            waiting = [task for task in (lost, look) if task is not None]
            for task in waiting:
                task.cancel()
            await asyncio.gather(*waiting, return_exceptions=True)

    async def _list(self, connection: Connection) -> None:
        try:
            async with asyncio.timeout(_LONGEST_LIST):
                given = await connection.tools()
        except (Late, TimeoutError) as error:
            why = str(error) or "it does not answer"
            raise Unreachable(f"its tools cannot be listed: {why}") from None
        except Refused as error:
            if self._connection is None:
                raise Unreachable(f"its tools cannot be listed: {error}") from None
            log.warning("[mcp.%s] its tools cannot be listed: %s", self.name, self._clean(error))
            return
        # Up to 20 pages of megabytes: long enough to be noticed.
        self.listed, self._note = await asyncio.to_thread(self._offered, given)

    def _offered(self, given: list[Json]) -> tuple[tuple[Listed, ...], str]:
        """Those of the tools that the configuration wants, by name, because a server that starts
        anew may list them in another order; and what of it is not to be had."""
        tasks = [tool["name"] for tool in given if needs_task(tool)]
        given = [tool for tool in given if not needs_task(tool)]
        own = {tool["name"]: tool for tool in reversed(given)}
        wanted = self.config.tools
        names = [
            n for n in dict.fromkeys(t["name"] for t in given) if wanted is None or n in wanted
        ]
        notes = []
        if tasks := [name for name in tasks if wanted is None or name in wanted]:
            shown = ", ".join(quote(visible(name), _LONGEST_WHY) for name in tasks[:_REMEMBERED])
            notes.append(f"not offered, because they run as tasks only: {shown}")
        if absent := [name for name in wanted or () if name not in own and name not in tasks]:
            notes.append(f"it has no tool {', '.join(absent)}")
        if len(names) > MOST_TOOLS:
            notes.append(f"of its {len(names)} tools only the first {MOST_TOOLS} are offered")
        pairs = sorted(named(self.name, names[:MOST_TOOLS]).items())
        return tuple(self._listed(name, own[tool]) for name, tool in pairs), "; ".join(notes)

    def _listed(self, name: str, tool: Json) -> Listed:
        reads = self.config.trusted and tool.get("annotations", {}).get("readOnlyHint") is True
        said = cleaned(tool.get("description"), LONGEST_DESCRIPTION)
        described = said or f"A tool of the MCP server {self.name}."
        return Listed(name, tool["name"], described, safe_schema(schema_of(tool)), reads)

    async def call(self, tool: str, arguments: Json, progress: Callable[[str], None]) -> Json:
        """The server's result, mended; `progress` is told what it says of how far it is. ToolError
        says in words what happened instead."""
        connection = self._connection
        if connection is None:
            raise ToolError(f"{self.unavailable}; {NOTHING_DONE}")
        late = asyncio.get_running_loop().time() + self.config.timeout + _MORE

        def heard(text: str) -> None:
            nonlocal late
            late = asyncio.get_running_loop().time() + self.config.timeout + _MORE
            progress(self._clean(text))

        work = connection.call(tool, arguments, self.config.timeout, heard)
        task = asyncio.create_task(work, name=f"mcp-{self.name}-call")
        self._calls.add(task)
        task.add_done_callback(self._calls.discard)
        unknown = "whether anything was done is not known"
        try:
            # Cancelled, we do not wait until the server has heard of it: it may not listen.
            while not task.done() and (left := late - asyncio.get_running_loop().time()) > 0:
                await asyncio.wait({task}, timeout=left)
        except asyncio.CancelledError:
            task.cancel()
            raise
        if not task.done():
            # It counts from when the call was sent: a server that does not take it is never late.
            task.cancel()
            self._look.set()
            text = f"the MCP server {self.name} does not take the call"
            raise ToolError(f"{text}; it was cancelled, {unknown}")
        try:
            return task.result()
        except Refused as error:
            said = fence("error", self._clean(error), server=self.name)
            raise ToolError(f"the MCP server {self.name} answers:\n{said}") from None
        except Late as error:
            self._look.set()  # where it does not answer this either, it is started anew
            raise ToolError(f"{error}; the server was told to stop, {unknown}") from None
        except Unreachable as error:
            text = f"the connection to the MCP server {self.name} was lost: {self._clean(error)}"
            raise ToolError(f"{text}; {unknown}") from None
        except asyncio.CancelledError:
            raise ToolError(f"the MCP server {self.name} was stopped; {unknown}") from None

    def _up(self, connection: Connection) -> None:
        self._connection, self.health, self._why = connection, Health.UP, ""
        self.settled.set()
        log.info("[mcp.%s] up, with %d tools", self.name, len(self.listed))

    def _down(self, why: str) -> None:
        self._connection, self.health, self._why = None, Health.DOWN, self._clean(why)
        self.settled.set()

    def _clean(self, text: object) -> str:
        return self._redact(visible(str(text)))

    def _hear(self, line: str) -> None:
        """A line of the server's standard error."""
        line = self._clean(line)
        self._said.append(line)
        now = time.monotonic()
        while self._logged and now - self._logged[0] > _WINDOW:
            self._logged.popleft()
        if len(self._logged) < _LINES:
            self._logged.append(now)
            more = len(self._logged) == _LINES
            log.info("[mcp.%s] %s%s", self.name, line, " … (it goes on)" if more else "")
