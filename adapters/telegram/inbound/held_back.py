"""Updates that Telegram must bring again, and those behind them.

Who heard that an update was not taken brings it again later, and meanwhile what came after it. So
what comes after it in the same chat, or from the same person, is not taken either until it is in;
but not for long, should it never come again.
"""

import time
from collections.abc import Callable, Set
from dataclasses import dataclass, field

PATIENCE = 60.0
"""Seconds for which others wait for one that was not taken. Telegram brings it again before."""
MOST = 1_000
"""Updates that are waited for; of more, those that failed first are waited for no longer."""


@dataclass(slots=True)
class HeldBack:
    clock: Callable[[], float] = time.monotonic
    _missing: dict[int, tuple[Set[str], float]] = field(default_factory=dict, init=False)
    """By its number, in which lines an update is missing, and until when it is waited for."""

    def missed(self, number: int, lines: Set[str]) -> None:
        """It was not taken. It is waited for from the first time on."""
        if number in self._missing:
            return
        self._forget_the_late()
        if len(self._missing) >= MOST:
            del self._missing[next(iter(self._missing))]
        self._missing[number] = (lines, self.clock() + PATIENCE)

    def taken(self, number: int) -> None:
        self._missing.pop(number, None)

    def is_behind(self, number: int, lines: Set[str]) -> bool:
        """Whether one before it in a line of its is missing."""
        if not self._missing:
            return False
        self._forget_the_late()
        return any(one < number and lines & its for one, (its, _) in self._missing.items())

    def clear(self) -> None:
        self._missing.clear()

    def _forget_the_late(self) -> None:
        now = self.clock()
        for number in [one for one, (_, until) in self._missing.items() if until <= now]:
            del self._missing[number]
