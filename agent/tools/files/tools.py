"""The file toolset: reads, lists and searches the files of the session's workspace; `writing` has
what changes them."""

import io
from collections.abc import Callable
from functools import partial
from itertools import islice

from pydantic import BaseModel, ConfigDict, Field

from agent.errors import ToolError
from agent.fairness import FairPlaces
from agent.text.sizing import share
from agent.tools.base import Call, Done, Effects, Tool, Toolset, Traits, validate
from agent.tools.files import search_process
from agent.tools.files.common import (
    FILE_THREADS,
    FileTool,
    Find,
    Seen,
    as_tool_errors,
    count_lines,
    refuse_binary,
)
from agent.tools.files.search import LINE_LIMIT, PATTERN_LIMIT, Query
from agent.tools.files.search_process import Found
from agent.tools.files.workspace import (
    DEPTH_LIMIT,
    FileState,
    FileType,
    Item,
    Missing,
    Workspace,
    shown,
)
from agent.tools.files.writing import EditFile, WriteFile

PAGE_BYTES = 200_000
LIST_LIMIT = 500
HIT_LIMIT = 100
SEARCH_SECONDS = 5.0
SEARCHES = FairPlaces(4, "searches of files", patience=60.0)
"""Each is a process."""

CHANGED = "[changed since the handoff; this is the file as it is now]\n"

PAGE_SHARE = 8
"""A page is at most this part of the context window of who reads it."""


def page_for(window: int | None) -> int:
    """Bytes of a page for a model with this context window, in tokens."""
    return share(window, PAGE_SHARE, PAGE_BYTES)


Cached = Callable[[Call, str], tuple[str, FileState] | None]
"""A file's whole content and its state at the time, where the call's session was handed it."""


def file_tools(
    find: Find,
    *,
    seen: Seen | None = None,
    cached: Cached | None = None,
    search_seconds: float = SEARCH_SECONDS,
    page_bytes: int = PAGE_BYTES,
) -> tuple[Tool, ...]:
    """read_file, list_files and search_files; write_file and edit_file.

    `find` is asked at each call, on the event loop, and must not block. `cached` answers for a
    path in normal form; what it gives is used while the file's state is the same. `page_bytes`:
    the most that one read gives.
    """
    return (
        ReadFile(find, seen, cached, page_bytes),
        WriteFile(find, seen),
        EditFile(find, seen),
        ListFiles(find),
        SearchFiles(find, search_seconds),
    )


class ReadArguments(BaseModel):
    model_config = ConfigDict(extra="forbid")

    path: str = Field(description="The file, relative to the workspace.")
    offset: int = Field(default=1, ge=1, description="The first line to read, from 1.")
    limit: int = Field(default=2_000, ge=1, description="Lines to read at most.")


class ReadFile(FileTool):
    name = "read_file"
    description = (
        "Read a text file of the workspace. You get its text as it is; only where that is not the "
        "whole file, a first line in brackets says which lines it is and how to go on."
    )
    parameters = ReadArguments.model_json_schema()
    traits = Traits(Effects.READS, Toolset.FILE_READ, repeatable=True)

    def __init__(
        self, find: Find, seen: Seen | None, cached: Cached | None, page_bytes: int
    ) -> None:
        super().__init__(find, seen)
        self._cached = cached
        self._page_bytes = page_bytes

    async def run(self, call: Call) -> Done:
        arguments = validate(ReadArguments, call.arguments)
        workspace = self._find(call.session)
        with as_tool_errors():
            find = partial(workspace.file_path, arguments.path)
            path = await FILE_THREADS.run(call.address, find)
            handed = self._cached(call, path) if self._cached is not None else None
            read = partial(_read, workspace, path, handed, arguments, self._page_bytes)
            text = await FILE_THREADS.run(call.address, read)
        self._tell(call, "read", path)
        return Done(text)


class ListArguments(BaseModel):
    model_config = ConfigDict(extra="forbid")

    path: str = Field(default=".", description="The folder, relative to the workspace.")
    depth: int = Field(default=2, ge=1, le=DEPTH_LIMIT, description="Levels of folders to list.")


class ListFiles(FileTool):
    name = "list_files"
    description = (
        "List what is in a folder of the workspace, one path per line, files with their size, "
        f"folders ending in a slash, upper levels first; at most {LIST_LIMIT}."
    )
    parameters = ListArguments.model_json_schema()
    traits = Traits(Effects.READS, Toolset.FILE_READ, repeatable=True)

    async def run(self, call: Call) -> Done:
        arguments = validate(ListArguments, call.arguments)
        workspace = self._find(call.session)
        with as_tool_errors():
            return Done(await FILE_THREADS.run(call.address, partial(_list, workspace, arguments)))


class SearchArguments(BaseModel):
    model_config = ConfigDict(extra="forbid")

    pattern: str = Field(
        min_length=1,
        max_length=PATTERN_LIMIT,
        description="A regular expression as in Python, looked for in each line.",
    )
    path: str = Field(default=".", description="The folder or file, relative to the workspace.")
    glob: str = Field(
        default="*",
        min_length=1,
        max_length=PATTERN_LIMIT,
        description="Which files: of names (*.py), or with a slash of paths below the folder "
        "(src/**/*.py). There are no braces.",
    )


class SearchFiles(FileTool):
    name = "search_files"
    description = (
        "Search the text files of the workspace for a regular expression. Gives path:line: text "
        f"for each line that matches, at most {HIT_LIMIT}."
    )
    parameters = SearchArguments.model_json_schema()
    traits = Traits(Effects.READS, Toolset.FILE_READ, repeatable=True)

    def __init__(self, find: Find, seconds: float) -> None:
        super().__init__(find)
        self._seconds = seconds

    async def run(self, call: Call) -> Done:
        arguments = validate(SearchArguments, call.arguments)
        query = Query(
            root=str(self._find(call.session).root),
            pattern=arguments.pattern,
            path=arguments.path,
            glob=arguments.glob,
            hits=HIT_LIMIT,
            cpu_seconds=self._seconds + 1,
        )
        async with SEARCHES.place(call.address):
            with as_tool_errors():
                found = await search_process.search(query, self._seconds)
        return Done(_hits(found, self._seconds))


def _read(
    workspace: Workspace,
    path: str,
    handed: tuple[str, FileState] | None,
    arguments: ReadArguments,
    most: int,
) -> str:
    def page_of(data: bytes) -> str:
        return page(path, data, arguments.offset, arguments.limit, most)

    if handed is None:
        return page_of(workspace.read(path).data)
    content, state = handed
    try:
        if workspace.stat(path).state == state:
            return page_of(content.encode())
        changed = workspace.read(path).data
    except Missing as error:
        raise Missing(f"{error}; it was there at the handoff and is gone since") from None
    return CHANGED + page_of(changed)


def page(path: str, data: bytes, offset: int, limit: int, most: int = PAGE_BYTES) -> str:
    """`limit` lines of a file from line `offset`, at most `most` bytes; with a first line that says
    so where that is not the whole file. Raises ToolError for binary data and an offset behind the
    end."""
    refuse_binary(path, data)
    total = count_lines(data)
    if offset > max(total, 1):
        raise ToolError(f"offset: {shown(path)} has only {total:,} lines; nothing was done")
    if not data:
        return "[the file is empty]"
    kept: list[bytes] = []
    size = 0
    for line in islice(io.BytesIO(data), offset - 1, offset - 1 + limit):
        size += len(line)
        if size > most:
            break
        kept.append(line)
    if not kept:
        return _start_of_line(data, offset, total, most)
    text = b"".join(kept).decode()
    last = offset + len(kept) - 1
    if offset == 1 and last == total:
        return text
    return f"[lines {offset}–{last} of {total}{_go_on(last, total)}]\n{text}"


def _start_of_line(data: bytes, number: int, total: int, most: int) -> str:
    """A line that is longer than a page."""
    line = next(islice(io.BytesIO(data), number - 1, None))
    text = line[:most].decode(errors="ignore")
    return (
        f"[line {number} of {total}, cut: it has {len(line):,} bytes, these are the first "
        f"{most:,}{_go_on(number, total)}]\n{text}"
    )


def _go_on(last: int, total: int) -> str:
    return f"; go on with offset={last + 1}" if last < total else ""


def _list(workspace: Workspace, arguments: ListArguments) -> str:
    items = list(islice(workspace.walk(arguments.path, arguments.depth), LIST_LIMIT + 1))
    if not items:
        return "[the folder is empty]"
    lines = [_line(item) for item in items[:LIST_LIMIT]]
    if len(items) > LIST_LIMIT:
        lines.append(f"[cut after {LIST_LIMIT}; list a folder below, or with less depth]")
    return "\n".join(lines)


def _line(item: Item) -> str:
    path = shown(item.path)
    escaped = "" if path == item.path else " [name shown escaped]"
    match item.type:
        case FileType.FILE:
            return f"{path} ({item.state.size:,} bytes){escaped}"
        case FileType.FOLDER:
            return f"{path}/{escaped}"
        case FileType.LINK:
            return f"{path} (link, not followed){escaped}"
        case FileType.SPECIAL:
            return f"{path} (special file){escaped}"
        case FileType.CLOSED:
            return f"{path}/ (cannot be opened){escaped}"


def _hits(found: Found, seconds: float) -> str:
    lines = [f"{hit.path}:{hit.line}: {hit.text}" for hit in found.hits]
    summary = found.summary
    if summary is None:
        lines.append(
            f"[stopped after {seconds:g} s, not everything was searched; "
            "use a simpler pattern, or narrow path or glob]"
        )
        return "\n".join(lines)
    if summary.more:
        lines.append(f"[cut after {HIT_LIMIT}; narrow pattern, path or glob]")
    if not lines:
        lines.append(f"[no match; {summary.files:,} files were searched]")
    if summary.skipped:
        lines.append(f"[not searched: {summary.skipped:,}, binary or not to be opened]")
    if summary.cut:
        lines.append(f"[searched up to character {LINE_LIMIT:,} only: {summary.cut:,} long lines]")
    return "\n".join(lines)
