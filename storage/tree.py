"""Pure helpers on paths. A path is entries from an upper one down to a lower one, upper first."""

from collections.abc import Sequence

from storage.entries import Entry, Kind


def from_first_kept(path: Sequence[Entry]) -> tuple[Entry, ...]:
    """What is left of a path when its newest compaction has spoken for the rest.

    From that compaction's first kept entry on, or from the compaction itself where that entry is
    not above it on the path. All of a path without compaction.
    """
    at = next(
        (i for i in reversed(range(len(path))) if path[i].kind is Kind.COMPACTION),
        None,
    )
    if at is None:
        return tuple(path)
    kept = path[at].body.get("first_kept")
    start = next((i for i in range(at) if path[i].id == kept), at)
    return tuple(path[start:])
