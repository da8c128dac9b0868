"""Entries that come from elsewhere, all at once: what each becomes in its new session. Pure."""

from collections.abc import Iterator, Sequence

from storage.records.entries import Entry, ImportedEntry, Json, Kind

_REFERENCE = {
    Kind.COMPACTION: "first_kept",
    Kind.BRANCH_SUMMARY: "from",
    Kind.LABEL: "target",
    Kind.MESSAGE: "call_entry",
    Kind.RECORD: "call_entry",
}
"""The key under which a body names another entry."""


def grown(
    planted: Sequence[ImportedEntry],
    *,
    session: int,
    ids: Sequence[int],
    first_number: int,
    now: float,
) -> Iterator[tuple[Entry, int]]:
    """Each entry, with the id that stands at its place, and the first one of its strand; numbers
    count up from the first one.

    ValueError where a parent does not come before its child.
    """
    depths: list[int] = []
    strands: list[int] = []
    continued: set[int] = set()
    for place, (draft, parent) in enumerate((each.draft, each.parent) for each in planted):
        if parent is not None and not 0 <= parent < place:
            raise ValueError(f"entry {place} stands before its parent {parent}")
        id_ = ids[place]
        goes_on = parent is not None and parent not in continued
        strands.append(strands[parent] if parent is not None and goes_on else id_)
        depths.append(0 if parent is None else depths[parent] + 1)
        if parent is not None:
            continued.add(parent)
        entry = Entry(
            id_,
            session,
            None if parent is None else ids[parent],
            first_number + place,
            depths[place],
            draft.kind,
            _rooted(draft.kind, draft.body, ids),
            draft.author,
            draft.tokens,
            now if draft.time is None else draft.time,
        )
        yield entry, strands[place]


def _rooted(kind: Kind, body: Json, ids: Sequence[int]) -> Json:
    """The body with an id where it had a place."""
    key = _REFERENCE.get(kind, "")
    place = body.get(key)
    return body | {key: ids[place]} if isinstance(place, int) else body
