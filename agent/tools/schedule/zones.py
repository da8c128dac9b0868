"""Time zones, and times in them as people read them, and as messages say when they
were received. Pure.

A time that clocks skip is moved on by as much as they skip (02:30 becomes 03:30); of one that comes
twice, the first is meant.
"""

from datetime import datetime
from difflib import get_close_matches
from functools import cache
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError, available_timezones

from agent.errors import ToolError
from agent.text.untrusted import quote
from storage.records.entries import Json
from storage.records.speakers import received

LONGEST_NAME = 64
_DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
MONTHS = (
    *("January", "February", "March", "April", "May", "June", "July", "August", "September"),
    *("October", "November", "December"),
)
"""Not strftime's, whose words depend on the machine."""


class ZoneError(ToolError):
    """There is no time zone of that name. The text says which were perhaps meant."""


@cache
def _names() -> dict[str, str]:
    """Each name by what people may type for it."""
    names = available_timezones() - {"Factory", "localtime"}
    return {_typed(name): name for name in sorted(names)}


def _typed(name: str) -> str:
    return "_".join(name.lower().replace("_", " ").split())


def zone_of(name: str) -> ZoneInfo:
    """The zone with a name like "Europe/Berlin", in any case; a city alone, where one zone has it.
    Reads files the first time.

    ZoneError, for who wrote it.
    """
    typed = _typed(name[: LONGEST_NAME + 1])
    known = _names()
    if typed in known:
        return ZoneInfo(known[typed])
    cities = [known[each] for each in known if each.rpartition("/")[2] == typed and "/" in each]
    if len(cities) == 1:
        return ZoneInfo(cities[0])
    near = cities or [known[each] for each in _near(typed)]
    meant = f" Did you mean {' or '.join(near[:3])}?" if near else ""
    raise ZoneError(
        f"there is no time zone {quote(name)}.{meant} Names are like Europe/Berlin, "
        "America/New_York or UTC"
    )


def is_zone(name: str) -> bool:
    """Whether it is the full name of a zone that this machine knows."""
    try:
        return ZoneInfo(name).key == name
    except (ValueError, ZoneInfoNotFoundError, OSError):
        return False


def usual_zone(name: str) -> ZoneInfo:
    """The zone of that name; UTC where the machine knows it no more."""
    try:
        return zone_of(name)
    except ZoneError:
        return ZoneInfo("UTC")


def names_like(typed: str, most: int) -> list[str]:
    """Names in which a city or region begins so, or whose whole does; else those that have it."""
    known, typed = _names(), _typed(typed)
    begins = [name for each, name in known.items() if f"/{each}".find(f"/{typed}") >= 0]
    return list(dict.fromkeys([*begins, *(known[each] for each in known if typed in each)]))[:most]


def _near(typed: str) -> list[str]:
    """Names that are written alike, as a whole or in their city."""
    known = _names()
    alike = get_close_matches(typed, known, n=3, cutoff=0.7)
    by_city: dict[str, str] = {}
    for each in known:
        by_city.setdefault(each.rpartition("/")[2], each)
    city = typed.rpartition("/")[2]
    alike += [by_city[each] for each in get_close_matches(city, by_city, n=3, cutoff=0.75)]
    return list(dict.fromkeys(alike))


def instant(wall: datetime, zone: ZoneInfo) -> float:
    """When clocks in a zone show a time; Unix seconds."""
    return wall.replace(tzinfo=zone, fold=0).timestamp()


def wall_time(at: float, zone: ZoneInfo) -> datetime:
    """What clocks in a zone show at a time in Unix seconds, without the zone."""
    return datetime.fromtimestamp(at, zone).replace(tzinfo=None, fold=0)


def shown_time(at: float, zone: ZoneInfo) -> str:
    """A time in Unix seconds in full: "Monday, 23 November 2026, 09:00 (Europe/Berlin,
    UTC+01:00)"."""
    there = datetime.fromtimestamp(at, zone)
    clock = f"{there:%H:%M:%S}" if there.second else f"{there:%H:%M}"
    day = f"{_DAYS[there.weekday()]}, {there.day} {MONTHS[there.month - 1]} {there.year}"
    return f"{day}, {clock} ({place(at, zone)})"


def received_at(at: float, zone: str) -> Json:
    """What an entry says of when it was appended (Unix seconds), to the minute."""
    there = usual_zone(zone)
    return received(shown_time(at - at % 60, there), there.key)


def place(at: float, zone: ZoneInfo) -> str:
    """A zone with its distance from UTC at a time: "Europe/Berlin, UTC+01:00"; "UTC" alone."""
    there = datetime.fromtimestamp(at, zone)
    if zone.key == "UTC":
        return "UTC"
    offset = there.utcoffset()
    minutes = round(offset.total_seconds() / 60) if offset is not None else 0
    sign = "-" if minutes < 0 else "+"
    return f"{zone.key}, UTC{sign}{abs(minutes) // 60:02}:{abs(minutes) % 60:02}"
