"""git_status, git_diff and git_log, as models call them.

They are in the toolset file_read, and ask nobody: what they show is in files of the workspace,
which may be read with that toolset anyway, and they change nothing.
"""

import asyncio
import json
import sys
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import asdict
from functools import partial
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from agent.errors import ToolError
from agent.fairness import FairPlaces
from agent.text.sizing import share
from agent.tools.base import (
    NOTHING_DONE,
    Call,
    Done,
    Effects,
    Kit,
    Requested,
    Setting,
    Tool,
    Toolset,
    Traits,
    validate,
)
from agent.tools.files.common import FILE_THREADS, as_tool_errors
from agent.tools.files.workspace import Workspace, path_parts
from agent.tools.git.serving import Query

SECONDS = 10.0
"""For one look."""
PATIENCE = 5.0
"""Seconds more, for the process to begin and end."""
LOOKS = FairPlaces(4, "looks at repositories", patience=60.0)
"""Each is a process."""
PAGE_BYTES = 100_000
PAGE_SHARE = 8
"""An answer is at most this part of the context window of who reads it."""
_LINE_LIMIT = 2**23
"""Bytes of one line of the program's output: a line of a file, as JSON."""

_STOPPED = "[stopped here: the rest takes too much time or memory]"

RevisionText = Annotated[str, Field(max_length=200)]
PathText = Annotated[str, Field(min_length=1, max_length=1_000)]


def git_kit(find: Callable[[int], Workspace]) -> Kit:
    """`find` gives the workspace of a session; it must not block."""

    def kit(setting: Setting) -> Iterable[Tool]:
        room = share(setting.window, PAGE_SHARE, PAGE_BYTES)
        workspace = find(setting.home)
        return tuple(tool(workspace, room) for tool in (GitStatus, GitDiff, GitLog))

    return kit


class StatusArguments(BaseModel):
    model_config = ConfigDict(extra="forbid")

    path: PathText = Field(
        default=".", description="The folder that has .git, relative to the workspace."
    )

    def query(self, root: str) -> Query:
        return Query(root, "status", self.path, seconds=SECONDS)


class DiffArguments(BaseModel):
    model_config = ConfigDict(extra="forbid")

    path: PathText = Field(
        default=".", description="The folder that has .git, relative to the workspace."
    )
    base: RevisionText = Field(
        default="",
        description="A branch, tag or commit (HEAD~2) to compare with; "
        '"": what is staged, or with `staged` the last commit.',
    )
    to: RevisionText = Field(
        default="", description="A second one, which base is compared with, in place of the files."
    )
    staged: bool = Field(default=False, description="Compare what is staged, not the files.")
    paths: list[PathText] = Field(
        default=[], max_length=20, description="Only these files and folders of the repository."
    )

    def query(self, root: str) -> Query:
        if self.to and (self.staged or not self.base):
            raise ToolError(f"to: needs base, and goes without staged; {NOTHING_DONE}")
        return Query(
            root,
            "diff",
            self.path,
            tuple(self.paths),
            self.base,
            self.to,
            self.staged,
            seconds=SECONDS,
        )


class LogArguments(BaseModel):
    model_config = ConfigDict(extra="forbid")

    path: PathText = Field(
        default=".", description="The folder that has .git, relative to the workspace."
    )
    revision: RevisionText = Field(
        default="HEAD", description="Where to begin: main, v1.2, HEAD~5."
    )
    paths: list[PathText] = Field(
        default=[], max_length=20, description="Only commits that change one of these."
    )
    count: int = Field(default=10, ge=1, le=100, description="Commits at most.")

    def query(self, root: str) -> Query:
        return Query(
            root,
            "log",
            self.path,
            tuple(self.paths),
            self.revision,
            count=self.count,
            seconds=SECONDS,
        )


class _GitTool:
    """What the three have in common."""

    traits = Traits(Effects.READS, Toolset.FILE_READ, repeatable=True)
    arguments: type[StatusArguments | DiffArguments | LogArguments]

    def __init__(self, workspace: Workspace, room: int) -> None:
        self._workspace = workspace
        self._room = room

    async def requested(self, call: Call) -> Requested:
        """With the repository's folder in the form in which it will be used."""
        arguments = dict(call.arguments)
        if isinstance(arguments.get("path"), str):
            with as_tool_errors():
                path = await FILE_THREADS.run(
                    call.address, partial(self._workspace.relative, arguments["path"])
                )
                arguments["path"] = "/".join(path_parts(path)) or "."
        line = json.dumps(arguments, sort_keys=True, ensure_ascii=False)
        shown = json.dumps(arguments, indent=2, ensure_ascii=False)
        return Requested(line, shown, syntax="json")

    async def run(self, call: Call) -> Done:
        query = validate(self.arguments, call.arguments).query(str(self._workspace.root.absolute()))
        async with LOOKS.place(call.address):
            return Done(await _looked(query, self._room))


class GitStatus(_GitTool):
    name = "git_status"
    description = (
        "What is staged, changed, in conflict and untracked in a git repository of the workspace. "
        "Nothing is changed or run; the repository's configuration is not read."
    )
    arguments = StatusArguments
    parameters = StatusArguments.model_json_schema()


class GitDiff(_GitTool):
    name = "git_diff"
    description = (
        "Differences in a git repository of the workspace, as a unified diff: of the files to what "
        "is staged, or to a commit; of what is staged to the last commit; of two commits. Nothing "
        "is changed or run."
    )
    arguments = DiffArguments
    parameters = DiffArguments.model_json_schema()


class GitLog(_GitTool):
    name = "git_log"
    description = (
        "Commits of a git repository of the workspace, newest first, with author, date and "
        "message. What one changed: git_diff with base ID~1 and to ID. Nothing is changed or run."
    )
    arguments = LogArguments
    parameters = LogArguments.model_json_schema()


async def _looked(query: Query, room: int) -> str:
    """The answer, of at most `room` bytes. ToolError where nothing can be said."""
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        # Isolated, and with an empty environment: nothing in it says what is run, or is secret.
        *("-I", "-W", "ignore", "-m", "agent.tools.git.child"),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
        env={},
        limit=_LINE_LIMIT,
        start_new_session=True,  # Ctrl-C is for the gateway alone
    )
    assert process.stdin is not None and process.stdout is not None
    pieces: list[str] = []
    try:
        async with asyncio.timeout(query.seconds + PATIENCE):
            with suppress(ConnectionError):
                process.stdin.write(json.dumps(asdict(query)).encode())
                process.stdin.close()
            note = await _collected(process.stdout, pieces, room)
    except TimeoutError:
        note = _STOPPED
    finally:
        # As in agent.tools.files.search_process: one that has closed its output ends by itself.
        if not process.stdout.at_eof():
            with suppress(ProcessLookupError):
                process.kill()
            while await process.stdout.read(2**20):
                pass  # what is left must be taken out, or the end is not seen
        await process.wait()
    if not pieces and note:
        raise ToolError(f"{note.strip('[]')}; {NOTHING_DONE}")
    return "".join(pieces) + note


async def _collected(output: asyncio.StreamReader, pieces: list[str], room: int) -> str:
    """Take the answer; gives what is to be said behind it."""
    size = 0
    async for line in output:
        match json.loads(line):
            case {"text": str(text)}:
                size += len(text.encode(errors="replace"))
                if size > room:
                    return f"[cut after {room:,} bytes; name paths, or fewer commits]"
                pieces.append(text)
            case {"error": str(error)}:
                return f"[{error}]"
            case {"end": True}:
                return ""
    return _STOPPED
