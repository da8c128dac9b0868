"""The files of a workspace that a command names, as they are now: what a person approves with the
command, and what must be the same when it runs. Blocks.

Links are followed by hand, inside the workspace only, and each is part of what is approved. Files
that are programs are read for names in turn: a script that starts another one brings it along.
"""

import os
import re
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from hashlib import sha256
from pathlib import PurePosixPath

from agent.text.formats import age
from agent.tools.base import Bound, NamedFile, Syntax
from agent.tools.files.workspace import FileType, Item, Workspace, WorkspaceError, shown
from agent.tools.terminal.names import KNOWN, Names, names_in

MOST_FILES = 20
"""That one call is bound to."""
MOST_BYTES = 10_000_000
"""Of a file that is read; of a larger one, size and times are compared."""
MOST_LOOKS = 4_000
"""Paths that are tried for one call."""
MOST_FOLDERS = 8
"""In which names are looked for."""
MOST_LISTED = 2_000
"""Entries of folders that are looked through for one call."""
_LINKS = 10
_READ_FOR_NAMES = 200_000
"""Bytes of a program that is read for names."""
_CHUNK = 1 << 20
HEAD_LINES, HEAD_BYTES, HEAD_LINE = 10, 1_500, 200
"""What is shown of a file: lines, characters in all, characters of a line."""
HEADS = 3
"""Files of which that much is shown."""
_CODE = frozenset(
    {
        *(".sh", ".bash", ".zsh", ".py", ".pyw", ".js", ".mjs", ".cjs", ".ts", ".rb", ".pl", ".pm"),
        *(".php", ".lua", ".mk", ".awk", ".sed", ".tcl", ".r", ".jl", ".go", ".rs", ".c", ".cc"),
        *(".cpp", ".h", ".java", ".kt", ".gradle", ".groovy", ".bat", ".ps1", ".toml", ".cfg"),
        ".ini",
    }
)
_SAME = 2.0
"""Seconds: a change that close to what a tool wrote is the tool's."""
_KEPT = 2_000
_GLOB = frozenset("*?[")
_SYNTAXES: tuple[Syntax, Syntax] = ("shell", "python")


class Written:
    """What tools wrote into workspaces lately. Kept while the process lives: after that, only the
    time of a change is known. Belongs to one event loop."""

    def __init__(self) -> None:
        self._by: dict[tuple[int, str], tuple[str, float]] = {}

    def note(self, home: int, path: str, by: str) -> None:
        """`home`: the chat's session; `path` in normal form; `by` in our own words."""
        self._by.pop((home, path), None)
        self._by[home, path] = by, time.time()
        while len(self._by) > _KEPT:
            del self._by[next(iter(self._by))]

    def by(self, home: int, path: str, changed: float) -> str:
        """Who made the change of that time, in Unix seconds; "" where no tool did."""
        who, when = self._by.get((home, path), ("", 0.0))
        return who if abs(when - changed) < _SAME else ""


@dataclass(frozen=True, slots=True)
class Named:
    """A call, with where it looks for what it names."""

    workspace: Workspace
    home: int
    directory: str
    """In which it begins, relative to the workspace."""
    names: Names
    confined: str
    """How it is confined, in our own words: that is part of what is approved."""
    written: Written
    mask: Callable[[str], str]
    """A text without secrets."""

    def look(self) -> Bound:
        """The files as they are now."""
        return _Look(self).bound()


@dataclass
class _Found:
    path: str
    digest: str
    changed: float
    """Unix seconds, by the system's own mark, which no program can set back."""
    size: int
    start: bytes


@dataclass
class _Look:
    of: Named
    _bases: list[str] = field(default_factory=list)
    _found: dict[str, _Found] = field(default_factory=dict)
    _links: dict[str, str] = field(default_factory=dict)
    _more: set[str] = field(default_factory=set)
    _run: set[str] = field(default_factory=set)
    """Files that are run as programs, however they are called."""
    _shadowed: set[str] = field(default_factory=set)
    """Folders that were looked through for modules in place of Python's own."""
    _looks: int = 0
    _listed: int = 0
    _cut: bool = False

    def bound(self) -> Bound:
        names = self.of.names
        self._bases = list(dict.fromkeys((self.of.directory, "")))
        self._cut = names.cut
        folders = [folder for word in names.words for folder in self._folders(word)]
        if names.python:
            self._in_place_of_pythons_own(self._bases)
        for word in (*names.known, *names.words):
            self._files(word, self._bases, run=names.interprets)
        for folder in folders:
            self._programs_in(folder)
        for path in (path for word in names.known for path in self._found_as(word, self._bases)):
            self._programs_in(path)
        self._named_by_programs()
        digests = {shown(path): one.digest for path, one in self._found.items()}
        digests |= {shown(path): f"link {shown(to)}" for path, to in self._links.items()}
        digests[CONFINED] = self.of.confined
        return Bound(digests, tuple(self._shown()), tuple(self._notes()))

    def _folders(self, word: str) -> Iterator[str]:
        """The folders that a word names: names are looked for there, too. Given back are those
        whose programs may be run."""
        for path, item in self._items(word, self._bases):
            if item.type is not FileType.FOLDER:
                continue
            if path not in self._bases:
                if len(self._bases) < MOST_FOLDERS:
                    self._bases.append(path)
                else:
                    self._cut = True
            if word not in self.of.names.passed and path not in ("", self.of.directory):
                yield path

    def _found_as(self, word: str, bases: list[str]) -> Iterator[str]:
        for path, item in self._items(word, bases):
            if item.type is FileType.FOLDER:
                yield path

    def _files(
        self, word: str, bases: list[str], *, programs: bool = False, run: bool = False
    ) -> None:
        for path, item in self._items(word, bases):
            if item.type is FileType.FILE:
                self._take(path, programs=programs)
                if run:
                    self._run.add(path)

    def _in_place_of_pythons_own(self, folders: list[str]) -> None:
        """Modules that Python takes for its own: `import random` in a harmless program reads a
        bisect.py beside it. So they are shown, and it is seen when one comes."""
        for folder in folders:
            if folder in self._shadowed:
                continue
            self._shadowed.add(folder)
            try:
                for item in self.of.workspace.walk(folder or ".", 1):
                    self._listed += 1
                    if self._listed > MOST_LISTED:
                        self._cut = True
                        return
                    stem, _, end = item.path.rpartition("/")[2].partition(".")
                    if stem not in sys.stdlib_module_names:
                        continue
                    if item.type is FileType.FOLDER:
                        self._files(f"{item.path}/__init__.py", [""])
                    elif end.endswith(("py", "pyc", "so")):
                        self._files(item.path, [""])
            except WorkspaceError:
                continue  # it is gone, or closed: Python finds nothing there either

    def _programs_in(self, folder: str) -> None:
        try:
            for item in self.of.workspace.walk(folder or "."):
                self._listed += 1
                if self._listed > MOST_LISTED:
                    self._cut = True
                    return
                if item.type is FileType.FILE and not item.path.endswith(".sample"):
                    self._take(item.path, programs=True)
        except WorkspaceError:
            return  # it is gone, or closed: a command finds nothing there either

    def _named_by_programs(self) -> None:
        """Read programs for names, those too that are found so."""
        read: set[str] = set()
        while left := [one for path, one in self._found.items() if path not in read]:
            for one in left:
                read.add(one.path)
                program, run = _is_program(one.path, one.start), one.path in self._run
                if not (program or run):
                    continue
                text = one.start.decode(errors="replace")
                parent = str(PurePosixPath(one.path).parent)
                bases = list(dict.fromkeys(("" if parent == "." else parent, *self._bases)))
                script = _is_script(one.path, text)
                # What it is written in, only who runs it knows: `sh a.py` is a script as well.
                for syntax in _SYNTAXES if run else _SYNTAXES[:1] if script else _SYNTAXES[1:]:
                    names = names_in(text, syntax)
                    self._cut |= program and (names.cut or one.size > len(one.start))
                    if names.python and not (run and script != (syntax == "shell")):
                        self._in_place_of_pythons_own(bases)
                    for word in filter(_may_be_file, names.words):
                        is_run = word in names.run
                        self._files(word, bases, programs=not is_run, run=is_run)

    def _items(self, word: str, bases: list[str]) -> list[tuple[str, Item]]:
        """What a word, or a pattern, names in each folder; links are followed."""
        found = []
        word = word.removeprefix("~+/")  # which is the directory that it is in
        given = self.of.workspace.relative(word) if word.startswith("/") else word
        if given.startswith(("/", "~")) or "\0" in given:
            return []
        for base in bases if given == word else [""]:
            path = _joined(base, given)
            if path is None:
                continue
            paths = [path]
            if _GLOB & set(given):
                paths += self._matching(path)
            for one in paths:
                if (item := self._at(one)) is not None:
                    found.append((item.path if item.path != "." else "", item))
        return found

    def _matching(self, pattern: str) -> list[str]:
        """Paths like a pattern, as a shell fills it in."""
        level = [""]
        for part in PurePosixPath(pattern).parts:
            if not _GLOB & set(part):
                level = [f"{folder}/{part}".lstrip("/") for folder in level]
                continue
            below = []
            for folder in level:
                try:
                    for item in self.of.workspace.walk(folder or ".", 1):
                        self._listed += 1
                        name = item.path.rsplit("/", 1)[-1]
                        if self._listed > MOST_LISTED:
                            self._cut = True
                            break
                        if fnmatchcase(name, part):
                            below.append(item.path)
                except WorkspaceError:
                    continue
            level = below
        return level

    def _at(self, path: str, links: int = 0) -> Item | None:
        """What is at a path, at the end of links; None where nothing is that a command could use
        in the workspace."""
        self._looks += 1
        if self._looks > MOST_LOOKS:
            self._cut = True
            return None
        try:
            return self._followed(path, links)
        except (WorkspaceError, ValueError):
            return None

    def _followed(self, path: str, links: int) -> Item | None:
        workspace = self.of.workspace
        try:
            item = workspace.stat(path or ".")
        except WorkspaceError:
            at = self._first_link(path)
        else:
            if item.type is not FileType.LINK:
                return item
            at = path
        if not at or links >= _LINKS:
            return None
        target = workspace.link(at)
        self._links[at] = target
        rest = path[len(at) :].lstrip("/")
        inside = workspace.relative(target) if target.startswith("/") else target
        base = "" if inside != target else str(PurePosixPath(at).parent)
        onward = _joined(base, f"{inside}/{rest}" if rest else inside)
        return None if onward is None else self._at(onward, links + 1)

    def _first_link(self, path: str) -> str:
        """The part of a path that is a link, "" where none is."""
        at = ""
        for part in path.split("/"):
            at = f"{at}/{part}".lstrip("/")
            if self.of.workspace.stat(at).type is FileType.LINK:
                return at
        return ""

    def _take(self, path: str, *, programs: bool) -> None:
        if path in self._found or path in self._more:
            return
        if len(self._found) >= MOST_FILES:
            if not programs or _is_program(path, b""):
                self._more.add(path)
            return
        try:
            found = _read(self.of.workspace, path)
        except WorkspaceError:
            return  # gone meanwhile, or closed: where it is there later, that is a change
        if programs and not _is_program(path, found.start):
            return
        self._found[path] = found

    def _shown(self) -> Iterator[NamedFile]:
        now = time.time()
        for number, one in enumerate(self._found.values()):
            by = self.of.written.by(self.of.home, one.path, one.changed)
            ago = max(now - one.changed, 0.0)
            when = f"{ago:.0f} s" if ago < 60 else age(ago)
            told = f"{one.size:,} bytes, changed{f' by {by}' if by else ''} {when} ago"
            head, more = _head(one, self.of.mask) if number < HEADS else ("", 0)
            yield NamedFile(shown(one.path), told, head, more)

    def _notes(self) -> Iterator[str]:
        if self._more:
            yield (
                f"More than {MOST_FILES} files are named: {len(self._more)} of them are not "
                "compared, and may be others when it runs."
            )
        if any(one.digest.startswith("state ") for one in self._found.values()):
            size = MOST_BYTES // 1_000_000
            yield f"Of files over {size} MB, only size and times are compared."
        if self._cut:
            yield "It names more than I look through: some files may not be compared."
        if self.of.names.unclear:
            yield "Files that the shell works out by itself ($…, `…`, {…}) are not compared."


CONFINED = ""
"""In place of a path: how a call is confined."""


def named(
    workspace: Workspace,
    home: int,
    directory: str,
    line: str,
    *,
    python: bool,
    variables: Mapping[str, str],
    confined: str,
    written: Written,
    mask: Callable[[str], str],
) -> Named:
    """What a command line, or a program, names."""
    root = str(workspace.root.resolve())
    known = {"PWD": f"{root}/{directory}".rstrip("/"), **variables}
    names = names_in(line, "python" if python else "shell", known)
    return Named(workspace, home, directory, names, confined, written, mask)


def _joined(base: str, path: str) -> str | None:
    """None where it leads out of the workspace."""
    joined = os.path.normpath(f"{base}/{path}" if base else path)
    if joined.startswith(("..", "/")):
        return None
    return "" if joined == "." else joined


def _read(workspace: Workspace, path: str) -> _Found:
    with workspace.open(path) as file:
        before = os.fstat(file.fileno())
        start = file.read(_READ_FOR_NAMES)
        if before.st_size > MOST_BYTES:
            digest = f"state {before.st_size} {before.st_mtime_ns} {before.st_ctime_ns}"
        else:
            digested, length, chunk = sha256(start), len(start), file.read(_CHUNK)
            while chunk and length <= MOST_BYTES:
                digested.update(chunk)
                length += len(chunk)
                chunk = file.read(_CHUNK)
            digest = digested.hexdigest()
        return _Found(path, digest, before.st_ctime, before.st_size, start)


def _is_program(path: str, start: bytes) -> bool:
    name = PurePosixPath(path)
    known = name.name in _KNOWN_NAMES or ".git/hooks" in path
    bare = not name.suffix and bool(start) and b"\0" not in start  # run by its name, or by sh
    return known or bare or name.suffix.lower() in _CODE or start.startswith(b"#!")


_KNOWN_NAMES = frozenset(PurePosixPath(name).name for names in KNOWN.values() for name in names)


def _is_script(path: str, text: str) -> bool:
    """Whether a program is for a shell, or a list of its commands as a Makefile is."""
    first = text.partition("\n")[0]
    if first.startswith("#!"):
        return re.search(r"sh\b", first) is not None
    return PurePosixPath(path).suffix.lower() in ("", ".sh", ".bash", ".zsh", ".mk")


def _may_be_file(word: str) -> bool:
    """Whether a word of a program is worth a look."""
    return ("." in word or "/" in word or word.isidentifier()) and "\n" not in word


def _head(one: _Found, mask: Callable[[str], str]) -> tuple[str, int]:
    """The first lines, and how many there are besides; "" for what is no text."""
    if b"\0" in one.start:
        return "", 0
    text = mask(one.start.decode(errors="replace"))
    lines = text.splitlines()
    kept: list[str] = []
    for line in lines[:HEAD_LINES]:
        line = line if len(line) <= HEAD_LINE else f"{line[: HEAD_LINE - 1]}…"
        if sum(map(len, kept)) + len(line) > HEAD_BYTES:
            break
        kept.append(line)
    return "\n".join(kept), len(lines) - len(kept)
