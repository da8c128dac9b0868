"""A tool of an MCP server as models call it."""

import json
from collections.abc import Callable, Sequence
from functools import partial

from agent.errors import ToolError
from agent.text.untrusted import quote, visible
from agent.tools.base import (
    MCP,
    NOTHING_DONE,
    Call,
    Done,
    Effects,
    OutFile,
    Requested,
    Setting,
    Traits,
)
from agent.tools.files.common import FILE_THREADS
from agent.tools.files.workspace import Workspace, WorkspaceError
from agent.tools.mcp.results import Kept, pictures, room_for, shown
from agent.tools.mcp.server import Listed, Server

Find = Callable[[int], Workspace]
"""The workspace of a session; asked on the event loop, so it must not block."""
LONGEST_ARGUMENTS = 1_000_000
"""Characters, as JSON."""


class McpTool:
    """Asks people before it runs, unless its server is trusted and says that it only reads."""

    def __init__(self, server: Server, listed: Listed, setting: Setting, find: Find) -> None:
        self.name = listed.name
        # The same while its server is down: tools stand in front of all that a provider has cached.
        self.description = listed.description
        self.parameters = listed.parameters
        self.traits = Traits(
            Effects.READS if listed.reads else Effects.CHANGES,
            f"{MCP}{server.name}",
            repeatable=listed.reads,
            needs_approval=not listed.reads,
        )
        self._server = server
        self._listed = listed
        self._setting = setting
        self._find = find

    async def requested(self, call: Call) -> Requested:
        """Raises ToolError while the server is down: nobody is asked for what cannot be done."""
        if why := self._server.unavailable:
            raise ToolError(f"{why}; {NOTHING_DONE}")
        line = json.dumps(call.arguments, ensure_ascii=False, sort_keys=True)
        if len(line) > LONGEST_ARGUMENTS:
            raise ToolError(f"the arguments are too large; {NOTHING_DONE}")
        lines = json.dumps(call.arguments, ensure_ascii=False, sort_keys=True, indent=1)
        where = f"the MCP server {self._server.name}, its tool {quote(visible(self._listed.own))}"
        return Requested(line, lines, where, syntax="json")

    async def run(self, call: Call) -> Done:
        running = (self._setting.home, self.name)
        tell = partial(self._server.progress.__setitem__, running)
        try:
            result = await self._server.call(self._listed.own, call.arguments, tell)
        finally:
            self._server.progress.pop(running, None)
        room = room_for(self._setting.window)
        found = await FILE_THREADS.run(
            call.address,
            lambda: shown(result, self._server.name, self._listed.own, room, self._server.hide),
        )
        keep = partial(_keep, self._find(self._setting.home), found.files)
        fault = await FILE_THREADS.run(call.address, keep)
        text = found.text if not fault else f"{found.text}\n{fault}"
        if self._setting.child:
            return Done(text)
        return Done(text, files=tuple(_out(kept) for kept in pictures(found.files)))


def _keep(workspace: Workspace, files: Sequence[Kept]) -> str:
    """Write the files; what is to be said where that is not possible."""
    try:
        for kept in files:
            workspace.write(kept.path, kept.data)
    except (WorkspaceError, OSError) as error:
        return f"[The files could not be kept: {error}]"
    return ""


def _out(kept: Kept) -> OutFile:
    return OutFile(kept.path.rpartition("/")[2], kept.data, picture=True)
