"""Reading much without holding anybody up. While a thread makes entries of rows it has the
interpreter to itself, for a millisecond at a time; a turn beside it waits so long after each of its
own statements. So between parts of what is long it pauses, as long as the part took, where no
writer waits for the transaction."""

import time
from collections.abc import Iterable, Iterator
from contextvars import ContextVar
from typing import TypeVar

_T = TypeVar("_T")

AT_ONCE = 4
"""Parts that are read before the first pause: most paths have no more."""
_LONGEST = 0.02
"""Seconds."""
_may_pause: ContextVar[bool] = ContextVar("may_pause", default=False)


def nobody_waits() -> None:
    """From here on, in this context: its transaction only reads."""
    _may_pause.set(True)


def with_pauses(parts: Iterable[_T]) -> Iterator[_T]:
    """The same parts; what is done with each is what took its time."""
    may_pause, began = _may_pause.get(), time.thread_time()
    for number, part in enumerate(parts):
        yield part
        if may_pause and number >= AT_ONCE:
            time.sleep(min(time.thread_time() - began, _LONGEST))
        began = time.thread_time()
