"""What the tools for files share."""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial

from agent.errors import ToolError
from agent.fairness import FairThreads
from agent.tools.base import Call, Effects, Requested, Traits
from agent.tools.files.programs import run_by
from agent.tools.files.workspace import Workspace, WorkspaceError, path_parts, shown

FILE_THREADS = FairThreads(16, "work on files", patience=60.0)
"""For all that touches workspaces: a disk may be slow, and a folder may hold a million files."""

Find = Callable[[int], Workspace]
"""The workspace of a session."""
Seen = Callable[[Call, str, str], None]
"""Told of each file that was "read" or "wrote", with its path in normal form, once it is done."""


@contextmanager
def as_tool_errors() -> Iterator[None]:
    try:
        yield
    except WorkspaceError as error:
        raise ToolError(f"{error}; nothing was done") from None


class FileTool:
    """A tool for the files of a session's workspace."""

    traits: Traits

    def __init__(self, find: Find, seen: Seen | None = None) -> None:
        self._find = find
        self._seen = seen

    async def requested(self, call: Call) -> Requested:
        """The arguments with the path in the form in which it will be used, so that rules about a
        file hold however its path is written. ToolError for a path that leads nowhere."""
        arguments, risk = dict(call.arguments), ""
        if isinstance(arguments.get("path"), str):
            workspace = self._find(call.session)
            with as_tool_errors():
                path = await FILE_THREADS.run(
                    call.address, partial(workspace.relative, arguments["path"])
                )
                arguments["path"] = "/".join(path_parts(path)) or "."
            reader = run_by(arguments["path"])
            if reader is not None and self.traits.effects is Effects.CHANGES:
                risk = f"This file is read by {reader}, which runs what it says."
        line = json.dumps(arguments, sort_keys=True, ensure_ascii=False)
        shown = json.dumps(arguments, indent=2, ensure_ascii=False)
        return Requested(line, shown, syntax="json", risk=risk)

    def _tell(self, call: Call, did: str, path: str) -> None:
        if self._seen is not None:
            self._seen(call, did, path)


def refuse_binary(path: str, data: bytes) -> None:
    """ToolError for what is no text."""
    try:
        data.decode()
    except UnicodeDecodeError:
        binary = True
    else:
        binary = b"\0" in data
    if binary:
        raise ToolError(
            f"{shown(path)}: a binary file of {len(data):,} bytes, not UTF-8 text; nothing was done"
        )


def count_lines(data: bytes) -> int:
    return data.count(b"\n") + (bool(data) and not data.endswith(b"\n"))
