"""All MCP servers of the configuration, from the start of the gateway to its end."""

import asyncio
import logging
import time
from collections.abc import Collection, Iterable, Mapping

from agent.settings import McpConfig
from agent.tools.base import MCP, Kit, Setting, Tool
from agent.tools.mcp.server import Server, State
from agent.tools.mcp.tools import Find, McpTool
from agent.tools.mcp.wire.loading import MISSING, installed, load

FIRST = 20.0
"""Seconds after the start in which turns wait for servers that are not tried yet."""

log = logging.getLogger(__name__)


class Servers:
    """Owns a task for each server. Nothing waits for a server but who wants its tools."""

    def __init__(self, configured: Mapping[str, McpConfig], *, first_pause: float = 1.0) -> None:
        self._servers = [
            Server(name, config, load, first_pause) for name, config in configured.items()
        ]
        self._tasks: list[asyncio.Task[None]] = []
        self._until = 0.0

    def start(self) -> None:
        """Begin to connect; returns at once."""
        if not self._servers:
            return
        if not installed():
            names = ", ".join(server.name for server in self._servers)
            log.warning("no tools of MCP servers (%s): %s", names, MISSING)
            for server in self._servers:
                server.mark_down(MISSING)
            return
        self._until = time.monotonic() + FIRST
        self._tasks = [
            asyncio.create_task(server.run(), name=f"mcp-{server.name}") for server in self._servers
        ]

    async def close(self) -> None:
        """End every server, side by side."""
        for task in self._tasks:
            task.cancel()
        for outcome in await asyncio.gather(*self._tasks, return_exceptions=True):
            if isinstance(outcome, Exception):
                log.error("an MCP server was not ended well", exc_info=outcome)
        self._tasks = []

    async def ready(self, toolsets: Collection[str], seconds: float | None = None) -> None:
        """Wait until those that belong to the toolsets have been tried once: the first turn after a
        start, and what people agreed to before it, find their tools. None: for what is left of the
        time after the start, so that one which hangs holds up nobody later."""
        patience = seconds if seconds is not None else self._until - time.monotonic()
        waiting = [
            asyncio.create_task(server.settled.wait(), name=f"mcp-{server.name}-settled")
            for server in self._servers
            if f"{MCP}{server.name}" in toolsets and not server.settled.is_set()
        ]
        try:
            if waiting and self._tasks and patience > 0:
                await asyncio.wait(waiting, timeout=patience)
        finally:
            for task in waiting:
                task.cancel()
            await asyncio.gather(*waiting, return_exceptions=True)

    def kit(self, find: Find) -> Kit:
        """For the factory; made anew for each turn, because servers change what they list."""
        return lambda setting: self.tools(setting, find)

    def tools(self, setting: Setting, find: Find) -> Iterable[Tool]:
        """What the servers list now, or listed last: where one is down, its tools say so."""
        return [
            McpTool(server, listed, setting, find)
            for server in self._servers
            for listed in server.listed
        ]

    def progress(self, session: int) -> Mapping[str, str]:
        """Of the calls that run for a chat's session, how far they are, by the tool's name."""
        every = (pair for server in self._servers for pair in server.progress.items())
        return {tool: text for (of, tool), text in every if of == session}

    def states(self) -> tuple[State, ...]:
        return tuple(server.state for server in self._servers)


async def probe(name: str, config: McpConfig, seconds: float) -> State:
    """Try one server, for `bough doctor`: connect, list, end. It has as long to start as it has in
    `bough run`, and `seconds` more for its list."""
    seconds += config.start_timeout
    servers = Servers({name: config}, first_pause=seconds)
    servers.start()
    try:
        await servers.ready({f"{MCP}{name}"}, seconds)
        return servers.states()[0]
    finally:
        await servers.close()
