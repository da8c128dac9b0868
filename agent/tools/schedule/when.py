"""What people and models write for a time, as a rule and its first time. Pure.

What is plain is taken however it is written. What could mean two things is a fault that says how to
write it.
"""

import math
import re
from dataclasses import dataclass, replace
from datetime import date, datetime, time, timedelta
from zoneinfo import ZoneInfo

from agent.errors import ToolError
from agent.text.untrusted import quote
from agent.tools.schedule.rules import (
    DAY,
    SHORTEST,
    Cron,
    Days,
    Every,
    Once,
    Rule,
    cron,
    following,
    monthly,
    upcoming,
    weekly,
)
from agent.tools.schedule.spans import Span, span
from agent.tools.schedule.zones import MONTHS, instant, shown_time, wall_time

LONGEST = 200
"""Characters."""
FARTHEST = 10 * 366 * DAY
"""Seconds from now."""
LATENESS = 60.0
"""Seconds for which what is over counts as now: it took a while to be written."""
COMPARED = 6
"""Times by which two rules are held to be the same."""

HOW = (
    'write an ISO time ("2026-11-23T09:00"), a wait ("10m", "in 2 hours"), a time of day ("09:00", '
    '"tomorrow 9:00", "monday 09:00"), a date ("5 March at 9:00"), "every day at 9:00", '
    '"every 2 hours", or a cron line '
    '("0 9 * * 1-5")'
)
HOW_OFTEN = 'write repeat as "daily", "weekly", "2h" or a cron line, or leave it out'
AT_WHAT_TIME = 'say at what time of the day, like "monday 09:00"'

_WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_PLURALS = tuple(f"{name}s" for name in _WEEKDAYS)
_DAY_NAMES = {
    form: number
    for number, name in enumerate(_WEEKDAYS)
    for form in {name, f"{name}s", name[:3], *({"tues"} if number == 1 else ())}
    | ({"thur", "thurs"} if number == 3 else set())
    | ({"weds"} if number == 2 else set())
}
_MONTHS = tuple(name.lower() for name in MONTHS)
_MONTH_NAMES = {
    **{name: number for number, name in enumerate(_MONTHS, start=1)},
    **{name[:3]: number for number, name in enumerate(_MONTHS, start=1)},
    "sept": 9,
    "januar": 1,
    "februar": 2,
    "märz": 3,
    "mär": 3,
    "mai": 5,
    "juni": 6,
    "juli": 7,
    "oktober": 10,
    "okt": 10,
    "dezember": 12,
    "dez": 12,
}
"""English and German."""
_MONTH = rf"(?P<month>{'|'.join(sorted(_MONTH_NAMES, key=len, reverse=True))})\b\.?"
_YEAR = r"(?:,? (?P<year>\d{4})(?![\d:.]))?"
_DATES = (
    re.compile(
        rf"(?<![\d:.-])(?<!\bat )(?P<day>\d{{1,2}})(?:st|nd|rd|th|\.)? (?:of )?{_MONTH}{_YEAR}"
    ),
    re.compile(rf"\b{_MONTH} (?:the )?(?P<day>\d{{1,2}})(?:st|nd|rd|th)?(?![\w:.]){_YEAR}"),
)
"""A day with its month in words."""
_ON_DATE = re.compile(r"(?:\b(?:on|am) )?(?:\bthe )?(?P<date>\d{4}-\d\d-\d\d)")
_UHR = re.compile(r"(?:\bum )?\b(\d{1,2})(?::(\d\d))? uhr\b")
_MACROS = {
    "@hourly": "0 * * * *",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@weekly": "0 0 * * 0",
    "@monthly": "0 0 1 * *",
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
}
_NO = ("", "no", "none", "never", "once", "false", "null")
_YES = ("yes", "true", "repeat")
_CRON = re.compile(r"[\d*][\d*/,-]*(?: [\d*][\d*/,-]*) [\da-z*/,#-]+(?: [\da-z*/,#-]+){2}")
_SIX = re.compile(r"[\d*][\d*/,-]*(?: [\d*][\d*/,-]*){2}(?: [\da-z*/,#-]+){3}")
_ISO = re.compile(r"\d{4}-\d\d-\d\d(?:[t ]\d\d:?\d\d.*)?")
_SHORT_HOUR = re.compile(r"^(\d{4}-\d\d-\d\d[t ])(?=\d:\d\d)")
_CLOCK = re.compile(
    r"(?:\bat |(?<![\w:.-]))"
    r"(?:(?P<name>noon|midnight)|(?P<hour>\d{1,2})(?::(?P<minute>\d\d)(?::(?P<second>\d\d))?)?"
    r"(?: ?(?P<half>[ap])\.?m\b\.?| ?o'?clock\b|\b))(?![\w:-]|\.\d)"
)
_EVERY = re.compile(r"(?:every|each) (?P<what>.+)")
_YEARLY = re.compile(
    r"(?:(?:every|each) year|yearly|annually|every|each)(?: on)?(?: the)? "
    r"(?P<rest>\d{4}-\d\d-\d\d.+)"
)
_ORDINAL = re.compile(r"(?:every |each )?(?:month|monthly)(?: on)?(?: the)? (?P<day>\d{1,2})\w*")


@dataclass(frozen=True, slots=True)
class Timing:
    rule: Rule
    first: float
    """Unix seconds."""


@dataclass(frozen=True, slots=True)
class _Start:
    at: float
    """Unix seconds."""
    wall: datetime
    """What clocks were meant to show; they skip it on some days."""


@dataclass(frozen=True, slots=True)
class _Said:
    """A time that was written, once."""

    start: _Start
    repeats: Span | None = None
    """How it repeats where only that it does is said; None: it must be said."""


def timing(when: str, repeat: str | bool | None, now: float, zone: ZoneInfo) -> Timing:
    """When something is to be done first, and how it goes on from there. ToolError, for who wrote
    it, where that is not clear, over, or too often."""
    now = float(math.ceil(now))
    said = _when(_plain(when), now, zone)
    found = _repeated(said, repeat, zone)
    if found.first < now - LATENESS:
        raise ToolError(
            f"{quote(when)} is over: it was {shown_time(found.first, zone)}, and now it is "
            f"{shown_time(now, zone)}"
        )
    if found.first > now + FARTHEST:
        raise ToolError(f"{quote(when)} is more than ten years away")
    if isinstance(found.rule, Every) and found.rule.seconds < SHORTEST:
        raise ToolError(f"it may repeat every {SHORTEST} seconds at most, not more often")
    return found


def _plain(text: str) -> str:
    if len(text) > LONGEST:
        raise ToolError(f"that is too long for a time; {HOW}")
    return " ".join(text.lower().replace("’", "'").split()).strip(" .!")


def _when(text: str, now: float, zone: ZoneInfo) -> _Said | Timing:
    if (line := _cron_line(text)) is not None:
        return _from(line, zone, now)
    text = _dated(text, now, zone)
    if (yearly := _YEARLY.fullmatch(text)) is not None:
        said = _when(yearly["rest"], now, zone)
        return _repetition("yearly", said.start, zone) if isinstance(said, _Said) else said
    if _ISO.fullmatch(iso := _SHORT_HOUR.sub(r"\g<1>0", text)):
        return _Said(_iso(iso, now, zone))
    if (wait := _wait(text)) is not None:
        return _Said(_later(wait, now, zone), repeats=wait)
    if (rest := _EVERY.fullmatch(text)) and (gap := span(rest["what"])) is not None:
        if gap == Span(days=1) and "day" in rest["what"]:
            raise ToolError('say at what time: "every day at 9:00"')
        return _going_on(gap, _later(gap, now, zone))
    if text == "hourly":
        hour = Span(seconds=3600)
        return _going_on(hour, _later(hour, now, zone))
    return _by_the_clock(text, now, zone)


def _dated(text: str, now: float, zone: ZoneInfo) -> str:
    """The text with a date in words as "YYYY-MM-DD", without a year the next such day."""
    found = next(filter(None, (each.search(text) for each in _DATES)), None)
    if found is None:
        return text
    day, month = int(found["day"]), _MONTH_NAMES[found["month"]]
    today = wall_time(now, zone).date()
    years = [int(found["year"])] if found["year"] else range(today.year, today.year + 9)
    days = (_day_of(year, month, day) for year in years)
    date_ = next((one for one in days if one and (found["year"] or one >= today)), None)
    if date_ is None:
        raise ToolError(f"{quote(text)}: there is no such day in that month")
    before, after = text[: found.start()].rstrip(" ,"), text[found.end() :]
    first, _, weekday = before.rpartition(" ")
    if (named := _DAY_NAMES.get(weekday)) is not None and weekday not in _PLURALS:
        if named != date_.weekday():
            really = _WEEKDAYS[date_.weekday()].capitalize()
            raise ToolError(f"{quote(text)} is not clear: {date_.isoformat()} is a {really}")
        before = first
    after = _UHR.sub(lambda clock: f"at {clock[1]}:{clock[2] or '00'}", after)
    written = f"{before} {date_.isoformat()}{after}".strip(" ,")
    return _ON_DATE.sub(r"\g<date>", written, count=1)


def _day_of(year: int, month: int, day: int) -> date | None:
    try:
        return date(year, month, day)
    except ValueError:
        return None


def _cron_line(text: str) -> Cron | None:
    if text in _MACROS:
        return Cron(_MACROS[text])
    text = text.removeprefix("cron ").removeprefix("cron: ")
    if _SIX.fullmatch(text):
        raise ToolError("a cron line has five fields here: there are no seconds in it")
    return cron(text) if _CRON.fullmatch(text) else None


def _from(rule: Cron, zone: ZoneInfo, after: float) -> Timing:
    first = following(rule, zone, after)
    if first is None:
        raise ToolError(f"the cron line {rule.line} has no time any more")
    return Timing(rule, first)


def _at(wall: datetime, zone: ZoneInfo) -> _Start:
    return _Start(instant(wall, zone), wall)


def _iso(text: str, now: float, zone: ZoneInfo) -> _Start:
    try:
        there = datetime.fromisoformat(text.upper().replace(" +", "+"))
    except ValueError as error:
        raise ToolError(f"{quote(text)} is not a time: {error}; {HOW}") from None
    if len(text) <= 10:
        raise ToolError(f'{quote(text)} is a whole day: write "{text}T09:00", say')
    # Before anything is reckoned with it: the calendar has ends.
    if abs(there.year - wall_time(now, zone).year) > 11:
        raise ToolError(f"{quote(text)} is more than ten years away")
    if there.tzinfo is None:
        return _at(there, zone)
    return _Start(there.timestamp(), wall_time(there.timestamp(), zone))


def _wait(text: str) -> Span | None:
    for before, after in (("in ", ""), ("", " from now"), ("after ", ""), ("", "")):
        if text.startswith(before) and text.endswith(after) and (before or after):
            return span(text.removeprefix(before).removesuffix(after))
    return span(text)


def _later(wait: Span, now: float, zone: ZoneInfo) -> _Start:
    """Days keep the time of day."""
    if wait.days * DAY + wait.seconds > FARTHEST:
        raise ToolError("that is more than ten years away")
    if not wait.seconds:
        return _at(wall_time(now, zone) + timedelta(days=wait.days), zone)
    at = instant(wall_time(now, zone) + timedelta(days=wait.days), zone) if wait.days else now
    return _Start(at + wait.seconds, wall_time(at + wait.seconds, zone))


def _by_the_clock(text: str, now: float, zone: ZoneInfo) -> _Said | Timing:
    """A time of day, with or without a day beside it."""
    day_of_month = _ORDINAL.match(text)
    search_in = text[day_of_month.end() :] if day_of_month is not None else text
    clocks = list(_CLOCK.finditer(search_in))
    # A number alone is a time only where "at" stands before it, or nothing else is one.
    clear = [one for one in clocks if one["minute"] or one["half"] or one["name"]] or [
        one for one in clocks if one[0].startswith("at ") or "clock" in one[0]
    ]
    if len(clear) > 1:
        raise ToolError(f"{quote(text)} has two times in it; {HOW}")
    if not clear:
        raise _unclear(text)
    (clock,) = clear
    at = _clock(clock, text)
    rest = f"{search_in[: clock.start()]} {search_in[clock.end() :]}"
    rest = " ".join(re.sub(r"[,]|\b(?:on|the|at)\b", " ", rest).split())
    if day_of_month is not None:
        if rest:
            raise _unclear(text)
        return _from(monthly(int(day_of_month["day"]), at), zone, now)
    return _on_a_day(rest, at, text, now, zone)


def _unclear(text: str) -> ToolError:
    words = text.removeprefix("next ").removeprefix("on ").removeprefix("every ")
    is_day = words in _DAY_NAMES or words in ("today", "tomorrow", "day", "daily", "weekday")
    return ToolError(f"{quote(text)} is not clear: {AT_WHAT_TIME if is_day else HOW}")


def _clock(found: re.Match[str], text: str) -> time:
    if found["name"]:
        return time(12 if found["name"] == "noon" else 0)
    hour = int(found["hour"])
    if found["half"]:
        if not 1 <= hour <= 12:
            raise ToolError(f"{quote(text)} has no such time of day")
        hour = hour % 12 + (12 if found["half"] == "p" else 0)
    try:
        return time(hour, int(found["minute"] or 0), int(found["second"] or 0))
    except ValueError:
        raise ToolError(f"{quote(text)} has no such time of day") from None


def _on_a_day(day: str, at: time, text: str, now: float, zone: ZoneInfo) -> _Said | Timing:
    today = wall_time(now, zone).date()
    match day:
        case "":
            return _Said(_next_day(at, None, now, zone), repeats=Span(days=1))
        case "today":
            return _Said(_at(datetime.combine(today, at), zone), repeats=Span(days=1))
        case "tomorrow" | "day after tomorrow":
            ahead = timedelta(days=1 if day == "tomorrow" else 2)
            return _Said(_at(datetime.combine(today + ahead, at), zone), repeats=Span(days=1))
        case "daily" | "every day" | "each day" | "everyday":
            return _going_on(Span(days=1), _next_day(at, None, now, zone))
        case "every weekday" | "weekdays" | "each weekday" | "every workday" | "workdays":
            return _from(weekly("1-5", at), zone, now)
        case "every weekend" | "weekends":
            return _from(weekly("0,6", at), zone, now)
    if re.fullmatch(r"\d{4}-\d\d-\d\d", day):
        return _Said(_iso(f"{day}T{at.isoformat()}", now, zone))
    if (often := _EVERY.fullmatch(day)) and (gap := _days(often["what"])) is not None:
        return _going_on(gap, _next_day(at, None, now, zone))
    return _on_weekdays(day, at, text, now, zone)


def _days(text: str) -> Span | None:
    """ "2 days", "other day", "2 weeks"; None where it is not whole days."""
    if text in ("other day", "second day"):
        return Span(days=2)
    gap = span(text)
    return gap if gap is not None and not gap.seconds and gap.days * DAY <= FARTHEST else None


def _on_weekdays(day: str, at: time, text: str, now: float, zone: ZoneInfo) -> _Said | Timing:
    """ "monday", "next monday", "every monday and thursday", "weekly monday", "mondays"."""
    bare = re.sub(r"^(?:every week|weekly|every|each) ", "", day)
    names = re.sub(r"\band\b", " ", bare.removeprefix("next ").removeprefix("this ")).split()
    if not names or not all(name in _DAY_NAMES for name in names):
        raise _unclear(text)
    numbers = [_DAY_NAMES[name] for name in names]
    plural = all(name.endswith("s") and name[:-1] in _WEEKDAYS for name in names)
    if bare == day and not plural:
        if len(numbers) > 1:
            raise ToolError(f"{quote(text)} is more than one day: write it with every before it")
        first = _next_day(at, numbers[0], now, zone)
        if day.startswith("next ") and first.wall.date() == wall_time(now, zone).date():
            first = _at(first.wall + timedelta(days=7), zone)
        return _Said(first, repeats=Span(days=7))
    if len(numbers) == 1:
        return _going_on(Span(days=7), _next_day(at, numbers[0], now, zone))
    days = ",".join(str((number + 1) % 7) for number in sorted(set(numbers)))
    return _from(weekly(days, at), zone, now)


def _next_day(at: time, weekday: int | None, now: float, zone: ZoneInfo) -> _Start:
    """The next time that clocks show `at`, on that weekday."""
    today = wall_time(now, zone).date()
    for ahead in range(9):
        day: date = today + timedelta(days=ahead)
        first = _at(datetime.combine(day, at), zone)
        if first.at > now and weekday in (None, day.weekday()):
            return first
    raise AssertionError("each weekday comes within eight days")


def _going_on(gap: Span, start: _Start) -> Timing:
    """From the first time on, every so often."""
    if gap.seconds:
        return Timing(Every(gap.seconds + gap.days * DAY, start.at), start.at)
    return Timing(Days(gap.days, start.wall), start.at)


def _repeated(said: _Said | Timing, repeat: str | bool | None, zone: ZoneInfo) -> Timing:
    """Put together what `when` and `repeat` say."""
    text = _plain(repeat) if isinstance(repeat, str) else repeat
    if isinstance(text, str) and text in _NO:
        text = False if text else None
    if isinstance(text, str) and text in _YES:
        text = True
    match said, text:
        case Timing(), None | True:
            return said
        case Timing(), False:
            raise ToolError(
                "when says that it repeats, and repeat that it does not: leave repeat out, or "
                "give one time"
            )
        case Timing(rule, first), str():
            wall = rule.start if isinstance(rule, Days) else wall_time(first, zone)
            other = _repetition(text, _Start(first, wall), zone)
            times = (upcoming(each.rule, zone, each.first, COMPARED) for each in (said, other))
            if len({tuple(each) for each in times}) > 1:
                raise ToolError("when and repeat say different things; say only in one how often")
            return Timing(rule, first)
        case _Said(start), None | False:
            return Timing(Once(start.at), start.at)
        case _Said(start, gap), True:
            if gap is None:
                raise ToolError(f"how often is not clear; {HOW_OFTEN}")
            return _going_on(gap, start)
        case _Said(start), str():
            return _repetition(text, start, zone)
        case _:
            raise AssertionError("a repeat is a text, or whether it does")


def _repetition(text: str, start: _Start, zone: ZoneInfo) -> Timing:
    """What `repeat` says, from the first time on; by a cron line, from its first time then."""
    if (line := _cron_line(text)) is not None:
        return _from(line, zone, start.at - 0.5)
    there = start.wall
    match re.sub(r"^(?:each|every) ", "", text):
        case "hourly":
            return _going_on(Span(seconds=3600), start)
        case "daily" | "everyday":
            return _going_on(Span(days=1), start)
        case "weekly":
            return _going_on(Span(days=7), start)
        case "biweekly" | "fortnightly" | "other week":
            return _going_on(Span(days=14), start)
        case "other day":
            return _going_on(Span(days=2), start)
        case "weekday" | "weekdays" | "workday" | "workdays":
            return _from(weekly("1-5", there.time()), zone, start.at - 0.5)
        case "monthly" | "month":
            return _from(monthly(there.day, there.time()), zone, start.at - 0.5)
        case "yearly" | "annually" | "year":
            rule = monthly(there.day, there.time())
            yearly = replace(rule, line=rule.line.replace("* *", f"{there.month} *"))
            return _from(yearly, zone, start.at - 0.5)
        case rest:
            gap = span(rest)
    if gap is None:
        return _repeated_in_words(text, start, zone)
    if gap.days > FARTHEST // DAY:
        raise ToolError("repeat is more than ten years")
    return _going_on(gap, start)


def _repeated_in_words(text: str, start: _Start, zone: ZoneInfo) -> Timing:
    """ "every day at 9:00", "every monday": what could stand as `when`, from the first time on."""
    clock = start.wall.time()
    for whole in (f"{text} at {clock.isoformat()}", text):
        try:
            found = _by_the_clock(whole, start.at - 0.5, zone)
        except ToolError:
            continue
        if isinstance(found, _Said):
            if found.repeats != Span(days=7) or text.startswith("next "):
                continue
            found = _going_on(found.repeats, found.start)
        if wall_time(found.first, zone).time() not in (clock, wall_time(start.at, zone).time()):
            raise ToolError("when and repeat say different times of the day; say it only in one")
        return found
    raise ToolError(f"repeat {quote(text)} is not clear; {HOW_OFTEN}")
