"""What the workers of a delegation did, read from their sessions."""

from collections.abc import Iterator

from agent.delegation.handoff.model import normalized
from agent.errors import ToolError
from agent.models.base import ToolCall
from agent.runtime.next_step import calls_of
from agent.tools.base import parse_arguments
from storage.records.entries import Entry, Kind
from storage.store import Transaction

Path = tuple[Entry, ...]

TOUCHES = {"read_file": "read", "write_file": "wrote"}
"""Tool → what it does to the file it names."""


def worker_paths(tx: Transaction, journal: int) -> list[Path]:
    """The transcripts of a delegation's workers, oldest first."""
    runs = tx.tree.children(journal)
    return [tx.tree.path(run.leaf) for run in runs if run.title.startswith("worker")]


def tool_calls_text(path: Path) -> str:
    """What a worker's tools were called with and gave back."""
    return "\n\n".join(
        f"{name}({arguments})\n{result}" for name, arguments, result in finished_calls(path)
    )


def files_touched(tx: Transaction, journal: int) -> dict[str, str]:
    """Path → "read" or "wrote", of everything that workers read or wrote successfully."""
    touched: dict[str, str] = {}
    for path in worker_paths(tx, journal):
        for call in finished_calls(path):
            file = file_touched(*call)
            if file and touched.get(file) != "wrote":
                touched[file] = TOUCHES[call[0]]
    return touched


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


def file_touched(name: str, arguments: str, result: str) -> str:
    """The file that a call read or wrote; "" where it touched none."""
    touches = name in TOUCHES and not result.startswith("Error: ")
    return _file(arguments) if touches else ""


def _file(arguments: str) -> str:
    try:
        return normalized(str(parse_arguments(arguments).get("path", "")))
    except ToolError:
        # Its result says so; no file was touched.
        return ""
