"""How much a workspace takes on its disk, and whether that is more than it may.

A walk through a folder of many files takes seconds, so it is made only where the workspace may be
over its quota by now: since the last one it cannot have grown by more than the disk lost.
"""

import asyncio
import heapq
import os
import stat
import time
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from agent.tools.files.workspace import shown
from agent.tools.terminal.sandbox import usage

MOST_FILES = 1_000_000
"""Files and folders of a workspace: with more, how much it takes could not be seen in time."""
DEEPEST = 128
"""Levels of folders that are looked into."""
_NAMED = 5
"""Files that are told of by name."""
_AT_ONCE = 200
"""Files looked at until others have their turn."""
_GIVES_WAY = 0.001
_REST = 3.0
"""Times as long as the last walk took, until the next."""
_SELDOM = 50.0
"""The same where nothing says that a workspace grew."""
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW
_LONGEST = 100
"""Characters of a path that is told: names are anybody's."""
_LEFT_SECONDS = 5.0
"""For a look at what a command left."""
_WALKING = ThreadPoolExecutor(2, thread_name_prefix="bough-measuring")
"""Its own threads, because a walk takes long and everything else would wait for a shared one."""


@dataclass(frozen=True, slots=True)
class Stored:
    """What a folder takes."""

    size: int = 0
    """Bytes on the disk: what a sparse file leaves out takes none, several names are one file."""
    files: int = 0
    """Folders count."""
    unseen: str = ""
    """What could not be looked into, "" where there is nothing: it may hold anything. A folder of
    another user that is closed to us is left out."""


@dataclass(slots=True)
class Walk:
    """One look through a folder. No link is followed, so what commands do meanwhile does not lead
    out of it. Blocks."""

    deadline: float = float("inf")
    """time.monotonic(); what is behind it is not counted."""
    files: int = 0
    unseen: str = ""
    _linked: set[tuple[int, int]] = field(default_factory=set)

    def below(self, root: Path) -> Iterator[tuple[str, os.stat_result]]:
        """What is in it, with its path there. OSError where it cannot be opened."""
        try:
            folder = os.open(root, _FOLDER)
        except FileNotFoundError:
            return
        try:
            yield from self._below(folder, "", 0)
        finally:
            os.close(folder)

    def _below(self, folder: int, path: str, depth: int) -> Iterator[tuple[str, os.stat_result]]:
        with os.scandir(folder) as items:
            for item in items:
                self.files += 1
                at = f"{path}{item.name}"
                if self.files % _AT_ONCE == 0:
                    time.sleep(_GIVES_WAY)
                    if self.files > MOST_FILES or time.monotonic() > self.deadline:
                        self.unseen = self.unseen or at
                        return
                try:
                    found = item.stat(follow_symlinks=False)
                except FileNotFoundError:
                    continue
                except OSError:  # a folder that may be listed and not entered
                    self.unseen = self.unseen or at
                    continue
                if stat.S_ISDIR(found.st_mode):
                    yield at, found
                    ours = found.st_uid == os.geteuid()
                    yield from self._inside(folder, item.name, at, depth + 1, ours)
                elif found.st_nlink == 1 or (found.st_dev, found.st_ino) not in self._linked:
                    if found.st_nlink > 1:
                        self._linked.add((found.st_dev, found.st_ino))
                    yield at, found

    def _inside(
        self, folder: int, name: str, path: str, depth: int, ours: bool
    ) -> Iterator[tuple[str, os.stat_result]]:
        if depth > DEEPEST:
            self.unseen = self.unseen or path
            return
        try:
            inner = os.open(name, _FOLDER, dir_fd=folder)
        except FileNotFoundError:
            return
        except OSError:
            # What is closed to us and another user's is closed to a command, too.
            self.unseen = self.unseen or (path if ours else "")
            return
        try:
            yield from self._below(inner, f"{path}/", depth)
        finally:
            os.close(inner)


def measured(root: Path, seconds: float = float("inf")) -> Stored:
    """What a folder takes; nothing where it is not there. `seconds`: after so many, what was not
    looked at by then is unseen. Blocks; OSError where it cannot be opened."""
    walk = Walk(time.monotonic() + seconds)
    size = sum(found.st_blocks * 512 for _, found in walk.below(root))
    return Stored(size, walk.files, walk.unseen)


def changed_since(root: Path, began: float) -> str:
    """The largest files of a workspace that were written since a time (Unix seconds), for the agent
    whose command may have left them. Who else wrote there at the same time cannot be told apart.
    Blocks; OSError where it cannot be looked at."""
    walk, count = Walk(time.monotonic() + _LEFT_SECONDS), 0
    largest: list[tuple[int, str]] = []
    for path, found in walk.below(root):
        if stat.S_ISREG(found.st_mode) and found.st_ctime >= began:
            count += 1
            heapq.heappush(largest, (found.st_blocks * 512, path))
            if len(largest) > _NAMED:
                heapq.heappop(largest)
    if not count:
        return ""
    named = ", ".join(f"{_named(path)} ({in_words(size)})" for size, path in sorted(largest)[::-1])
    more = f", and {count - len(largest):,} more files" if count > len(largest) else ""
    return f"it left {named}{more}: nothing was removed, so remove what is not needed"


@dataclass(slots=True)
class _Known:
    stored: Stored
    free: int
    """Bytes that its disk had left then."""
    at: float
    took: float
    """Seconds."""


@dataclass(slots=True)
class Quotas:
    """Of all workspaces of a gateway. Belongs to one event loop."""

    most: int | None
    """Bytes a workspace may take; None: as many as there are."""
    _known: dict[Path, _Known] = field(default_factory=dict, init=False)
    _walks: dict[Path, Future[None]] = field(default_factory=dict, init=False)
    """Those that are under way. They go on when who waits for them is cancelled: else commands that
    end sooner than a walk does would never be seen."""

    async def stored(self, root: Path, *, trusted: float = float("inf")) -> Stored:
        """What a workspace takes, or took when it was last looked at, where it cannot be over its
        quota by now. `trusted`: seconds until it is looked at anew all the same, because others
        may have freed on the disk what this workspace took. OSError where it cannot be."""
        if self.most is None:
            return Stored()
        walk, known = self._walks.get(root), self._known.get(root)
        if walk is None or walk.done():
            if known is not None and not await self._may_be_over(root, known, trusted):
                return known.stored
            walk = self._walks[root] = _WALKING.submit(self._look, root)
        await asyncio.shield(asyncio.wrap_future(walk))
        return self._known[root].stored

    async def changed_since(self, root: Path, began: float) -> str:
        """See there; in a thread of its own."""
        work = partial(changed_since, root, began)
        return await asyncio.get_running_loop().run_in_executor(_WALKING, work)

    def _look(self, root: Path) -> None:
        """In a thread."""
        began = time.monotonic()
        free = usage.free_disk(root)
        stored = measured(root)
        now = time.monotonic()
        self._known[root] = _Known(stored, free, now, now - began)

    def why_over(self, stored: Stored) -> str:
        """Why a workspace takes too much; "" where it does not."""
        if self.most is None:
            return ""
        if stored.files > MOST_FILES:
            return f"the workspace holds more than {MOST_FILES:,} files"
        if stored.unseen:
            where = _named(stored.unseen)
            return f"the workspace's size is not known: {where} is closed or too deep"
        if stored.size > self.most:
            return (
                f"the workspace takes {in_words(stored.size)} on the disk, and may take "
                f"{in_words(self.most)} ([tools] workspace_quota)"
            )
        return ""

    async def _may_be_over(self, root: Path, known: _Known, trusted: float) -> bool:
        assert self.most is not None
        age = time.monotonic() - known.at
        if age < _REST * known.took:
            return False
        if age > max(trusted, _SELDOM * known.took) or self.why_over(known.stored):
            return True
        free = await asyncio.get_running_loop().run_in_executor(_WALKING, usage.free_disk, root)
        return known.stored.size + max(known.free - free, 0) > self.most


def _named(path: str) -> str:
    text = shown(path)
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"


def in_words(size: int) -> str:
    """Bytes, as people say it."""
    for unit, name in ((1 << 30, "GB"), (1 << 20, "MB"), (1 << 10, "KB")):
        if size >= unit:
            return f"{size / unit:,.1f} {name}"
    return f"{size} bytes"
