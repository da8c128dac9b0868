"""What tools were called on a path, and which files that touched."""

from collections.abc import Iterator

from agent.errors import ToolError
from agent.models.base import ToolCall
from agent.runtime.next_step import calls_of
from agent.tools.base import parse_arguments
from agent.tools.files.tools import ReadFile
from agent.tools.files.workspace import normalized
from agent.tools.files.writing import WROTE, EditFile, WriteFile
from storage.records.entries import Entry, Kind

Path = tuple[Entry, ...]


DELEGATE = "delegate_task"
"""The tool whose results say what children touched."""
TOUCHES = {ReadFile.name: "read", WriteFile.name: "wrote", EditFile.name: "wrote"}
"""Tool → what it does to the file it names."""
CHANGED = "changed"
"""What a command did to a file, as far as can be told."""
HOWS = ("read", CHANGED, "wrote")
"""What can be done to a file; of two, the later one says more."""


def finished_calls(path: Path) -> Iterator[tuple[str, str, str]]:
    """(name, arguments, result) of each call that has a result and was not handed over.

    A result that does not say whose it is belongs to the newest call above it with its id.
    """
    calls: dict[tuple[int | None, str], ToolCall] = {}
    for entry in path:
        if entry.kind is not Kind.MESSAGE:
            continue
        if entry.body["role"] == "tool":
            call = calls.get((entry.body.get("call_entry"), entry.body["tool_call_id"]))
            if call is not None:
                yield call.name, call.arguments, str(entry.body["content"])
        elif not entry.body.get("handed"):
            for call in calls_of(entry):
                calls[entry.id, call.id] = calls[None, call.id] = call


def files_changed(path: Path) -> Iterator[str]:
    """Files that commands of the path changed, as their results have it."""
    for entry in path:
        changed = entry.body.get("changed") if entry.body.get("role") == "tool" else None
        if isinstance(changed, list) and not entry.body.get("handed"):
            yield from (normalized(file) for file in changed if isinstance(file, str))


def file_touched(name: str, arguments: str, result: str) -> str:
    """The file that a call read or wrote; "" where it touched none."""
    touches = name in TOUCHES and not result.startswith("Error: ")
    if not touches:
        return ""
    # Named by an absolute path: what a file was written as, its result says.
    written = WROTE.match(result) if TOUCHES[name] == "wrote" else None
    path = _path(arguments)
    return written["path"] if written is not None and path.startswith("/") else normalized(path)


def _path(arguments: str) -> str:
    try:
        return str(parse_arguments(arguments).get("path", ""))
    except ToolError:
        # Its result says so; no file was touched.
        return ""
