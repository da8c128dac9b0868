"""How much a server may say, and how fast: one that floods waits. Pure."""

from dataclasses import dataclass, field

MOST_BYTES = 8 * 1024 * 1024
"""Of one message."""
MOST_VALUES = 1_000_000
"""Of one message: to take apart a million holds up everybody for a quarter of a second."""
RATE = 16 * 1024 * 1024
"""Bytes a second, as `cost` counts them."""
_MESSAGE = 16 * 1024
"""What a message counts besides: to look at one costs as much as to read so many bytes."""


def cost(size: int, messages: int = 0) -> int:
    """Of so many bytes, with so many messages in them."""
    return size + messages * _MESSAGE


def values(text: bytes) -> int:
    """How many values there are in JSON at most: those in texts are counted too."""
    return text.count(b",") + text.count(b"[") + text.count(b"{")


@dataclass(slots=True)
class Pace:
    """A bucket that holds one second's worth, so that an ordinary burst never waits."""

    rate: int = RATE
    _left: float = field(default=0.0, init=False)
    _seen: float | None = field(default=None, init=False)

    def spend(self, amount: int, now: float) -> float:
        """Seconds to wait before going on. `now`: of any clock that never goes back."""
        if self._seen is None:
            self._left = float(self.rate)
        else:
            self._left = min(self.rate, self._left + (now - self._seen) * self.rate)
        self._seen = now
        self._left -= amount
        return max(0.0, -self._left / self.rate)
