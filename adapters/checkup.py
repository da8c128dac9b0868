"""What a look at a platform finds: who the bot is, and what would keep it from serving. Looking
changes nothing there."""

import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass
from email.utils import parsedate_to_datetime


@dataclass(frozen=True, slots=True)
class Trouble:
    text: str
    """What is wrong, for people."""
    cure: str
    """What they do about it, or what was done where it was mended."""
    mend: Callable[[], Awaitable[None]] | None = None
    """Does that; None where it is not ours to do. Raises an AdapterError."""


@dataclass(frozen=True, slots=True)
class Checkup:
    who: str
    """The bot, as people see it."""
    troubles: tuple[Trouble, ...] = ()
    notes: tuple[str, ...] = ()
    """What is worth knowing and nothing to mend, for people."""
    hears_all: bool = True
    """Whether it is given what is said in a group and does not name it."""
    to_hear_all: str = ""
    """What people do so that it is."""
    clock_ahead: float = 0.0
    """Seconds by which this machine's clock is before the platform's; below 0, behind it."""


@dataclass(slots=True)
class Clock:
    """This machine's clock beside a platform's, by the dates of its answers."""

    ahead: float = 0.0
    """Seconds, of the answer seen last."""

    def look(self, date: str) -> None:
        """`date`: the header of an answer, or ""."""
        with suppress(ValueError, TypeError):
            self.ahead = time.time() - parsedate_to_datetime(date).timestamp()
