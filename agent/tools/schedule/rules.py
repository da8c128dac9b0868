"""How often something is to be done, and when next. Pure.

What repeats by days keeps its time of day, whatever the clocks do; what repeats by hours, minutes
or seconds keeps its distance. A cron line is read as by Debian's cron, with the cronsim library: at
fixed hours and minutes it runs once on a day, right after the gap where clocks skip its time; with
a `*` in them it follows the clock, in the skipped hour never and in the doubled one twice.
"""

import math
from dataclasses import dataclass
from datetime import UTC, datetime, time, timedelta
from itertools import count
from typing import assert_never
from zoneinfo import ZoneInfo

from cronsim import CronSim, CronSimError

from agent.errors import ToolError
from agent.text.untrusted import quote
from agent.tools.schedule.zones import instant, wall_time

SHORTEST = 60
"""Seconds between two times of what repeats."""
LONGEST_LINE = 100
"""Characters of a cron line."""
MOST_COUNTED = 100
"""Times that are counted one by one."""
DAY = 86_400


@dataclass(frozen=True, slots=True)
class Once:
    at: float
    """Unix seconds."""


@dataclass(frozen=True, slots=True)
class Every:
    seconds: int
    start: float
    """One of its times, the first."""


@dataclass(frozen=True, slots=True)
class Days:
    days: int
    start: datetime
    """The first of its times, as clocks show it; without a zone."""


@dataclass(frozen=True, slots=True)
class Cron:
    line: str
    """Five fields that cronsim takes."""


Rule = Once | Every | Days | Cron


def cron(line: str) -> Cron:
    """ToolError where it is not a cron line, or has no time at all."""
    line = " ".join(line.split())
    try:
        if len(line) > LONGEST_LINE or not line.isascii() or len(line.split(" ")) != 5:
            raise CronSimError("a line has five fields: minute, hour, day, month, weekday")
        next(CronSim(line, datetime(2026, 1, 1, tzinfo=UTC)))
    except CronSimError as error:
        raise ToolError(f"the cron line {quote(line)} is not valid: {error}") from None
    except StopIteration:
        raise ToolError(f"the cron line {quote(line)} never comes to a time") from None
    return Cron(line)


def weekly(days: str, at: time) -> Cron:
    """`days`: as in a cron line. ToolError where the time has seconds."""
    return cron(f"{_to_the_minute(at)} * * {days}")


def monthly(day: int, at: time) -> Cron:
    return cron(f"{_to_the_minute(at)} {day} * *")


def _to_the_minute(at: time) -> str:
    if at.second:
        raise ToolError("what repeats like that is to the minute: leave the seconds out")
    return f"{at.minute} {at.hour}"


def following(rule: Rule, zone: ZoneInfo, after: float) -> float | None:
    """The first of its times after one, all in Unix seconds; None where there is none any more."""
    match rule:
        case Once(at):
            return at if at > after else None
        case Every(seconds, start):
            # One step back, because a division may be rounded up.
            steps = max(math.floor((after - start) / seconds) - 1, 0)
            return next(at for n in count(steps) if (at := start + n * seconds) > after)
        case Days(days, start):
            gone = (wall_time(after, zone).date() - start.date()).days // days
            for step in count(max(gone - 1, 0)):
                try:
                    at = instant(start + timedelta(days=step * days), zone)
                except OverflowError:  # the calendar ends with the year 9999
                    return None
                if at > after:
                    return at
        case Cron(line):
            # A time that clocks show twice comes from cronsim as the first, perhaps before `after`.
            times = CronSim(line, datetime.fromtimestamp(math.floor(after), zone))
            return next((at for each in times if (at := each.timestamp()) > after), None)
        case _:
            assert_never(rule)
    return None


def upcoming(rule: Rule, zone: ZoneInfo, first: float, number: int) -> list[float]:
    """The first time and those after it; at most so many."""
    times = [first]
    while len(times) < number and (at := following(rule, zone, times[-1])) is not None:
        times.append(at)
    return times


def times_between(rule: Rule, zone: ZoneInfo, since: float, until: float) -> int:
    """How many of its times come after one and not after the other; at most MOST_COUNTED + 1."""
    if isinstance(rule, Every):
        first = following(rule, zone, since)
        gone = math.floor((until - first) / rule.seconds) + 1 if first is not None else 0
        return min(max(gone, 0), MOST_COUNTED + 1)
    counted = 0
    while counted <= MOST_COUNTED:
        at = following(rule, zone, since)
        if at is None or at > until:
            break
        counted, since = counted + 1, at
    return counted


def written(rule: Rule) -> str:
    """As it is stored; `read` takes it back."""
    match rule:
        case Once(at):
            return f"once {at!r}"
        case Every(seconds, start):
            return f"every {seconds} {start!r}"
        case Days(days, start):
            return f"days {days} {start.isoformat()}"
        case Cron(line):
            return f"cron {line}"
        case _:
            assert_never(rule)


def read(stored: str) -> Rule:
    """ValueError or ToolError where it is none of ours."""
    kind, _, rest = stored.partition(" ")
    first, _, second = rest.partition(" ")
    match kind:
        case "once":
            return Once(float(rest))
        case "every":
            return Every(int(first), float(second))
        case "days":
            return Days(int(first), datetime.fromisoformat(second))
        case "cron":
            return cron(rest)
        case _:
            raise ValueError(f"{stored!r} is no rule of a schedule")


def in_words(rule: Rule) -> str:
    """ "once", "every 2 hours", "every day at 09:00", "by the cron line 0 9 * * 1"."""
    match rule:
        case Once():
            return "once"
        case Every(seconds):
            return f"every {_span(seconds)}"
        case Days(days, start):
            clock = f"{start:%H:%M:%S}" if start.second else f"{start:%H:%M}"
            often = "day" if days == 1 else "week" if days == 7 else f"{days} days"
            return f"every {often} at {clock}"
        case Cron(line):
            return f"by the cron line {line}"
        case _:
            assert_never(rule)


def _span(seconds: int) -> str:
    for unit, size in (("day", DAY), ("hour", 3600), ("minute", 60), ("second", 1)):
        if seconds % size == 0:
            number = seconds // size
            return unit if number == 1 else f"{number} {unit}s"
    raise AssertionError("seconds are whole")
