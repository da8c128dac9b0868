"""Spans of time as people write them: "30s", "1h30m", "in an hour", "2 days and 3 hours". Pure."""

import re
from dataclasses import dataclass

_UNITS = {
    "s": 1,
    "sec": 1,
    "second": 1,
    "m": 60,
    "min": 60,
    "minute": 60,
    "h": 3600,
    "hr": 3600,
    "hour": 3600,
}
_DAYS = {"d": 1, "day": 1, "w": 7, "wk": 7, "week": 7, "fortnight": 14}
_PART = re.compile(
    r"(?P<number>\d+(?:\.\d+)?|an?|one|two|three|four|five|six|ten|twelve|half an?) ?"
    r"(?P<unit>[a-z]+?)s?\b(?:,? and |, | )?|(?P<short>\d+(?:\.\d+)?)(?P<letter>[smhdw])(?=\d)"
)
_WORDS = {
    "a": 1.0,
    "an": 1.0,
    "one": 1.0,
    "two": 2.0,
    "three": 3.0,
    "four": 4.0,
    "five": 5.0,
    "six": 6.0,
    "ten": 10.0,
    "twelve": 12.0,
    "half a": 0.5,
    "half an": 0.5,
}
LARGEST = 10.0**9
"""Days or seconds; more is not meant."""


@dataclass(frozen=True, slots=True)
class Span:
    days: int = 0
    """Whole days, which keep the time of day."""
    seconds: int = 0


def span(text: str) -> Span | None:
    """A span in lower case; None where it is none, or nothing at all. A part of a day is seconds;
    a unit alone ("hour") is one of them."""
    if text in _UNITS or text in _DAYS:
        text = f"1 {text}"
    seconds = days = 0.0
    place = 0
    while place < len(text):
        part = _PART.match(text, place)
        if part is None:
            return None
        unit = part["letter"] or part["unit"]
        unit = "s" if unit == "" else unit
        number = _WORDS.get(part["number"] or "", 0.0) or float(part["short"] or part["number"])
        if unit in _UNITS:
            seconds += number * _UNITS[unit]
        elif unit in _DAYS:
            days += number * _DAYS[unit]
        else:
            return None
        place = part.end()
    if max(seconds, days) > LARGEST:
        return Span(days=int(LARGEST))
    if days != int(days):
        seconds, days = seconds + days * 86_400, 0.0
    found = Span(int(days), round(seconds))
    return found if found != Span() else None
