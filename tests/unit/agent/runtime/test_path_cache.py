from dataclasses import replace

from agent.runtime.path_cache import Paths
from storage.records.entries import Entry, Kind


def path(*ids: int) -> tuple[Entry, ...]:
    return tuple(Entry(i, 1, None, i, i, Kind.MESSAGE, {}, "", 0, 0.0) for i in ids)


def test_a_path_is_kept_until_the_session_has_a_new_one() -> None:
    paths = Paths()
    paths.keep(1, path(1, 2))
    paths.keep(1, path(1, 2, 3))
    assert paths.get(1) == path(1, 2, 3)
    assert paths.get(2) == ()


def test_the_sessions_that_were_busy_longest_ago_go_first() -> None:
    paths = Paths(limit=4)
    paths.keep(1, path(1, 2))
    paths.keep(2, path(3, 4))
    paths.keep(1, path(1, 2))
    paths.keep(3, path(5))
    assert paths.get(1) == path(1, 2)
    assert paths.get(2) == ()
    assert paths.get(3) == path(5)


def test_a_path_that_is_longer_than_the_limit_is_not_kept() -> None:
    paths = Paths(limit=2)
    paths.keep(1, path(1, 2, 3))
    assert paths.get(1) == ()
    paths.keep(2, path(4, 5))
    assert paths.get(2) == path(4, 5)


def test_large_entries_count_by_their_text() -> None:
    paths = Paths(characters=100)
    one, two, three = (
        replace(entry, body={"role": "user", "content": ["x" * 40]}) for entry in path(1, 2, 3)
    )
    paths.keep(1, (one,))
    paths.keep(2, (two,))
    paths.keep(1, (one, three))
    assert paths.get(1) == (one, three)
    assert paths.get(2) == ()
    paths.keep(1, (three,))
    paths.keep(2, (two,))
    assert paths.get(1) == (three,)
