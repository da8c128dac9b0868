"""A configuration that may be read anew while the gateway runs.

Parts keep this instead of a section, and look at it each time they need something: so what is taken
over holds for all of them at once, and none has to be made again.
"""

from collections.abc import Callable
from typing import Generic, TypeVar

T = TypeVar("T")
U = TypeVar("U")


class Current(Generic[T]):
    """A value that is replaced as a whole. In any thread."""

    def __init__(self, value: T) -> None:
        self._value = value

    @property
    def now(self) -> T:
        return self._value

    def replace(self, value: T) -> None:
        self._value = value

    def part(self, make: Callable[[T], U]) -> Callable[[], U]:
        """What `make` makes of the value as it is at each call; made once for each value."""
        made: tuple[T, U] | None = None

        def part() -> U:
            nonlocal made
            value, kept = self._value, made
            if kept is None or kept[0] is not value:
                made = kept = (value, make(value))
            return kept[1]

        return part
