"""Signals before a gateway runs, and once it has ended. Small: it is imported first of all."""

import os
import signal
from collections.abc import Callable

_hung_up = False


def leave_at_once() -> Callable[[], None]:
    """SIGTERM has nothing to wait for, and SIGHUP is a wish for later. Without this, process 1 of a
    container would not hear of the one, and others would die of the other. Gives back how to have
    the signals mean what they meant before."""
    # Not SIG_IGN, which processes that are started would have from us.
    ours = {signal.SIGTERM: _leave, signal.SIGHUP: _stay}
    before = {number: signal.signal(number, handler) for number, handler in ours.items()}

    def as_before() -> None:
        for number, handler in before.items():
            signal.signal(number, handler)

    return as_before


def hang_up_ends() -> None:
    """The terminal's end is the end of a chat in it."""
    signal.signal(signal.SIGHUP, signal.SIG_DFL)


def hung_up() -> bool:
    """Whether SIGHUP came while nothing could be read anew yet; said once."""
    global _hung_up
    came, _hung_up = _hung_up, False
    return came


def _leave(*_: object) -> None:
    """As a crash would: whatever is open goes on at the next start."""
    os._exit(0)


def _stay(*_: object) -> None:
    """The configuration may have been read already: it is read anew once the gateway runs."""
    global _hung_up
    _hung_up = True
