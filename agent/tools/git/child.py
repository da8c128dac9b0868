"""What git_status, git_diff and git_log do, as a program that reads one Query: `tools` runs it and
ends it when its time is over, `serving` binds it before it looks at anything.
"""

import hashlib
import heapq
import json
import os
import stat
import sys
import time
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, timezone
from io import BytesIO
from pathlib import Path

from dulwich.diff_tree import tree_changes
from dulwich.ignore import IgnoreFilter
from dulwich.index import ConflictedIndexEntry, IndexEntry
from dulwich.objects import Commit, ObjectID
from dulwich.patch import is_binary, unified_diff

from agent.tools.files.workspace import (
    FileType,
    Item,
    Workspace,
    WorkspaceError,
    path_parts,
    shown,
)
from agent.tools.git.repository import (
    FOLDER,
    LINK,
    MODULE,
    Head,
    Repository,
    RepositoryError,
    kind,
)
from agent.tools.git.serving import Query, bind, say

DIFF_LIMIT = 1_000_000
"""Bytes of a file that is compared line by line."""
MESSAGE_LIMIT = 4_000
"""Characters of a commit's message."""
MOST_PARENTS = 20
"""Of one commit, that are named."""
MOST_LISTED = 300
"""Paths of each kind that a status names."""
_SKIPPED = 0x4000
"""Of an index entry: a sparse checkout leaves it out."""


@dataclass(frozen=True, slots=True)
class Side:
    mode: int
    sha: bytes | None
    """None: as it is in the folder."""


@dataclass(frozen=True, slots=True)
class Change:
    path: bytes
    old: Side | None
    new: Side | None


class Looking:
    """One query on one repository."""

    def __init__(self, repository: Repository, query: Query) -> None:
        self._repository = repository
        self._query = query
        self._deadline = time.monotonic() + query.seconds
        self._paths = tuple("/".join(path_parts(path)).encode() for path in query.paths)

    def answer(self) -> Iterator[str]:
        """Text, piece by piece. RepositoryError, and what a damaged repository makes of parsers."""
        match self._query.what:
            case "status":
                return self._status()
            case "diff":
                return self._diff()
            case _:
                return self._log()

    @property
    def _late(self) -> bool:
        return time.monotonic() > self._deadline

    def _wanted(self, path: bytes) -> bool:
        return not self._paths or any(
            one in (b"", path) or path.startswith(one + b"/") for one in self._paths
        )

    # Status.

    def _status(self) -> Iterator[str]:
        head = self._repository.head()
        yield self._head_line(head)
        index = self._repository.index
        conflicts = (
            shown(os.fsdecode(path))
            for path, entry in sorted(index.items())
            if isinstance(entry, ConflictedIndexEntry)
        )
        untracked = (shown(path) for path in self._untracked("", self._excluded()))
        clean = True
        for title, lines in (
            ("Staged", self._words(self._staged(head.commit))),
            ("In conflict", conflicts),
            ("Changed, not staged", self._words(self._unstaged())),
            ("Untracked", untracked),
        ):
            for line in _listed(title, lines):
                clean = False
                yield line
        if self._late:
            yield _STOPPED
        elif clean:
            yield "Nothing is changed.\n"

    def _head_line(self, head: Head) -> str:
        where = f"On branch {shown(head.branch)}" if head.branch else "On no branch"
        if head.commit is None:
            return f"{where}, no commits yet\n"
        return f"{where}, at {_short(self._repository.peeled(head.commit))}\n"

    def _words(self, changes: Iterable[Change]) -> Iterator[str]:
        for change in changes:
            word = "modified"
            if change.old is None:
                word = "new"
            elif change.new is None:
                word = "deleted"
            elif kind(change.old.mode) != kind(change.new.mode):
                word = "another kind of file"
            yield f"{word}: {shown(os.fsdecode(change.path))}"

    def _staged(self, commit: str | None) -> Iterator[Change]:
        repository = self._repository
        tree = repository.peeled(commit).tree if commit is not None else None
        before, index = repository.files_of(tree), repository.index
        for path in sorted(before.keys() | index.keys()):
            entry = index.get(path)
            if isinstance(entry, ConflictedIndexEntry) or not self._wanted(path):
                continue
            old = Side(*before[path]) if path in before else None
            new = Side(entry.mode, entry.sha) if entry is not None else None
            if old != new:
                yield Change(path, old, new)

    def _unstaged(self) -> Iterator[Change]:
        for path, entry in sorted(self._repository.index.items()):
            if self._late:
                return
            if isinstance(entry, ConflictedIndexEntry) or not self._wanted(path):
                continue
            if entry.extended_flags & _SKIPPED or kind(entry.mode) == MODULE:
                continue
            found = self._found(path)
            if found is not None and self._as_staged(found, entry):
                continue
            change = self._on_disk(path, Side(entry.mode, entry.sha), found)
            if change is not None:
                yield change

    def _found(self, path: bytes) -> Item | None:
        """What is at a path of the folder; None where nothing is, or only behind a link."""
        try:
            return self._repository.workspace.stat(self._repository.path(os.fsdecode(path)))
        except WorkspaceError:
            return None

    def _as_staged(self, found: Item, entry: IndexEntry) -> bool:
        """Whether size and time say so, as git has it too."""
        seconds, nanoseconds = entry.mtime if isinstance(entry.mtime, tuple) else (entry.mtime, 0)
        state = found.state
        return (
            found.type is (FileType.LINK if kind(entry.mode) == LINK else FileType.FILE)
            and entry.size == state.size & 0xFFFFFFFF
            and entry.ino in (0, state.inode & 0xFFFFFFFF)
            and seconds == state.mtime_ns // 10**9
            and nanoseconds in (0, state.mtime_ns % 10**9)
            and state.mtime_ns < self._repository.index_time
        )

    def _on_disk(self, path: bytes, old: Side, found: Item | None) -> Change | None:
        """The change from there to what is in the folder; None where there is none."""
        if found is None or found.type not in (FileType.FILE, FileType.LINK):
            return Change(path, old, None)
        new = Side(LINK if found.type is FileType.LINK else stat.S_IFREG, None)
        if kind(old.mode) == kind(new.mode) and self._hash(path, new) == old.sha:
            return None
        return Change(path, old, new)

    def _hash(self, path: bytes, side: Side) -> bytes:
        """The id of what is in the folder; b"" where it cannot be read."""
        workspace, name = self._repository.workspace, self._repository.path(os.fsdecode(path))
        digest = hashlib.sha1(usedforsecurity=False)
        try:
            if side.mode == LINK:
                text = workspace.link_text(name)
                digest.update(b"blob %d\0" % len(text) + text)
                return digest.hexdigest().encode()
            with workspace.open(name) as file:
                digest.update(b"blob %d\0" % os.fstat(file.fileno()).st_size)
                while piece := file.read(2**20):
                    digest.update(piece)
                    if self._late:
                        return b""
        except WorkspaceError:
            return b""
        return digest.hexdigest().encode()

    def _excluded(self) -> list[tuple[int, IgnoreFilter]]:
        found = self._repository.ignores(self._repository.git("info/exclude"))
        return [(0, found)] if found is not None else []

    def _untracked(self, folder: str, filters: list[tuple[int, IgnoreFilter]]) -> Iterator[str]:
        """Paths that git knows nothing of; of a folder without anything known, only the folder."""
        repository = self._repository
        own = repository.ignores(repository.path(f"{folder}.gitignore"))
        within = [*filters, (len(folder), own)] if own is not None else filters
        try:
            items = [*repository.items(folder)]
        except WorkspaceError:
            return
        for item in items:
            if self._late:
                return
            path = folder + item.path.rpartition("/")[2]
            name = os.fsencode(path)
            if item.type is FileType.FOLDER:
                known = name in self._folders
                if name in repository.index or (_ignored(f"{path}/", within) and not known):
                    continue
                below = self._untracked(f"{path}/", within)
                if known:
                    yield from below
                elif next(below, None) is not None:
                    yield f"{path}/"
            elif name not in repository.index and not _ignored(path, within):
                yield path

    @property
    def _folders(self) -> set[bytes]:
        """Those above what is known."""
        if not hasattr(self, "_above"):
            self._above = {
                path[:at]
                for path in self._repository.index
                for at, byte in enumerate(path)
                if byte == 0x2F
            }
        return self._above

    # Differences.

    def _diff(self) -> Iterator[str]:
        nothing = True
        for change in self._changes():
            if self._late:
                yield _STOPPED
                return
            nothing = False
            yield from self._file(change)
        if nothing:
            yield _STOPPED if self._late else "[no difference]\n"

    def _changes(self) -> Iterator[Change]:
        repository, query = self._repository, self._query
        if query.staged:
            commit = repository.commit(query.base).id.decode() if query.base else None
            return self._staged(commit or repository.head().commit)
        if not query.base:
            return self._unstaged()
        base = repository.commit(query.base)
        if query.to:
            return self._between(base, repository.commit(query.to))
        return self._since(base)

    def _between(self, base: Commit, to: Commit) -> Iterator[Change]:
        for change in tree_changes(self._repository.objects, base.tree, to.tree):
            sides = [
                Side(entry.mode, entry.sha)
                if entry is not None and entry.mode is not None and entry.sha is not None
                else None
                for entry in (change.old, change.new)
            ]
            named = change.new if change.new is not None else change.old
            if named is not None and named.path is not None and self._wanted(named.path):
                yield Change(named.path, *sides)

    def _since(self, base: Commit) -> Iterator[Change]:
        """To what is in the folder, of the files that the commit or the index has."""
        before = self._repository.files_of(base.tree)
        for path in sorted(before.keys() | self._repository.index.keys()):
            if self._late:
                return
            found = self._found(path) if self._wanted(path) else None
            if not self._wanted(path) or (path in before and kind(before[path][0]) == MODULE):
                continue
            if path in before:
                change = self._on_disk(path, Side(*before[path]), found)
                if change is not None:
                    yield change
            elif found is not None and found.type in (FileType.FILE, FileType.LINK):
                mode = LINK if found.type is FileType.LINK else stat.S_IFREG
                yield Change(path, None, Side(mode, None))

    def _file(self, change: Change) -> Iterator[str]:
        path = shown(os.fsdecode(change.path))
        old, new = (self._content(change.path, side) for side in (change.old, change.new))
        yield f"diff {path}\n"
        if change.old is not None and change.new is not None:
            modes = change.old.mode, change.new.mode
            if change.new.sha is not None and modes[0] != modes[1]:
                yield f"mode {modes[0]:o} → {modes[1]:o}\n"
        if isinstance(old, str):
            yield f"[not compared: {old}]\n"
            return
        if isinstance(new, str):
            yield f"[not compared: {new}]\n"
            return
        if is_binary(old) or is_binary(new):
            yield f"[binary: {len(old):,} bytes → {len(new):,} bytes]\n"
            return
        names = (
            f"a/{path}".encode() if change.old else b"/dev/null",
            f"b/{path}".encode() if change.new else b"/dev/null",
        )
        before, after = (BytesIO(text).readlines() for text in (old, new))
        for line in unified_diff(before, after, names[0], names[1]):
            text = line.decode("utf-8", "replace")
            yield text if text.endswith("\n") else f"{text}\n"

    def _content(self, path: bytes, side: Side | None) -> bytes | str:
        """Of one side; in words, why that is not looked at."""
        if side is None:
            return b""
        if kind(side.mode) == MODULE:
            return f"a submodule, at {shown(_text(side.sha or b''))}"
        repository = self._repository
        name = repository.path(os.fsdecode(path))
        try:
            if side.sha is not None:
                data = repository.blob(side.sha)
            elif side.mode == LINK:
                data = repository.workspace.link_text(name)
            else:
                data = repository.workspace.read(name, DIFF_LIMIT).data
        except WorkspaceError as error:
            return str(error)
        if len(data) > DIFF_LIMIT:
            return f"it has {len(data):,} bytes, more than {DIFF_LIMIT:,}"
        return data

    # History.

    def _log(self) -> Iterator[str]:
        told = 0
        for commit in self._history(self._repository.commit(self._query.base or "HEAD")):
            if self._late:
                yield _STOPPED
                return
            if not self._touches(commit):
                continue
            if told == self._query.count:
                yield f"[more; ask for those before {commit.id.decode()[:12]} with revision]\n"
                return
            told += 1
            yield _told(commit)
        if not told:
            yield "[no commit]\n"

    def _history(self, first: Commit) -> Iterator[Commit]:
        """Newest first, each once."""
        repository = self._repository
        seen = {first.id}
        heap = [(-first.commit_time, first.id, first)]
        while heap:
            _, _, commit = heapq.heappop(heap)
            yield commit
            for parent in repository.parents(commit):
                sha = ObjectID(parent.encode())
                if sha not in seen:
                    seen.add(sha)
                    found = repository.peeled(parent)
                    heapq.heappush(heap, (-found.commit_time, sha, found))

    def _touches(self, commit: Commit) -> bool:
        """Whether it changes one of the paths, beside each of the commits before it."""
        if not self._paths:
            return True
        here = [self._entry(commit, path) for path in self._paths]
        parents = [self._repository.peeled(sha) for sha in self._repository.parents(commit)]
        if not parents:
            return any(entry is not None for entry in here)
        before = ([self._entry(parent, path) for path in self._paths] for parent in parents)
        return all(one != here for one in before)

    def _entry(self, commit: Commit, path: bytes) -> tuple[int, bytes] | None:
        """Mode and id of what a commit has at a path."""
        mode, sha = FOLDER, bytes(commit.tree)
        for part in path.split(b"/") if path else []:
            if kind(mode) != FOLDER:
                return None
            tree = self._repository.tree(sha)
            if part not in tree:
                return None
            mode, sha = tree[part]
        return mode, sha


_STOPPED = (
    "[stopped: it takes too long, not everything was looked at; name paths, or fewer commits]\n"
)


def _listed(title: str, lines: Iterable[str]) -> Iterator[str]:
    for number, line in enumerate(lines):
        if number == 0:
            yield f"{title}:\n"
        if number == MOST_LISTED:
            yield f"  [and more than {MOST_LISTED}]\n"
            return
        yield f"  {line}\n"


def _ignored(path: str, filters: list[tuple[int, IgnoreFilter]]) -> bool:
    """By the innermost file that says something of it. Each stands `start` characters deep."""
    for start, one in reversed(filters):
        found = one.is_ignored(os.fsencode(path)[len(os.fsencode(path[:start])) :])
        if found is not None:
            return found
    return False


def _text(data: bytes) -> str:
    return data.decode("utf-8", "replace")


def _short(commit: Commit) -> str:
    subject = _text(commit.message[:400]).split("\n", 1)[0]
    return f"{commit.id.decode()[:12]} {shown(subject)}"


def _told(commit: Commit) -> str:
    message = _text(commit.message[: 4 * MESSAGE_LIMIT])[:MESSAGE_LIMIT]
    lines = [f"    {shown(line)}".rstrip() for line in message.rstrip("\n").split("\n")]
    parents = " ".join(parent.decode()[:12] for parent in commit.parents[:MOST_PARENTS])
    more = len(commit.parents) - MOST_PARENTS
    merged = [f"Merge: {parents} and {more:,} more" if more > 0 else f"Merge: {parents}"]
    head = [
        f"commit {commit.id.decode()}",
        *(merged if len(commit.parents) > 1 else []),
        f"Author: {shown(_text(commit.author[:400]))}",
        f"Date:   {_date(commit.author_time, commit.author_timezone)}",
    ]
    return "\n".join([*head, "", *lines, "", ""])


def _date(seconds: int, offset: int) -> str:
    try:
        zone = timezone(timedelta(seconds=offset)) if offset else UTC
        return datetime.fromtimestamp(seconds, zone).strftime("%Y-%m-%d %H:%M:%S %z")
    except (ValueError, OverflowError, OSError):
        return f"{seconds} s after 1970"


def main() -> None:
    query = Query(**json.load(sys.stdin))
    bind(query)
    try:
        with ExitStack() as kept:
            repository = Repository(Workspace(Path(query.root)), query.repository, kept)
            for text in Looking(repository, query).answer():
                say(text=text)
    except RepositoryError as error:
        say(error=str(error))
    except WorkspaceError as error:
        say(error=f"the repository cannot be read: {error}")
    except (MemoryError, RecursionError):
        say(error="it takes too much memory to read")
    except Exception as error:  # noqa: BLE001 - whatever parsers make of damage; nothing goes on
        name = type(error).__name__
        say(error=f"the repository is damaged, or of a kind that cannot be read ({name})")
    else:
        say(end=True)


if __name__ == "__main__":
    main()
