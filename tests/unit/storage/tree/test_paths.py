"""Pure helpers on paths."""

from storage.records.entries import Draft, Entry, Kind
from storage.tree.paths import from_first_kept


def entry(id_: int, kind: Kind = Kind.MESSAGE, first_kept: int | None = None) -> Entry:
    draft = Draft(kind, {"first_kept": first_kept} if kind is Kind.COMPACTION else {})
    return Entry(id_, 1, id_ - 1 or None, id_, id_ - 1, draft.kind, draft.body, "", 0, 0.0)


def ids(path: tuple[Entry, ...]) -> list[int]:
    return [e.id for e in path]


def test_a_path_without_a_compaction_stays_whole() -> None:
    assert from_first_kept([]) == ()
    assert ids(from_first_kept([entry(1), entry(2)])) == [1, 2]


def test_a_compaction_cuts_off_what_is_above_its_first_kept_entry() -> None:
    path = [entry(1), entry(2), entry(3), entry(4, Kind.COMPACTION, 2), entry(5)]
    assert ids(from_first_kept(path)) == [2, 3, 4, 5]


def test_only_the_newest_compaction_cuts() -> None:
    path = [
        entry(1),
        entry(2, Kind.COMPACTION, 1),
        entry(3),
        entry(4, Kind.COMPACTION, 3),
        entry(5),
    ]
    assert ids(from_first_kept(path)) == [3, 4, 5]
    assert ids(from_first_kept(path[:3])) == [1, 2, 3]


def test_a_kept_entry_that_is_not_above_the_compaction_keeps_nothing() -> None:
    for kept in (None, 99, 3, 4):
        path = [entry(1), entry(2), entry(3, Kind.COMPACTION, kept), entry(4)]
        assert ids(from_first_kept(path)) == [3, 4]
