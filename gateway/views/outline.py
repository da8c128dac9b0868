"""A session's tree as it is drawn: cut into straight runs, in the order of the lines. Pure.

What it costs depends on the branches, not on the entries.
"""

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from storage.records.entries import Strand, Stretch
from storage.tree.branches import SILENT

RAILS = 8
"""What a run knows of the branch points above it: a tree may be thousands of them deep."""


@dataclass(frozen=True, slots=True)
class Run:
    """A straight piece of the tree: it ends at a branch point, at the leaf or at an end."""

    strand: int
    above: int | None
    """The entry that it begins below; None at a root."""
    last: int
    depth: int
    last_depth: int
    level: int
    """Branch points above it."""
    rails: tuple[bool, ...]
    """For the last RAILS branch points above it: whether more of that one's branches follow further
    down."""
    begins: bool
    """It is the first piece of a branch that hangs on the last of `rails`."""
    forks: int
    """Branches that begin below its last entry."""
    here: bool
    """It is on the path to the leaf."""
    first_number: int | None = None
    last_number: int | None = None
    """Where they are known without looking: at the ends of strands."""

    @property
    def count(self) -> int:
        return self.last_depth - self.depth + 1


@dataclass(frozen=True, slots=True)
class Fork:
    """An entry with several children in the session; `entry` is None where it has several roots."""

    entry: int | None
    strands: tuple[Strand, ...]
    """The children that begin strands, oldest first."""
    goes_on: bool
    """It has one more child, the oldest: the next entry of its own strand."""

    @property
    def branches(self) -> int:
        return len(self.strands) + self.goes_on


def spoken(strands: Iterable[Strand], *, keep: Iterable[int] = ()) -> list[Strand]:
    """Strands without those that are no branch to anybody: a lone label or record. The strands in
    `keep` stay."""
    kept = set(keep)
    return [s for s in strands if s.first != s.tip or s.sort not in SILENT or s.first in kept]


def forks(strands: Sequence[Strand]) -> list[Fork]:
    """The branch points of a session, the one that branched last first."""
    known = {strand.first: strand for strand in strands}
    hanging: dict[int | None, list[Strand]] = defaultdict(list)
    for strand in strands:
        hanging[strand.parent].append(strand)
    found = []
    for entry, children in hanging.items():
        above = known.get(children[0].above or 0)
        goes_on = above is not None and above.tip != entry
        if len(children) + goes_on > 1:
            found.append(Fork(entry, tuple(children), goes_on))
    return sorted(found, key=lambda fork: fork.strands[-1].first, reverse=True)


class Sizes:
    """How many entries there are below any entry of a session."""

    def __init__(self, strands: Sequence[Strand]) -> None:
        self._strands = {strand.first: strand for strand in strands}
        self._hanging: dict[int, list[Strand]] = defaultdict(list)
        self._whole: dict[int, int] = {}
        for strand in strands:
            if strand.above is not None:
                self._hanging[strand.above].append(strand)
        for strand in reversed(strands):  # what hangs on a strand is younger than it
            self._whole[strand.first] = self.of(strand.first, strand.depth)

    def of(self, strand: int, depth: int) -> int:
        """Entries from the one at this depth of this strand on, branches included."""
        hanging = (self._whole[s.first] for s in self._hanging[strand] if s.depth > depth)
        return self._strands[strand].tip_depth - depth + 1 + sum(hanging)


def outline(strands: Sequence[Strand], route: Sequence[Stretch]) -> list[Run]:
    """The runs of a session in drawing order: each before what hangs on it, older branches first.

    `route` leads to the leaf. What hangs on entries of another session counts as a root.
    """
    tree = _Tree(strands, route)
    runs = []
    left = tree.roots()
    while left:
        start = left.pop()
        run, below = tree.cut(start)
        runs.append(run)
        left += reversed(below)
    return runs


@dataclass(frozen=True, slots=True)
class _Start:
    """Where a run begins."""

    strand: Strand
    above: int | None
    depth: int
    level: int
    rails: tuple[bool, ...]
    begins: bool


class _Tree:
    def __init__(self, strands: Sequence[Strand], route: Sequence[Stretch]) -> None:
        self._known = {strand.first: strand for strand in strands}
        self._on_path = {part.strand: part.last_depth for part in route}
        self._ends: dict[int, dict[int, int]] = defaultdict(dict)
        """Strand → depth → entry, where runs end inside a strand."""
        self._hanging: dict[int, list[Strand]] = defaultdict(list)
        """By the entry they hang on."""
        self._roots: list[Strand] = []
        for strand in strands:
            if strand.parent is None or strand.above not in self._known:
                self._roots.append(strand)
            else:
                self._hanging[strand.parent].append(strand)
                self._ends[strand.above][strand.depth - 1] = strand.parent
        self._leaf = route[-1] if route else None
        if self._leaf is not None:
            self._ends[self._leaf.strand][self._leaf.last_depth] = self._leaf.last
        self._depths = {first: sorted(ends) for first, ends in self._ends.items()}

    def roots(self) -> list[_Start]:
        """The last one first."""
        starts = [(root, root.parent, root.depth) for root in self._roots]
        return list(_fan_out(starts, 0, ()))[::-1]

    def cut(self, start: _Start) -> tuple[Run, list[_Start]]:
        """The run that begins there, and where the next ones begin, older ones first."""
        strand, depth = start.strand, start.depth
        inside = self._depths.get(strand.first, [])
        at = bisect_left(inside, depth)
        end = inside[at] if at < len(inside) else strand.tip_depth
        last = self._ends[strand.first].get(end, strand.tip)
        below = [(child, last, child.depth) for child in self._hanging.get(last, ())]
        if end < strand.tip_depth:
            below.insert(0, (strand, last, end + 1))
        run = Run(
            strand.first,
            start.above,
            last,
            depth,
            end,
            start.level,
            start.rails,
            start.begins,
            len(below) if len(below) > 1 else 0,
            depth <= self._on_path.get(strand.first, -1),
            strand.number if depth == strand.depth else None,
            strand.tip_number if end == strand.tip_depth else None,
        )
        return run, list(_fan_out(below, start.level, start.rails))


def _fan_out(
    children: Sequence[tuple[Strand, int | None, int]], level: int, rails: tuple[bool, ...]
) -> Iterator[_Start]:
    """An only child goes straight on; several become branches."""
    if len(children) == 1:
        strand, above, depth = children[0]
        yield _Start(strand, above, depth, level, rails, begins=False)
        return
    for place, (strand, above, depth) in enumerate(children):
        more = place < len(children) - 1
        inner = (*rails, more)[-RAILS:]
        yield _Start(strand, above, depth, level + 1, inner, begins=True)


def pages(runs: Sequence[Run], *, lines: int, per_run: int) -> list[Sequence[Run]]:
    """The runs in groups, where each run takes a line for an entry, but `per_run` at most."""
    found: list[Sequence[Run]] = []
    first = used = 0
    for place, run in enumerate(runs):
        size = min(run.count, per_run)
        if used + size > lines and place > first:
            found.append(runs[first:place])
            first, used = place, 0
        used += size
    return [*found, runs[first:]] if runs else []


def shares(counts: Sequence[int], *, lines: int) -> list[int]:
    """How many lines each run of a page gets: what it needs where that is little, else as much as
    the others. Their sum is at most `lines`, unless there are more runs."""
    given = [0] * len(counts)
    left, waiting = max(lines, len(counts)), set(range(len(counts)))
    while waiting:
        fair = left // len(waiting)
        done = {i for i in waiting if counts[i] <= fair} or waiting
        for i in done:
            given[i] = min(counts[i], fair)
            left -= given[i]
        waiting -= done
    return given


def page_of_leaf(pages: Sequence[Sequence[Run]]) -> int:
    """The page with the end of the path, as an index; the first one where no path is drawn."""
    on_path = [index for index, page in enumerate(pages) if any(run.here for run in page)]
    return on_path[-1] if on_path else 0
