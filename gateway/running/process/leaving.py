"""Signals before a gateway runs, and once it has ended. Small: it is imported first of all."""

import os
import signal


def leave_at_once() -> None:
    """SIGTERM has nothing to wait for, and SIGHUP is no wish. Without this, process 1 of a
    container would not hear of the one, and others would die of the other."""
    signal.signal(signal.SIGTERM, _leave)
    # Not SIG_IGN, which processes that are started would have from us.
    signal.signal(signal.SIGHUP, _stay)


def hang_up_ends() -> None:
    """The terminal's end is the end of a chat in it."""
    signal.signal(signal.SIGHUP, signal.SIG_DFL)


def _leave(*_: object) -> None:
    """As a crash would: whatever is open goes on at the next start."""
    os._exit(0)


def _stay(*_: object) -> None:
    """What a configuration says is about to be read, or does not matter any more."""
