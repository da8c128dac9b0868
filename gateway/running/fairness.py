"""So that nobody is held up by what others do: threads that compute give way often, and garbage is
looked for in all that lives only in a moment in which nothing is done."""

import asyncio
import gc
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

SWITCH = 0.001
"""Seconds after which a thread that computes gives way. With Python's own 0.005 a turn beside an
import waits so long after each of its statements (measured)."""
YOUNG = (2_000, 10, 1_000)
"""Objects, and times: the first two collections look at 20,000 young objects at most, which takes
about 3 ms; the third, which goes through all that lives, comes by itself only where `collect`
never does. In a long session, or beside an export, it takes 0.1 to 0.8 s (measured)."""
EVERY = 10.0
"""Seconds between looks for a moment in which nothing is done."""
LONGEST = 600.0
"""Seconds after which one is not waited for any longer."""


@contextmanager
def fair() -> Iterator[None]:
    """Within the block. Both settings are the whole process's."""
    interval, thresholds = sys.getswitchinterval(), gc.get_threshold()
    sys.setswitchinterval(SWITCH)
    gc.set_threshold(*YOUNG)
    try:
        yield
    finally:
        gc.set_threshold(*thresholds)
        sys.setswitchinterval(interval)


async def collect(idle: Callable[[], bool], every: float = EVERY, longest: float = LONGEST) -> None:
    """Be fair, and look for garbage in all that lives, until cancelled: where there is something
    new since the last time, and nothing is done, or it was waited for that for `longest` seconds.
    """
    waited = 0.0
    with fair():
        while True:
            await asyncio.sleep(every)
            waited += every
            _, _, young_collections = gc.get_count()
            if young_collections and (idle() or waited >= longest):
                gc.collect()
                waited = 0.0
