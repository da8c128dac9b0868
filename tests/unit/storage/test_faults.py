"""A failure that lasts is a line now and then."""

import logging

import pytest

from storage.errors import StoreLost, StoreUnavailable
from storage.faults import QUIET, Faults
from tests.support.stores import Clock

FULL = StoreUnavailable("bough.db: the disk is full; free some space")


def test_a_failure_of_every_second_is_told_once_a_minute(caplog: pytest.LogCaptureFixture) -> None:
    clock = Clock()
    faults = Faults(logging.getLogger("gateway"), clock)
    for _ in range(int(QUIET) + 1):
        faults.failed("nothing goes", FULL)
        clock.now += 1
    assert caplog.messages == [
        f"nothing goes: {FULL}",
        f"nothing goes: {FULL} (59 times more since it was told)",
    ]
    assert not any(record.exc_info for record in caplog.records)


def test_another_failure_is_told_at_once(caplog: pytest.LogCaptureFixture) -> None:
    faults = Faults(logging.getLogger("gateway"), Clock())
    faults.failed("nothing goes", FULL)
    faults.failed("nothing goes", StoreUnavailable("another process holds it"))
    faults.failed("something else", FULL)
    assert len(caplog.messages) == 3


def test_a_loss_is_left_to_who_ends_the_gateway(caplog: pytest.LogCaptureFixture) -> None:
    Faults(logging.getLogger("gateway"), Clock()).failed("nothing goes", StoreLost("gone"))
    assert caplog.messages == []
