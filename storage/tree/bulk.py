"""Entries that come from elsewhere, all at once: what each becomes in its new session. Pure."""

from collections.abc import Iterator, Sequence
from itertools import count

from storage.records.entries import Entry, Growth, ImportedEntry, Json, Kind

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
    growth: Growth,
) -> Iterator[tuple[Entry, int]]:
    """Each entry, with the id that stands at its place, and the first one of its strand; numbers
    count up from the first one. They come after those of `growth`, and are in it then.

    ValueError where a parent does not come before its child.
    """
    places = count(len(growth.ids))
    numbers = count(first_number)
    growth.ids += ids
    depths, strands = growth.depths, growth.strands
    for place, (draft, parent) in zip(places, ((e.draft, e.parent) for e in planted), strict=False):
        if parent is not None and not 0 <= parent < place:
            raise ValueError(f"entry {place} stands before its parent {parent}")
        id_ = growth.ids[place]
        goes_on = parent is not None and growth.first_children.setdefault(parent, place) == place
        strands.append(strands[parent] if parent is not None and goes_on else id_)
        depths.append(0 if parent is None else depths[parent] + 1)
        entry = Entry(
            id_,
            session,
            None if parent is None else growth.ids[parent],
            next(numbers),
            depths[place],
            draft.kind,
            _rooted(draft.kind, draft.body, growth.ids),
            draft.author,
            draft.tokens,
            now if draft.time is None else draft.time,
        )
        yield entry, strands[place]


def parts(planted: Sequence[ImportedEntry], size: int) -> Iterator[slice]:
    """Stretches of at least so many entries, but for the last; none names an entry after it."""
    first = reach = 0
    for place, each in enumerate(planted):
        named = each.draft.body.get(_REFERENCE.get(each.draft.kind, ""))
        reach = max(reach, place, named if isinstance(named, int) else 0)
        if place - first + 1 >= size and reach == place:
            yield slice(first, place + 1)
            first = place + 1
    if first < len(planted):
        yield slice(first, len(planted))


def _rooted(kind: Kind, body: Json, ids: Sequence[int]) -> Json:
    """The body with an id where it had a place."""
    key = _REFERENCE.get(kind, "")
    place = body.get(key)
    return body | {key: ids[place]} if isinstance(place, int) else body
