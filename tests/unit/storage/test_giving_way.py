"""Pauses of who reads much."""

from contextvars import copy_context

import pytest

from storage.giving_way import AT_ONCE, nobody_waits, with_pauses

PARTS = range(AT_ONCE + 3)


@pytest.fixture
def pauses(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    taken: list[float] = []
    monkeypatch.setattr("storage.giving_way.time.sleep", taken.append)
    return taken


def read() -> list[int]:
    nobody_waits()
    return list(with_pauses(PARTS))


def test_who_reads_much_pauses_between_parts_but_not_for_what_is_short(pauses: list[float]) -> None:
    assert copy_context().run(read) == list(PARTS)
    assert len(pauses) == len(PARTS) - AT_ONCE
    assert all(0 <= pause <= 0.02 for pause in pauses)


def test_whoever_others_wait_for_never_pauses(pauses: list[float]) -> None:
    copy_context().run(read)
    pauses.clear()
    assert list(with_pauses(PARTS)) == list(PARTS)
    assert pauses == []
