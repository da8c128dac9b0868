"""Patience: how long to wait before what failed is tried again."""

from collections.abc import Iterator


def backoff(first: float, longest: float) -> Iterator[float]:
    """Seconds until each next try, without end: doubled each time, up to `longest`."""
    pause = min(first, longest)
    while True:
        yield pause
        pause = min(pause * 2, longest)
