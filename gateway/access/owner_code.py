"""The code by which the first person becomes the owner, while nobody is.

It is made at the start and shown in the terminal alone. Only its digest is kept, in memory: the
next start makes another one. Of several processes one shows it, and all take it: they know its
digest from each other, and count guesses together.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass, field

from gateway.access.codes import is_code, new_code, sealed
from gateway.access.strangers import Allowance, Limit

HOUR = 3_600.0
KEPT = 24 * HOUR
"""Seconds for which it is good."""
MOST_GUESSES = 20
"""In an hour, by all together; then it is void."""
GUESSES = Allowance(each=(5, HOUR / 5), total=(MOST_GUESSES, HOUR / MOST_GUESSES))


def still(wrong: list[float], now: float) -> list[float]:
    """When the wrong guesses of the last hour were made, one more being made now."""
    return [*[at for at in wrong if now - at < HOUR][1 - MOST_GUESSES :], now]


@dataclass(slots=True)
class OwnerCode:
    clock: Callable[[], float] = time.monotonic
    _sealed: tuple[str, str] | None = field(default=None, init=False)
    _until: float = field(default=0.0, init=False)
    _wrong: list[float] = field(default_factory=list, init=False)
    """When the wrong guesses of the last hour were made."""
    _spoilt: bool = field(default=False, init=False)
    _limit: Limit = field(init=False)

    def __post_init__(self) -> None:
        self._limit = Limit(GUESSES, self.clock)

    def make(self) -> str:
        """A new code, for who sits at the terminal. The one before is void."""
        code = new_code()
        self._sealed = sealed(code)
        self._until = self.clock() + KEPT
        self._wrong.clear()
        return code

    @property
    def open(self) -> bool:
        """Whether there is a code that makes somebody the owner."""
        if self._sealed is not None and self.clock() >= self._until:
            self.void()
        return self._sealed is not None

    def void(self) -> None:
        self._sealed = None

    @property
    def seal(self) -> tuple[str, str] | None:
        """Salt and digest."""
        return self._sealed

    def admits(self, who: str) -> bool:
        """Whether a guess of theirs is looked at: a person has 5 an hour."""
        return self._limit.admits(who)

    def fits(self, code: str, who: str) -> bool:
        """Whether it is the code. After 20 wrong ones in an hour, by whomever, it is void."""
        if not self.open or self._sealed is None or not self.admits(who):
            return False
        if is_code(code, *self._sealed):
            return True
        self._wrong = still(self._wrong, self.clock())
        if len(self._wrong) >= MOST_GUESSES:
            self.spoil()
        return False

    def spoil(self) -> None:
        """It was guessed at too often, here or in another process."""
        self.void()
        self._spoilt = True

    def spoilt(self) -> bool:
        """Whether guesses made it void; said once."""
        spoilt, self._spoilt = self._spoilt, False
        return spoilt
