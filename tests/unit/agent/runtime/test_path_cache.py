from dataclasses import replace

from agent.runtime.path_cache import Paths
from storage.records.entries import Entry, Kind


def path(*ids: int) -> tuple[Entry, ...]:
    return tuple(Entry(i, 1, None, i, i, Kind.MESSAGE, {}, "", 0, 0.0) for i in ids)


def test_a_path_is_kept_until_the_session_has_a_new_one() -> None:
    paths = Paths()
    paths.keep(1, path(1, 2), 7)
    paths.keep(1, path(1, 2, 3), 7)
    assert paths.get(1).path == path(1, 2, 3)
    assert paths.get(2).path == ()


def test_the_sessions_that_were_busy_longest_ago_go_first() -> None:
    paths = Paths(limit=4)
    paths.keep(1, path(1, 2), 7)
    paths.keep(2, path(3, 4), 7)
    paths.keep(1, path(1, 2), 7)
    paths.keep(3, path(5), 7)
    assert paths.get(1).path == path(1, 2)
    assert paths.get(2).path == ()
    assert paths.get(3).path == path(5)


def test_a_path_that_is_longer_than_the_limit_is_not_kept() -> None:
    paths = Paths(limit=2)
    paths.keep(1, path(1, 2, 3), 7)
    assert paths.get(1).path == ()
    paths.keep(2, path(4, 5), 7)
    assert paths.get(2).path == path(4, 5)


def test_large_entries_count_by_their_text() -> None:
    paths = Paths(characters=100)
    one, two, three = (
        replace(entry, body={"role": "user", "content": ["x" * 40]}) for entry in path(1, 2, 3)
    )
    paths.keep(1, (one,), 7)
    paths.keep(2, (two,), 7)
    paths.keep(1, (one, three), 7)
    assert paths.get(1).path == (one, three)
    assert paths.get(2).path == ()
    paths.keep(1, (three,), 7)
    paths.keep(2, (two,), 7)
    assert paths.get(1).path == (three,)


def test_a_path_that_is_longer_than_the_limit_pushes_out_no_other() -> None:
    paths = Paths(limit=2)
    paths.keep(1, path(1, 2), 7)
    paths.keep(2, path(3, 4, 5), 7)
    assert paths.get(1).path == path(1, 2)
    assert paths.get(2).path == ()


def test_a_path_that_has_grown_too_long_is_forgotten() -> None:
    paths = Paths(limit=2)
    paths.keep(1, path(1, 2), 7)
    paths.keep(1, path(1, 2, 3), 7)
    assert paths.get(1).path == ()
    paths.keep(2, path(4, 5), 7)
    assert paths.get(2).path == path(4, 5)


def test_a_path_holds_for_who_claims_next_at_its_end_and_for_nobody_else() -> None:
    paths = Paths()
    paths.keep(1, path(1, 2), 7)
    known = paths.get(1)
    assert known.holds(2, 8)
    assert not known.holds(2, 9)  # somebody claimed it in between
    assert not known.holds(1, 8)
    assert not paths.get(2).holds(None, 1)
