"""Patience: how long to wait before what failed is tried again."""

import random
from collections.abc import Iterator


def backoff(first: float, longest: float, *, jitter: bool = False) -> Iterator[float]:
    """Seconds until each next try, without end: doubled each time, up to `longest`.

    With jitter, a random part of the upper half of that: many that failed together do not come
    back together.
    """
    pause = min(first, longest)
    while True:
        yield pause * random.uniform(0.5, 1.0) if jitter else pause  # noqa: S311  (no secret)
        pause = min(pause * 2, longest)
