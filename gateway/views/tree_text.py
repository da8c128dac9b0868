"""A page of a conversation's tree as lines of text: one for each entry that is shown, straight
runs folded. Only what is on the page is read."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from agent.text.formats import age
from gateway.views.entries import first_words, mark, one_line
from gateway.views.outline import Run, shares
from storage.records.entries import Entry, Kind
from storage.store import Transaction
from storage.tree.branches import MESSAGES
from storage.tree.paths import TALK

LINES = 28
PER_RUN = 5
"""Lines that a run takes on a page that others want to be on."""
WIDTH = 46
"""Of a line, in characters; platforms count some as two."""
_HEAD = 2
"""Entries of a folded run that are shown above the fold; the rest of its lines are below."""
_DEEPEST = 5
"""Branches that a line is set in for."""
_LEAST_WORDS = 8
_LABEL = 14
_SUMMARIES = frozenset({Kind.COMPACTION.value, Kind.BRANCH_SUMMARY.value})
_TALK = TALK | _SUMMARIES


class Filter(StrEnum):
    DEFAULT = "default"
    USER = "user"
    LABELED = "labeled"
    NO_TOOLS = "no-tools"
    ALL = "all"


_SORTS: Mapping[Filter, frozenset[str]] = {
    Filter.DEFAULT: _TALK | {"calls"},
    Filter.USER: frozenset({"user"}),
    Filter.LABELED: frozenset(),
    Filter.NO_TOOLS: _TALK,
    Filter.ALL: MESSAGES | _SUMMARIES | {kind.value for kind in Kind},
}


@dataclass(frozen=True, slots=True)
class View:
    """What the lines of a page are made from."""

    tx: Transaction
    filter: Filter
    labels: Mapping[int, str]
    """Names by entry."""
    leaf: int | None
    """The last entry of the path that is drawn."""
    _numbers: dict[int, int] = field(default_factory=dict)
    _strands: dict[int, int] = field(default_factory=dict)
    """Of entries, as far as they were asked for."""

    def bounds(self, run: Run) -> tuple[int, int]:
        """The numbers between which a run's entries are, of all that its strand has."""
        low = run.first_number
        if low is None:
            low = self._number(run.above) + 1 if run.above is not None else 1
        high = run.last_number if run.last_number is not None else self._number(run.last)
        return low, high

    def labelled(self, run: Run) -> list[Entry]:
        """The entries of a run that have a label, upper first."""
        near = sorted(entry for entry in self.labels if (run.above or 0) < entry <= run.last)
        return [self.tx.tree.entry(entry) for entry in near if self._strand(entry) == run.strand]

    def _number(self, entry: int) -> int:
        if entry not in self._numbers:
            self._numbers[entry] = self.tx.tree.entry(entry).number
        return self._numbers[entry]

    def _strand(self, entry: int) -> int:
        if entry not in self._strands:
            self._strands[entry] = self.tx.tree.route(entry)[-1].strand
        return self._strands[entry]


@dataclass(frozen=True, slots=True)
class _Fold:
    """Entries of a run that are not shown."""

    count: int


_Line = Entry | _Fold


def page_lines(view: View, runs: Sequence[Run]) -> Iterator[str]:
    given = shares([run.count for run in runs], lines=LINES)
    for run, lines in zip(runs, given, strict=True):
        yield from _run_lines(view, run, lines)


def _run_lines(view: View, run: Run, lines: int) -> Iterator[str]:
    shown = _shown(view, run, lines)
    marked = len(shown) - 1 if run.last == view.leaf else -1
    for index, line in enumerate(shown):
        gutter = "●" if index == marked else "›" if run.here else " "
        yield _line(view, run, line, gutter, first=index == 0)


def _line(view: View, run: Run, line: _Line, gutter: str, *, first: bool) -> str:
    start = f"{gutter} {_rails(run, first=first)}"
    if isinstance(line, _Fold):
        return f"{start}⋮ {line.count:,} more"
    head = f"{start}#{line.number} {mark(line)} "
    tail = ""
    if name := view.labels.get(line.id):
        tail += f" 🏷 {one_line(name, _LABEL)}"
    if first and run.begins:
        tail += f" · {age(view.tx.now - line.time)}"
    room = max(WIDTH - len(head) - len(tail), _LEAST_WORDS)
    return f"{head}{_code(first_words(line, room))}{_code(tail)}".rstrip()


def _rails(run: Run, *, first: bool) -> str:
    """What a line is set in by. Of branches deeper than fit, the last ones are drawn."""
    rails = ["│  " if more else "   " for more in run.rails]
    if first and run.begins:
        rails[-1] = "├─ " if run.rails[-1] else "└─ "
    return ("…" if run.level > _DEEPEST else "") + "".join(rails[-_DEEPEST:])


def _code(text: str) -> str:
    """Text that cannot end the code block it stands in."""
    return text.replace("`", "ʼ")


def _shown(view: View, run: Run, lines: int) -> list[_Line]:
    """What a run shows in so many lines; never nothing. A fold counts whatever is not shown, of
    any sort."""
    labelled = view.filter is Filter.LABELED
    entries = _landmarks(view, run) if labelled else _ends(view, run, lines)
    if not entries:
        return [_Fold(run.count)]
    if len(entries) <= lines:
        return list(entries)
    above, below = entries[:_HEAD], entries[_HEAD + 1 + len(entries) - lines :]
    return [*above, _Fold(below[0].depth - above[-1].depth - 1), *below]


def _ends(view: View, run: Run, lines: int) -> list[Entry]:
    """Enough of a run's entries to fill its lines, from its beginning and from its end."""
    low, high = view.bounds(run)
    sorts, along = _SORTS[view.filter], view.tx.tree.along
    last = along(run.strand, low, high, sorts=sorts, limit=lines + 1, newest=True)
    if len(last) <= lines:
        return last
    first = along(run.strand, low, high, sorts=sorts, limit=_HEAD)
    return [*(entry for entry in first if entry.id < last[0].id), *last]


def _landmarks(view: View, run: Run) -> list[Entry]:
    """The entries of a run that have a label, and its last one where branches begin below it."""
    found = view.labelled(run)
    if run.forks and run.last not in view.labels:
        found.append(view.tx.tree.entry(run.last))
    return found
