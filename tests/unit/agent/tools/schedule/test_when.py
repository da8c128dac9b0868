"""What is written for a time, and when that is. It is Sunday, 22 November 2026, 15:30:05 in
Berlin."""

from datetime import datetime
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.errors import ToolError
from agent.tools.schedule.rules import Cron, Days, Every, Once, following, upcoming
from agent.tools.schedule.spans import Span, span
from agent.tools.schedule.when import FARTHEST, LATENESS, timing
from agent.tools.schedule.zones import instant, wall_time

BERLIN = ZoneInfo("Europe/Berlin")
NOW = instant(datetime(2026, 11, 22, 15, 30, 5), BERLIN)


def times(when: str, repeat: str | bool | None = None, zone: ZoneInfo = BERLIN) -> list[str]:
    """The first three times, as clocks in the zone show them."""
    found = timing(when, repeat, NOW, zone)
    return [wall_time(at, zone).isoformat(" ") for at in upcoming(found.rule, zone, found.first, 3)]


@pytest.mark.parametrize(
    ("when", "first"),
    [
        ("30s", "2026-11-22 15:30:35"),
        ("10m", "2026-11-22 15:40:05"),
        ("2h", "2026-11-22 17:30:05"),
        ("1d", "2026-11-23 15:30:05"),
        ("1h30m", "2026-11-22 17:00:05"),
        ("in 10 minutes", "2026-11-22 15:40:05"),
        ("In 10 Minutes.", "2026-11-22 15:40:05"),
        ("10 minutes from now", "2026-11-22 15:40:05"),
        ("in an hour", "2026-11-22 16:30:05"),
        ("in half an hour", "2026-11-22 16:00:05"),
        ("2 days and 3 hours", "2026-11-24 18:30:05"),
        ("in 3 weeks", "2026-12-13 15:30:05"),
        ("2026-11-23T09:00", "2026-11-23 09:00:00"),
        ("2026-11-23 09:00:30", "2026-11-23 09:00:30"),
        ("2026-11-23T09:00Z", "2026-11-23 10:00:00"),
        ("2026-11-23T09:00:00.000Z", "2026-11-23 10:00:00"),
        ("2026-11-23T09:00:00+05:30", "2026-11-23 04:30:00"),
        ("2026-11-23 at 9:00", "2026-11-23 09:00:00"),
        ("2027-03-28T02:30", "2027-03-28 03:30:00"),
        ("on 5 March at 9", "2027-03-05 09:00:00"),
        ("5 March 9:00", "2027-03-05 09:00:00"),
        ("March 5 at 9am", "2027-03-05 09:00:00"),
        ("March 5th, 2028 at 09:00", "2028-03-05 09:00:00"),
        ("on the 5th of March at noon", "2027-03-05 12:00:00"),
        ("at 9 on Mar 5", "2027-03-05 09:00:00"),
        ("9:30 on Dec. 1", "2026-12-01 09:30:00"),
        ("9am, 24 december", "2026-12-24 09:00:00"),
        ("Friday, 5 March at 9", "2027-03-05 09:00:00"),
        ("22 November at 18:00", "2026-11-22 18:00:00"),
        ("1 may 2027 at 8", "2027-05-01 08:00:00"),
        ("29 February at 9", "2028-02-29 09:00:00"),
        ("5. März 9:00", "2027-03-05 09:00:00"),
        ("am 5. März um 9 Uhr", "2027-03-05 09:00:00"),
        ("am 24. Dezember um 18:30 Uhr", "2026-12-24 18:30:00"),
        ("next friday at 9", "2026-11-27 09:00:00"),
        ("09:00", "2026-11-23 09:00:00"),
        ("16:00", "2026-11-22 16:00:00"),
        ("9am", "2026-11-23 09:00:00"),
        ("9:30 p.m.", "2026-11-22 21:30:00"),
        ("12am", "2026-11-23 00:00:00"),
        ("at 9", "2026-11-23 09:00:00"),
        ("noon", "2026-11-23 12:00:00"),
        ("today at 18:00", "2026-11-22 18:00:00"),
        ("tomorrow 9:00", "2026-11-23 09:00:00"),
        ("tomorrow at 9", "2026-11-23 09:00:00"),
        ("9:00 tomorrow", "2026-11-23 09:00:00"),
        ("day after tomorrow 9:00", "2026-11-24 09:00:00"),
        ("monday 09:00", "2026-11-23 09:00:00"),
        ("on Monday at 9 o'clock", "2026-11-23 09:00:00"),
        ("at 9 on monday", "2026-11-23 09:00:00"),
        ("sunday 16:00", "2026-11-22 16:00:00"),
        ("sunday 15:00", "2026-11-29 15:00:00"),
        ("next sunday at 16:00", "2026-11-29 16:00:00"),
    ],
)
def test_one_time(when: str, first: str) -> None:
    assert times(when) == [first]
    assert isinstance(timing(when, None, NOW, BERLIN).rule, Once)


@pytest.mark.parametrize(
    ("when", "repeat", "first_three"),
    [
        ("every 10 minutes", None, ["22 15:40:05", "22 15:50:05", "22 16:00:05"]),
        ("every 2h", None, ["22 17:30:05", "22 19:30:05", "22 21:30:05"]),
        ("hourly", None, ["22 16:30:05", "22 17:30:05", "22 18:30:05"]),
        ("every day at 9", None, ["23 09:00:00", "24 09:00:00", "25 09:00:00"]),
        ("at 9:00 every day", True, ["23 09:00:00", "24 09:00:00", "25 09:00:00"]),
        ("2026-11-24T9:00", "every day at 9", ["24 09:00:00", "25 09:00:00", "26 09:00:00"]),
        ("09:00", "every monday and wednesday", ["23 09:00:00", "25 09:00:00", "30 09:00:00"]),
        ("09:00", "Mondays and thursdays", ["23 09:00:00", "26 09:00:00", "30 09:00:00"]),
        ("daily at 16:00", None, ["22 16:00:00", "23 16:00:00", "24 16:00:00"]),
        ("every 2 days at 9:00", None, ["23 09:00:00", "25 09:00:00", "27 09:00:00"]),
        ("every other day at 16:00", None, ["22 16:00:00", "24 16:00:00", "26 16:00:00"]),
        ("weekdays at 8:15", None, ["23 08:15:00", "24 08:15:00", "25 08:15:00"]),
        ("every monday and thursday at 8", None, ["23 08:00:00", "26 08:00:00", "30 08:00:00"]),
        ("0 9 * * *", None, ["23 09:00:00", "24 09:00:00", "25 09:00:00"]),
        ("0 9 * * MON-FRI", True, ["23 09:00:00", "24 09:00:00", "25 09:00:00"]),
        ("cron 0 9 * * 1-5", None, ["23 09:00:00", "24 09:00:00", "25 09:00:00"]),
        ("@daily", None, ["23 00:00:00", "24 00:00:00", "25 00:00:00"]),
        ("10m", True, ["22 15:40:05", "22 15:50:05", "22 16:00:05"]),
        ("09:00", True, ["23 09:00:00", "24 09:00:00", "25 09:00:00"]),
        ("09:00", "daily", ["23 09:00:00", "24 09:00:00", "25 09:00:00"]),
        ("09:00", "every day", ["23 09:00:00", "24 09:00:00", "25 09:00:00"]),
        ("09:00", "weekdays", ["23 09:00:00", "24 09:00:00", "25 09:00:00"]),
        ("09:00", "2h", ["23 09:00:00", "23 11:00:00", "23 13:00:00"]),
        ("09:00", "every 2 days", ["23 09:00:00", "25 09:00:00", "27 09:00:00"]),
        ("2026-11-26T09:00", "0 8 * * *", ["27 08:00:00", "28 08:00:00", "29 08:00:00"]),
        ("every day at 9:00", "daily", ["23 09:00:00", "24 09:00:00", "25 09:00:00"]),
        ("0 9 * * *", "daily", ["23 09:00:00", "24 09:00:00", "25 09:00:00"]),
    ],
)
def test_again_and_again(when: str, repeat: str | bool | None, first_three: list[str]) -> None:
    assert times(when, repeat) == [f"2026-11-{each}" for each in first_three]


@pytest.mark.parametrize(
    ("when", "repeat"),
    [("02:30", "daily"), ("every day at 02:30", None), ("2027-03-28T02:30", "daily"), ("1d", True)],
)
def test_what_begins_on_the_day_that_skips_its_time_keeps_it_from_then_on(
    when: str, repeat: str | bool | None
) -> None:
    now = instant(datetime(2027, 3, 27, 2, 30), BERLIN)
    found = timing(when, repeat, now, BERLIN)
    times = [wall_time(at, BERLIN) for at in upcoming(found.rule, BERLIN, found.first, 2)]
    assert times == [datetime(2027, 3, 28, 3, 30), datetime(2027, 3, 29, 2, 30)]


def test_weeks_months_and_years() -> None:
    assert times("monday 09:00", True)[:2] == ["2026-11-23 09:00:00", "2026-11-30 09:00:00"]
    assert times("mondays at 9")[:2] == ["2026-11-23 09:00:00", "2026-11-30 09:00:00"]
    assert times("09:00", "monthly")[:2] == ["2026-11-23 09:00:00", "2026-12-23 09:00:00"]
    assert times("every month on the 1st at 9:00")[:2] == [
        "2026-12-01 09:00:00",
        "2027-01-01 09:00:00",
    ]
    assert times("2027-02-28T09:00", "yearly")[1] == "2028-02-28 09:00:00"


def test_a_weekday_alone_may_say_how_often() -> None:
    every_week = ["2026-11-24 09:00:00", "2026-12-01 09:00:00", "2026-12-08 09:00:00"]
    assert times("09:00", "every tuesday") == times("9:00", "Tuesdays") == every_week


@pytest.mark.parametrize("repeat", [None, False, "", "no", "none", "false"])
def test_no_repeat_is_said_in_many_ways(repeat: str | bool | None) -> None:
    assert times("09:00", repeat) == ["2026-11-23 09:00:00"]


@pytest.mark.parametrize(
    ("when", "repeat", "told"),
    [
        ("", None, "is not clear"),
        ("09:00", "every day at 10:00", "different times of the day"),
        ("09:00", "tomorrow", "is not clear"),
        ("09:00", "next monday", "is not clear"),
        ("soon", None, "is not clear"),
        ("9", None, "is not clear"),
        ("-5m", None, "is not clear"),
        ("in 0 minutes", None, "is not clear"),
        ("10:00 - 11:00", None, "two times"),
        ("monday", None, "at what time"),
        ("tomorrow", None, "at what time"),
        ("every day", None, "at what time"),
        ("2026-11-23", None, "whole day"),
        ("2026-13-01T09:00", None, "is not a time"),
        ("at 25:00", None, "no such time"),
        ("13pm", None, "no such time"),
        ("today 9:00", None, "is over"),
        ("2026-11-22T15:00", None, "is over"),
        ("9999-12-31T23:00", None, "ten years"),
        ("0001-01-01T00:00", None, "ten years"),
        ("9" * 180 + "d", None, "ten years"),
        ("9" * 180 + "h", None, "ten years"),
        ("1m" * 150, None, "too long"),
        ("61 9 * * *", None, "is not valid"),
        ("0 0 31 2 *", None, "is not valid"),
        ("1 2 3 4 5 6", None, "five fields"),
        ("every 10s", None, "every 60 seconds"),
        ("10s", True, "every 60 seconds"),
        ("0 9 * * *", False, "leave repeat out"),
        ("every day at 9:00", "weekly", "different things"),
        ("2026-11-23T09:00", True, "how often"),
        ("09:00", "sometimes", "is not clear"),
        ("09:00", "9" * 50 + "d", "ten years"),
        ("monday and tuesday at 9", None, "write it with every"),
    ],
)
def test_what_is_not_clear_is_refused_and_says_how(
    when: str, repeat: str | bool | None, told: str
) -> None:
    with pytest.raises(ToolError, match=told):
        timing(when, repeat, NOW, BERLIN)


def test_what_was_just_now_counts_as_now() -> None:
    found = timing("2026-11-22T15:29:30", None, NOW, BERLIN)
    assert found.first == NOW - 35


def test_a_line_of_cron_that_never_comes_is_refused_at_once() -> None:
    with pytest.raises(ToolError, match=r"never|not valid"):
        timing("0 0 */30 2 1#5", None, NOW, BERLIN)


WORDS = st.sampled_from(
    [
        "at",
        "9",
        "09:00",
        "every",
        "day",
        "monday",
        "in",
        "10",
        "minutes",
        "h",
        "*",
        "*/5",
        "1-5",
        "tomorrow",
        "next",
        "and",
        "noon",
        "2026-11-23",
        "T",
        "Z",
        "+01:00",
        "am",
        ",",
        "weekly",
        "99999999999",
        "0.5",
        "½",
        "٣",
        "\x00",
        "\u202e",
        "on the",
        "31",
        "@daily",
        "half an",
        "L",
    ]
)
REPEATS = st.one_of(st.none(), st.booleans(), st.lists(WORDS, max_size=4).map(" ".join), st.text())


@given(st.one_of(st.text(max_size=40), st.lists(WORDS, max_size=7).map(" ".join)), REPEATS)
def test_whatever_is_written_is_a_time_to_come_or_a_fault(when: str, repeat: Any) -> None:
    try:
        found = timing(when, repeat, NOW, BERLIN)
    except ToolError as error:
        assert str(error)
        return
    assert NOW - LATENESS <= found.first <= NOW + FARTHEST + 1
    match found.rule:
        case Once(at):
            assert at == found.first
        case Every(seconds):
            assert seconds >= 60
        case Days(days):
            assert days >= 1
        case Cron():
            pass
    if not isinstance(found.rule, Once):
        assert following(found.rule, BERLIN, found.first - 0.5) == found.first
        after = following(found.rule, BERLIN, found.first)
        assert after is None or after >= found.first + 60


@given(st.integers(1, 500), st.integers(0, 23), st.integers(0, 59), st.integers(0, 59))
def test_a_span_is_read_in_every_form(days: int, hours: int, minutes: int, seconds: int) -> None:
    meant = Span(days, hours * 3600 + minutes * 60 + seconds)
    assert span(f"{days}d{hours}h{minutes}m{seconds}s") == meant
    assert span(f"{days} days, {hours} hours, {minutes} min and {seconds} seconds") == meant


def test_a_date_in_words_repeats_each_year() -> None:
    for said in ("every 5 March at 9:00", "every year on March 5 at 9:00", "yearly 5. März 9:00"):
        days = ["2027-03-05 09:00:00", "2028-03-05 09:00:00", "2029-03-05 09:00:00"]
        assert times(said) == days
    assert times("5 March at 9", "yearly") == days


@pytest.mark.parametrize(
    ("when", "why"),
    [
        ("5 March", "2027-03-05T09:00"),
        ("31 April at 9", "no such day"),
        ("29 February 2027 at 9", "no such day"),
        ("Monday, 5 March at 9", "2027-03-05 is a Friday"),
        ("22 November at 9", "is over"),
        ("5 March 2099 at 9", "more than ten years away"),
        ("March at 9", "is not clear"),
        ("5 March and 6 March at 9", "is not clear"),
        ("in 5 march", "whole day|is not clear"),
    ],
)
def test_a_date_in_words_that_is_none_says_why(when: str, why: str) -> None:
    with pytest.raises(ToolError, match=why):
        times(when)
