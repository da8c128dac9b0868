"""The calls of a long path that wait for people, without what is said on it."""

from collections.abc import Iterator, Sequence

from agent.runtime.next_step import suspended_calls
from storage.records.entries import Entry, Kind, Stretch
from storage.records.record_entries import SuspendedCall, held_in
from storage.store import Transaction
from storage.tree.paths import is_on

_AT_ONCE = 500
_MARKS = frozenset({"compaction", "record"})
_RESULTS = frozenset({"tool"})


def waiting_on(tx: Transaction, leaf: int | None) -> dict[tuple[int, str], int]:
    """What `suspended_calls` gives of the path to `leaf` as its context is read. Where none waits,
    no message is read."""
    route = tx.tree.route(leaf)
    marks = list(_along(tx, route, 0, _MARKS))
    start = _start(tx, route, marks)
    recent = [entry for entry in marks if entry.number >= start]
    held = [found for entry in recent if (found := held_in(entry, SuspendedCall)) is not None]
    if not held:
        return {}
    first = min(tx.tree.entry(one.call_entry).number for one in held)
    return suspended_calls([*recent, *_along(tx, route, max(start, first), _RESULTS)])


def _start(tx: Transaction, route: Sequence[Stretch], marks: Sequence[Entry]) -> int:
    """The number from which on a context is told, as in `from_first_kept`."""
    compaction = next((e for e in reversed(marks) if e.kind is Kind.COMPACTION), None)
    if compaction is None:
        return 0
    kept = compaction.body.get("first_kept")
    if isinstance(kept, int) and kept < compaction.id:
        there = tx.tree.route(kept)
        if there and is_on(route, there[-1].strand, there[-1].last_depth):
            return there[-1].last_number
    return compaction.number


def _along(
    tx: Transaction, route: Sequence[Stretch], low: int, sorts: frozenset[str]
) -> Iterator[Entry]:
    """Those of some sorts on a path, from a number on, upper first."""
    for part in route:
        start = low
        while found := tx.tree.along(
            part.strand, start, part.last_number, sorts=sorts, limit=_AT_ONCE
        ):
            yield from found
            start = found[-1].number + 1
