"""How much strangers, and presses that do nothing, may cost: answers, rows, and time of the others.

Whoever is over a limit is counted, no more; the counts become a row of the audit, now and then.
All of it is memory, so that it costs nothing; what passes here, and leaves a row or an answer, has
to pass what the store knows too, which holds over processes and restarts (`stored_limits`).
"""

import time
from collections import Counter, OrderedDict
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field

from storage.records.entries import Json

MOST_REMEMBERED = 10_000
"""People; of more, those that were silent longest are forgotten."""
MOST_NAMED = 10
"""People whose counts a row of the audit holds; it holds the sum of all."""
PERIOD = 600.0
"""Seconds between two rows of what was over the limits."""


@dataclass(slots=True)
class Bucket:
    """So many at once, and one more each so many seconds."""

    size: float
    seconds: float
    _left: float = field(init=False)
    _at: float = field(default=0.0, init=False)

    def __post_init__(self) -> None:
        self._left = self.size

    def has(self, now: float) -> bool:
        """Whether there is one, `now` being seconds on a clock that never goes back."""
        self._left = min(self.size, self._left + max(now - self._at, 0.0) / self.seconds)
        self._at = now
        return self._left >= 1

    def take(self) -> None:
        self._left -= 1


@dataclass(frozen=True, slots=True)
class Allowance:
    """What one person may cost, and what all together may."""

    each: tuple[float, float]
    """Size and seconds of a bucket."""
    total: tuple[float, float]


ANSWERS = Allowance(each=(3, 60.0), total=(20, 20.0))
"""Being told that one is not known."""
JUNK = Allowance(each=(10, 60.0), total=(20, 60.0))
"""Presses with tokens that are none, on record."""
REFUSALS = Allowance(each=(10, 60.0), total=(60, 20.0))
"""Presses on buttons that are there, by who may not press them or too late, on record. More than
junk gets, which must not cover these."""
UNREADABLE = Allowance(each=(50, 60.0), total=(100, 20.0))
"""What comes and cannot be read, on record, by the conversation it came from."""
ACKNOWLEDGEMENTS = Allowance(each=(10, 10.0), total=(40, 1.0))
"""Presses over these limits that the platform still hears we have."""


def presses_of(*, junk: bool, known: bool) -> tuple[str, Allowance]:
    """The name and the allowance of presses that come to nothing; see Strangers.presses."""
    name = f"{'junk' if junk else 'refused'} presses of {'people' if known else 'strangers'}"
    return name, JUNK if junk else REFUSALS


class Limit:
    """An allowance as it is used up."""

    def __init__(self, allowance: Allowance, clock: Callable[[], float] = time.monotonic) -> None:
        self._allowance = allowance
        self._clock = clock
        self._total = Bucket(*allowance.total)
        self._each: OrderedDict[Hashable, Bucket] = OrderedDict()

    def admits(self, who: Hashable) -> bool:
        """Whether there is one left for them; it is used up then."""
        now = self._clock()
        own = self._of(who)
        if not (own.has(now) and self._total.has(now)):
            return False
        own.take()
        self._total.take()
        return True

    def _of(self, who: Hashable) -> Bucket:
        if who not in self._each:
            self._each[who] = Bucket(*self._allowance.each)
            if len(self._each) > MOST_REMEMBERED:
                self._each.popitem(last=False)
        self._each.move_to_end(who)
        return self._each[who]


class Strangers:
    def __init__(
        self,
        clock: Callable[[], float] = time.monotonic,
        refused: Callable[[str], None] = lambda _: None,
    ) -> None:
        """`refused`: told the platform of each message or press of somebody who may not talk."""
        self._clock = clock
        self.refused = refused
        self.answers = Limit(ANSWERS, clock)
        self.acknowledgements = Limit(ACKNOWLEDGEMENTS, clock)
        self.unreadable = Limit(UNREADABLE, clock)
        # Known people apart: what strangers do must not cover what they do.
        self._presses = {
            (junk, known): Limit(presses_of(junk=junk, known=known)[1], clock)
            for junk in (True, False)
            for known in (True, False)
        }
        self._greeted: OrderedDict[str, None] = OrderedDict()
        self._over: Counter[tuple[str, str]] = Counter()
        """What and who, of what was over a limit since the last summary."""
        self._others: Counter[str] = Counter()
        """What, of people beyond those who are counted by themselves."""
        self._since = clock()

    def presses(self, *, junk: bool, known: bool) -> Limit:
        """The limit for presses that come to nothing; `junk`: there is no such button."""
        return self._presses[junk, known]

    def was_greeted(self, identity: str) -> bool:
        """Whether they were told already, as far as is remembered."""
        return identity in self._greeted

    def greeted(self, identity: str) -> None:
        self._greeted[identity] = None
        self._greeted.move_to_end(identity)
        if len(self._greeted) > MOST_REMEMBERED:
            self._greeted.popitem(last=False)

    def ignored(self, what: str, identity: str) -> None:
        """Something of theirs was over a limit, so it was neither stored nor answered."""
        if (what, identity) in self._over or len(self._over) < MOST_REMEMBERED:
            self._over[what, identity] += 1
        else:
            self._others[what] += 1

    def summary(self, *, now: bool = False) -> list[tuple[str, Json]]:
        """What was ignored, as rows of the audit; nothing before its time, but for `now`. It
        begins to count anew."""
        if not (now or self._clock() - self._since >= PERIOD):
            return []
        self._since = self._clock()
        over, self._over = self._over, Counter()
        others, self._others = self._others, Counter()
        kinds = sorted({what for what, _ in over} | set(others))
        return [(what, _summed(over, others, what)) for what in kinds]


def _summed(over: Counter[tuple[str, str]], others: Counter[str], what: str) -> Json:
    people = Counter({who: count for (each, who), count in over.items() if each == what})
    return {
        "ignored": people.total() + others[what],
        "people": len(people),
        "most": dict(people.most_common(MOST_NAMED)),
    }
