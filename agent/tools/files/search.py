"""Search the files of a workspace for a regular expression.

Patterns come from a model, and some take for ever. Nothing can stop Python's `re` from outside, and
it keeps every other thread waiting. So this module is also a program: `search_process` runs it and
ends it when its time is over. It imports little, to start fast.
"""

import json
import math
import re
import resource
import sys
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from fnmatch import fnmatchcase
from io import BufferedReader
from pathlib import Path

from agent.tools.files.workspace import FileType, Workspace, WorkspaceError, path_parts, shown

LINE_LIMIT = 2_000
"""Characters of a line that are searched."""
SHOWN_LIMIT = 300
"""Characters of a line that are given back, around the match."""
PATTERN_LIMIT = 1_000

_BYTES = 4 * LINE_LIMIT + 1
_SKIPPED = 65_536


@dataclass(frozen=True, slots=True)
class Query:
    root: str
    pattern: str
    path: str
    """The folder to search, or one file."""
    glob: str
    """Which files of a folder: of names (`*.py`), or with a slash of paths (`src/**/*.py`)."""
    hits: int
    """At most so many."""
    cpu_seconds: float
    """The program's own limit, for when nobody is left to end it."""


@dataclass(frozen=True, slots=True)
class Hit:
    path: str
    """As `shown`."""
    line: int
    """From 1."""
    text: str


@dataclass(slots=True)
class Summary:
    """What a search that came to its end has done."""

    files: int = 0
    """Searched."""
    skipped: int = 0
    """Files that are binary, and files and folders that could not be opened."""
    cut: int = 0
    """Lines that were searched up to LINE_LIMIT only."""
    more: bool = False
    """There are more hits than were asked for."""


def search(query: Query) -> Iterator[Hit | Summary]:
    """Hits as they are found, then the summary. Raises WorkspaceError for a bad pattern or path."""
    try:
        pattern = re.compile(query.pattern)
    except (re.error, RecursionError, OverflowError) as error:
        raise WorkspaceError(f"pattern: not a regular expression ({error})") from None
    workspace, summary, found = Workspace(Path(query.root)), Summary(), 0
    for path in _files(workspace, query, summary):
        for hit in _search_file(workspace, path, pattern, summary):
            if found == query.hits:
                summary.more = True
                yield summary
                return
            found += 1
            yield hit
    yield summary


def fits(glob: str, path: Sequence[str]) -> bool:
    """Whether the components of a path match a glob; `**` stands for any number of folders."""
    if "/" not in glob:
        return fnmatchcase(path[-1], glob)
    parts = [part for part in glob.split("/") if part not in ("", ".")]
    # Which starts of `parts` match what was seen of the path so far.
    reached = _past_stars(parts, {0})
    for name in path:
        stay = {at for at in reached if at < len(parts) and parts[at] == "**"}
        step = {at + 1 for at in reached - stay if at < len(parts) and fnmatchcase(name, parts[at])}
        reached = _past_stars(parts, stay | step)
    return len(parts) in reached


def main() -> None:
    """Read a Query as JSON from stdin; write hits, then a summary or an error, as JSON lines."""
    query = Query(**json.load(sys.stdin))
    seconds = math.ceil(query.cpu_seconds)
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 1))
    try:
        for event in search(query):
            _say("hit" if isinstance(event, Hit) else "summary", asdict(event))
    except WorkspaceError as error:
        _say("error", str(error))


def _say(kind: str, value: object) -> None:
    sys.stdout.write(json.dumps({kind: value}) + "\n")
    sys.stdout.flush()


def _past_stars(parts: list[str], reached: set[int]) -> set[int]:
    """`**` may stand for no folder at all."""
    for at, part in enumerate(parts):
        if at in reached and part == "**":
            reached.add(at + 1)
    return reached


def _files(workspace: Workspace, query: Query, summary: Summary) -> Iterator[str]:
    path = workspace.relative(query.path)
    start = path_parts(path)
    if start and workspace.stat(path).type is FileType.FILE:
        yield path
        return
    for item in workspace.walk(path):
        below = item.path.split("/")[len(start) :]
        if item.type is FileType.CLOSED:
            summary.skipped += 1
        elif item.type is FileType.FILE and fits(query.glob, below):
            yield item.path


def _search_file(
    workspace: Workspace, path: str, pattern: re.Pattern[str], summary: Summary
) -> Iterator[Hit]:
    try:
        with workspace.open(path) as file:
            if b"\0" in file.peek():
                summary.skipped += 1
                return
            summary.files += 1
            for number, line in enumerate(_lines(file, summary), start=1):
                found = pattern.search(line)
                if found is not None:
                    yield Hit(shown(path), number, _around(line, found.start()))
    except WorkspaceError:
        summary.skipped += 1


def _lines(file: BufferedReader, summary: Summary) -> Iterator[str]:
    """The lines of a file, each cut at LINE_LIMIT, however long it is."""
    while piece := file.readline(_BYTES):
        line = piece.decode("utf-8", "replace").rstrip("\r\n")
        if len(line) > LINE_LIMIT:
            summary.cut += 1
        yield line[:LINE_LIMIT]
        while piece and not piece.endswith(b"\n"):
            piece = file.readline(_SKIPPED)


def _around(line: str, at: int) -> str:
    start = max(0, min(at - SHOWN_LIMIT // 3, len(line) - SHOWN_LIMIT))
    text = line[start : start + SHOWN_LIMIT].replace("\0", "\ufffd")
    return f"{'…' if start else ''}{text}{'…' if start + SHOWN_LIMIT < len(line) else ''}"


if __name__ == "__main__":
    main()
