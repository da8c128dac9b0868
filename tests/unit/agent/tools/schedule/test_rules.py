"""The next times of what repeats, across clock changes."""

import math
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.errors import ToolError
from agent.tools.schedule.rules import (
    MOST_COUNTED,
    Cron,
    Days,
    Every,
    Once,
    Rule,
    cron,
    following,
    in_words,
    read,
    times_between,
    upcoming,
    written,
)
from agent.tools.schedule.zones import ZoneError, instant, shown_time, wall_time, zone_of

BERLIN = ZoneInfo("Europe/Berlin")
ZONES = [
    ZoneInfo(name)
    for name in (
        *("UTC", "Europe/Berlin", "America/New_York", "Asia/Kathmandu", "Australia/Lord_Howe"),
        *("Africa/Cairo", "Africa/Casablanca", "America/Santiago", "Antarctica/Troll"),
    )
]
START, END = (
    datetime(2024, 1, 1, tzinfo=UTC).timestamp(),
    datetime(2032, 1, 1, tzinfo=UTC).timestamp(),
)
MOMENTS = st.floats(START, END).map(lambda at: round(at, 3))
LINES = st.sampled_from(
    [
        "0 9 * * *",
        "*/5 * * * *",
        "30 2 * * *",
        "0,30 2 * * 0",
        "0 * * * *",
        "15 1-3 * * *",
        "0 0 * * *",
        "59 23 28-31 * *",
        "0 9 29 2 *",
        "0 9 * * 1-5",
        "0 9 L * *",
        "* 2 * * *",
    ]
)
RULES: st.SearchStrategy[Rule] = st.one_of(
    st.builds(Once, MOMENTS),
    st.builds(Every, st.integers(60, 10**7), MOMENTS),
    st.builds(
        Days,
        st.integers(1, 400),
        st.datetimes(datetime(2024, 1, 1), datetime(2030, 1, 1)).map(
            lambda at: at.replace(microsecond=0)
        ),
    ),
    LINES.map(Cron),
)


def walls(rule: Rule, since: str, number: int, zone: ZoneInfo = BERLIN) -> list[str]:
    """As clocks show them, with the distance from UTC."""
    first = following(rule, zone, instant(datetime.fromisoformat(since), zone))
    assert first is not None
    times = upcoming(rule, zone, first, number)
    return [datetime.fromtimestamp(at, zone).strftime("%d %H:%M %z") for at in times]


def test_a_day_keeps_its_time_of_day_when_clocks_change() -> None:
    daily = Days(1, datetime(2027, 3, 26, 9))
    assert walls(daily, "2027-03-26 10:00", 3) == [
        "27 09:00 +0100",
        "28 09:00 +0200",
        "29 09:00 +0200",
    ]
    in_autumn = Days(1, datetime(2026, 10, 24, 9))
    assert walls(in_autumn, "2026-10-24 08:00", 2) == ["24 09:00 +0200", "25 09:00 +0100"]


def test_a_time_that_clocks_skip_is_moved_on_that_day_alone() -> None:
    daily = Days(1, datetime(2027, 3, 27, 2, 30))
    assert walls(daily, "2027-03-27 00:00", 3) == [
        "27 02:30 +0100",
        "28 03:30 +0200",
        "29 02:30 +0200",
    ]


def test_of_a_time_that_comes_twice_the_first_is_taken_and_only_that() -> None:
    for rule in (Days(1, datetime(2026, 10, 24, 2, 30)), Cron("30 2 * * *")):
        assert walls(rule, "2026-10-24 12:00", 2) == ["25 02:30 +0200", "26 02:30 +0100"]


def test_hours_keep_their_distance_when_clocks_change() -> None:
    rule = Every(7200, instant(datetime(2026, 10, 25, 0, 0), BERLIN))
    assert walls(rule, "2026-10-24 23:59", 3) == [
        "25 00:00 +0200",
        "25 02:00 +0200",
        "25 03:00 +0100",
    ]


def test_a_cron_line_at_a_skipped_time_comes_right_after_the_gap() -> None:
    assert walls(Cron("30 2 * * *"), "2027-03-27 12:00", 2) == ["28 03:00 +0200", "29 02:30 +0200"]


def test_a_cron_line_with_a_star_follows_the_clock() -> None:
    assert walls(Cron("*/30 2 * * *"), "2027-03-27 12:00", 1) == ["29 02:00 +0200"]
    assert walls(Cron("*/30 2 * * *"), "2026-10-24 12:00", 4) == [
        "25 02:00 +0200",
        "25 02:30 +0200",
        "25 02:00 +0100",
        "25 02:30 +0100",
    ]


def test_within_the_doubled_hour_nothing_that_is_over_comes_again() -> None:
    second_time = datetime(2026, 10, 25, 2, 10, tzinfo=BERLIN, fold=1).timestamp()
    at = following(Cron("0,30 2 * * *"), BERLIN, second_time)
    assert at is not None
    assert wall_time(at, BERLIN) == datetime(2026, 10, 26, 2, 0)


@given(RULES, st.sampled_from(ZONES), MOMENTS)
def test_the_next_time_is_the_first_that_is_later(rule: Rule, zone: ZoneInfo, now: float) -> None:
    at = following(rule, zone, now)
    if at is None:
        assert isinstance(rule, Once)
        return
    assert at > now
    # Nothing lies between: whoever asks from there finds the same.
    for part in (0.25, 0.5, 0.999):
        assert following(rule, zone, now + (at - now) * part) == at
    assert following(rule, zone, math.nextafter(at, 0)) == at


@given(RULES, st.sampled_from(ZONES), MOMENTS, st.floats(0, 20 * 86_400))
def test_times_are_counted_as_they_come(
    rule: Rule, zone: ZoneInfo, since: float, span: float
) -> None:
    until, found, at = since + span, 0, since
    while found <= MOST_COUNTED and (at_ := following(rule, zone, at)) is not None and at_ <= until:
        found, at = found + 1, at_
    assert times_between(rule, zone, since, until) == found


@given(RULES)
def test_a_rule_is_read_as_it_was_written(rule: Rule) -> None:
    assert read(written(rule)) == rule
    assert in_words(rule)


@pytest.mark.parametrize("stored", ["", "never", "once", "every x y", "days 1", "cron 1 2"])
def test_what_is_no_rule_is_refused(stored: str) -> None:
    with pytest.raises((ValueError, ToolError)):
        read(stored)


@pytest.mark.parametrize(
    "line", ["", "* * * *", "60 * * * *", "0 9 * * *" + ",1" * 60, "٣ 9 * * *", "a b c d e"]
)
def test_a_broken_cron_line_is_refused(line: str) -> None:
    with pytest.raises(ToolError):
        cron(line)


@pytest.mark.parametrize(
    ("typed", "name"),
    [
        ("Europe/Berlin", "Europe/Berlin"),
        (" europe/berlin ", "Europe/Berlin"),
        ("new york", "America/New_York"),
        ("utc", "UTC"),
        ("Berlin", "Europe/Berlin"),
    ],
)
def test_a_zone_is_found_however_it_is_typed(typed: str, name: str) -> None:
    assert zone_of(typed).key == name


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("Europe/Berln", "Europe/Berlin"),
        ("Lodon", "London"),
        ("../../etc/passwd", "no time zone"),
        ("", "no time zone"),
    ],
)
def test_a_zone_that_is_none_is_refused_with_what_was_meant(typed: str, meant: str) -> None:
    with pytest.raises(ZoneError, match=meant):
        zone_of(typed)


@given(st.text())
def test_whatever_is_typed_is_a_zone_or_a_fault(typed: str) -> None:
    try:
        assert zone_of(typed).key
    except ZoneError as error:
        assert str(error)


def test_a_time_is_shown_in_full() -> None:
    at = instant(datetime(2026, 11, 23, 9), BERLIN)
    assert shown_time(at, BERLIN) == "Monday, 23 November 2026, 09:00 (Europe/Berlin, UTC+01:00)"
    kathmandu, utc = ZoneInfo("Asia/Kathmandu"), ZoneInfo("UTC")
    assert shown_time(at + 5, utc) == "Monday, 23 November 2026, 08:00:05 (UTC)"
    assert shown_time(at, kathmandu).endswith("13:45 (Asia/Kathmandu, UTC+05:45)")
    west = shown_time(at, ZoneInfo("America/St_Johns"))
    assert west.endswith("04:30 (America/St_Johns, UTC-03:30)")


def test_ten_years_of_days_end_with_the_calendar() -> None:
    at = (datetime(9999, 12, 30, tzinfo=UTC) - timedelta(days=1)).timestamp()
    assert following(Days(3000, datetime(2026, 1, 1)), ZoneInfo("UTC"), at) is None
