"""write_file and edit_file: what changes the files of the session's workspace."""

import asyncio
import re
from collections.abc import Callable
from functools import partial

from pydantic import BaseModel, ConfigDict, Field

from agent.backoff import backoff
from agent.errors import ToolError
from agent.tools.base import NOTHING_DONE, Call, Done, Effects, Toolset, Traits, validate
from agent.tools.files.common import (
    FILE_THREADS,
    FileTool,
    as_tool_errors,
    count_lines,
    refuse_binary,
)
from agent.tools.files.editing import Edited, EditError, edited
from agent.tools.files.workspace import Busy, Workspace, shown

EDIT_LIMIT = 5_000_000
"""Bytes of a file that is edited, before and after."""
PATIENCE = 5.0
"""Seconds for which the lock of a folder is waited for."""
_FIRST_PAUSE, _LONGEST_PAUSE = 0.01, 0.2

RISKY = "before files that programs run (Makefile, conftest.py …), where commands run unasked"
WROTE = re.compile(
    r"(?:Wrote|Edited) (?P<path>[^\n]+): [\d,]+ bytes, [\d,]+ lines\.(?:\n.*)?\Z", re.S
)
"""How both answer."""


class WriteArguments(BaseModel):
    model_config = ConfigDict(extra="forbid")

    path: str = Field(description="The file, relative to the workspace.")
    content: str = Field(description="The whole new content.")


class WriteFile(FileTool):
    name = "write_file"
    description = (
        "Make a file of the workspace, or replace it, with exactly this content. Folders on the "
        "way are made."
    )
    parameters = WriteArguments.model_json_schema()
    traits = Traits(Effects.CHANGES, Toolset.FILE, repeatable=True, asks_when=RISKY)

    async def run(self, call: Call) -> Done:
        """A call that is cancelled while it writes may still take effect, whole."""
        arguments = validate(WriteArguments, call.arguments)
        workspace = self._find(call.session)
        with as_tool_errors():
            find = partial(workspace.file_path, arguments.path)
            path = await FILE_THREADS.run(call.address, find)
            data = arguments.content.encode()
            await FILE_THREADS.run(call.address, partial(workspace.write, path, data))
        self._tell(call, "wrote", path)
        return Done(f"Wrote {_told(path, data)}")


class EditArguments(BaseModel):
    model_config = ConfigDict(extra="forbid")

    path: str = Field(description="The file, relative to the workspace.")
    old: str = Field(description="The passage to replace, exactly as it stands in the file.")
    new: str = Field(description='What is to stand there instead; "" to take it out.')
    all: bool = Field(
        default=False,
        description="Replace it wherever it stands; without this, it must stand there once.",
    )


class EditFile(FileTool):
    name = "edit_file"
    description = (
        "Replace a passage of a text file of the workspace, exactly. White space counts; give as "
        "many lines around it as make it unique. The rest of the file stays as it is."
    )
    parameters = EditArguments.model_json_schema()
    # Run again it would find its passage gone, or, where the new holds the old, change it twice.
    traits = Traits(Effects.CHANGES, Toolset.FILE, asks_when=RISKY)

    async def run(self, call: Call) -> Done:
        """A call that is cancelled while it writes may still take effect, whole."""
        arguments = validate(EditArguments, call.arguments)
        workspace = self._find(call.session)
        with as_tool_errors():
            find = partial(workspace.file_path, arguments.path)
            path = await FILE_THREADS.run(call.address, find)
            text = await _edited(call, partial(_edit, workspace, path, arguments))
        self._tell(call, "wrote", path)
        return Done(text)


async def _edited(call: Call, edit: Callable[[], str]) -> str:
    """While another holds the lock of the folder, no thread is held by who waits for it."""
    loop = asyncio.get_running_loop()
    end, pauses = loop.time() + PATIENCE, backoff(_FIRST_PAUSE, _LONGEST_PAUSE, jitter=True)
    while True:
        try:
            return await FILE_THREADS.run(call.address, edit)
        except Busy:
            if loop.time() > end:
                raise
        await asyncio.sleep(next(pauses))


def _edit(workspace: Workspace, path: str, arguments: EditArguments) -> str:
    told = ""

    def changed(data: bytes) -> bytes:
        nonlocal told
        refuse_binary(path, data)
        try:
            made = edited(data.decode(), arguments.old, arguments.new, all_places=arguments.all)
        except EditError as error:
            raise ToolError(f"{shown(path)}: {error}; {NOTHING_DONE}") from None
        new = made.text.encode()
        if len(new) > EDIT_LIMIT:
            raise ToolError(
                f"{shown(path)}: would have {len(new):,} bytes, and at most {EDIT_LIMIT:,} are "
                f"edited; {NOTHING_DONE}"
            )
        told = f"Edited {_told(path, new)}\n{_places(made)}"
        return new

    workspace.change(path, changed, EDIT_LIMIT)
    return told


def _told(path: str, data: bytes) -> str:
    return f"{shown(path)}: {len(data):,} bytes, {count_lines(data):,} lines."


def _places(made: Edited) -> str:
    if made.count == 1:
        return f"Replaced once, at line {made.line:,} of what it was."
    return f"Replaced {made.count:,} times, first at line {made.line:,} of what it was."
