"""Failures of the store that repeat: a full disk fails everything there is, every second."""

import logging
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from storage.errors import StoreError, StoreLost

QUIET = 60.0
"""Seconds between lines about the same failure."""


@dataclass(slots=True)
class Faults:
    """One line about a failure when it begins, and one now and then while it lasts.

    `clock` gives seconds that never jump. No tracebacks: the texts of a store's errors say what
    happened and what to do. Silent about a store that is lost, because that ends the gateway,
    which says so itself.
    """

    log: logging.Logger
    clock: Callable[[], float] = time.monotonic
    _told: dict[str, float] = field(default_factory=dict, init=False)
    """Failure → when it was told last."""
    _untold: dict[str, int] = field(default_factory=dict, init=False)

    def failed(self, what: str, error: StoreError) -> None:
        """`what` could not be done, and is tried again by whoever calls this."""
        if isinstance(error, StoreLost):
            return
        failure = f"{what}: {error}"
        now = self.clock()
        if now - self._told.get(failure, now - QUIET) < QUIET:
            self._untold[failure] = self._untold.get(failure, 0) + 1
            return
        self._told = {text: told for text, told in self._told.items() if now - told < 2 * QUIET}
        self._told[failure] = now
        times = self._untold.pop(failure, 0)
        self.log.error("%s%s", failure, f" ({times} times more since it was told)" if times else "")
        self.log.debug("where it failed", exc_info=error)
