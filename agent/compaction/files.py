"""Which files were read and changed in a conversation, kept from summary to summary. Pure."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from agent.runtime.tool_calls import (
    DELEGATE,
    HOWS,
    TOUCHES,
    file_touched,
    files_changed,
    finished_calls,
)
from agent.text.markdown import bounded
from agent.text.sizing import size
from agent.text.untrusted import as_text
from agent.tools.files.workspace import normalized, shown
from storage.records.entries import Entry, Json, Kind

MAX_FILES = 1_000
"""Files that are kept, the last touched ones."""
_PATH_LIMIT = 200
"""Characters of a path where it is shown."""
_HEADING = "\n\n## Files\n"


@dataclass(frozen=True, slots=True)
class FileList:
    """Paths in normal form, the last touched last; none stands in both."""

    read: tuple[str, ...] = ()
    modified: tuple[str, ...] = ()

    @classmethod
    def of(cls, entries: Iterable[Entry]) -> "FileList":
        """What former summaries among the entries list, then what the entries' calls read, wrote
        and had read and written by children."""
        entries = tuple(entries)
        touched: dict[str, str] = {}
        for path, how in (*_listed(entries), *_touched(entries)):
            wrote = "wrote" in (touched.pop(path, ""), how)
            touched[path] = "wrote" if wrote else "read"
        newest = list(touched.items())[-MAX_FILES:]
        return cls(
            tuple(path for path, how in newest if how == "read"),
            tuple(path for path, how in newest if how == "wrote"),
        )

    def details(self) -> Json:
        return {"read_files": list(self.read), "modified_files": list(self.modified)}


def with_files(text: str, files: FileList, limit: int) -> str:
    """A summary with the files below it: the last touched ones, as many as fit about `limit` bytes
    for either list; how many more there are is said."""
    titles = {"Read, not changed:": files.read, "Changed:": files.modified}
    lists = [_list(title, paths, limit) for title, paths in titles.items() if paths]
    return text + _HEADING + "\n\n".join(lists) if lists else text


def without_files(entry: Entry) -> str:
    """The text of a summary entry without the files below it."""
    text = as_text(entry.body.get("summary"))
    return text.rpartition(_HEADING)[0] if _HEADING in text else text


def _list(title: str, paths: Sequence[str], limit: int) -> str:
    lines: list[str] = []
    for path in reversed(paths):
        line = f"- {bounded(shown(path), _PATH_LIMIT)}"
        limit -= size(line) + 1
        if lines and limit < 0:
            break
        lines.append(line)
    more = len(paths) - len(lines)
    return "\n".join([title, *reversed(lines), *([f"- and {more:,} before these"] if more else [])])


def _listed(entries: Iterable[Entry]) -> Iterator[tuple[str, str]]:
    for entry in entries:
        details = entry.body.get("details")
        if entry.kind not in (Kind.COMPACTION, Kind.BRANCH_SUMMARY) or not isinstance(
            details, dict
        ):
            continue
        for key, how in (("read_files", "read"), ("modified_files", "wrote")):
            paths = details.get(key)
            for path in paths if isinstance(paths, list) else ():
                if isinstance(path, str):
                    yield path, how


def _touched(entries: tuple[Entry, ...]) -> Iterator[tuple[str, str]]:
    for name, arguments, result in finished_calls(entries):
        if name == DELEGATE:
            yield from _by_children(result)
        elif path := file_touched(name, arguments, result):
            yield path, TOUCHES[name]
    yield from ((path, "wrote") for path in files_changed(entries))


def _by_children(result: str) -> Iterator[tuple[str, str]]:
    """What the results of a delegation say; nothing where the call gave none."""
    try:
        given = json.loads(result)
    except (ValueError, RecursionError):
        return
    results = given.get("results") if isinstance(given, Mapping) else None
    for one in results if isinstance(results, list) else ():
        files = one.get("files") if isinstance(one, Mapping) else None
        for path, how in files.items() if isinstance(files, Mapping) else ():
            if how in HOWS:
                yield normalized(path), "read" if how == "read" else "wrote"
