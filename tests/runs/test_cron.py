"""The ticks of a cron expression by the clock of a zone, where that jumps, too (judged minute by minute)."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from actum import errors
from actum.runs.cron import Cron, moment_of

from ..effort import trials

pytest.importorskip("croniter")

CHANGES = {
    "Europe/Lisbon": ("2026-03-29", "2026-10-25"),
    "America/New_York": ("2026-03-08", "2026-11-01"),
    "Australia/Lord_Howe": ("2026-04-04", "2026-10-03"),  # by half an hour
    "America/Santiago": ("2026-04-04", "2026-09-05"),  # at midnight
    "Asia/Kolkata": ("2026-06-01",),
}


def local_times(ticks: list[int], zone: str) -> list[str]:
    return [datetime.fromtimestamp(tick, ZoneInfo(zone)).isoformat(timespec="minutes") for tick in ticks]


def ticks(cron: str, zone: str, day: str, days: int = 1) -> list[str]:
    begin = datetime.fromisoformat(day).replace(tzinfo=ZoneInfo(zone))
    end = (datetime.fromisoformat(day) + timedelta(days=days)).replace(tzinfo=ZoneInfo(zone))
    return local_times(Cron(cron, zone).between(begin.timestamp() - 1, end.timestamp() - 1, 1_000), zone)


@pytest.mark.parametrize(
    ("cron", "zone", "day", "expected"),
    [
        ("0 7 * * *", "Europe/Lisbon", "2026-01-05", ["2026-01-05T07:00+00:00"]),
        ("0 7 * * *", "Europe/Lisbon", "2026-07-05", ["2026-07-05T07:00+01:00"]),
        ("30 1 * * *", "Europe/Lisbon", "2026-03-29", ["2026-03-29T02:00+01:00"]),  # 01:30 is skipped
        ("0 1,2 * * *", "Europe/Lisbon", "2026-03-29", ["2026-03-29T02:00+01:00"]),  # 01:00 is 02:00 on that day
        ("30 1 * * *", "Europe/Lisbon", "2026-10-25", ["2026-10-25T01:30+01:00"]),  # and here it comes twice
        ("*/30 1-2 * * *", "Europe/Lisbon", "2026-03-29", ["2026-03-29T02:00+01:00", "2026-03-29T02:30+01:00"]),
    ],
)
def test_a_time_ticks_once_a_day_by_its_clock(cron: str, zone: str, day: str, expected: list[str]) -> None:
    assert ticks(cron, zone, day) == expected


def test_a_schedule_for_every_hour_goes_on_through_a_change() -> None:
    both = ticks("0 * * * *", "Europe/Lisbon", "2026-10-25"), ticks("0 * * * *", "Europe/Lisbon", "2026-03-29")
    assert [len(day) for day in both] == [25, 23]
    assert [tick for tick in both[0] if "T01" in tick] == ["2026-10-25T01:00+01:00", "2026-10-25T01:00+00:00"]


MINUTES = {"0": {0}, "30": {30}, "15,45": {15, 45}, "*/20": {0, 20, 40}, "*": {*range(60)}, "59": {59}}
HOURS = {"*": {*range(24)}, "1": {1}, "2": {2}, "0-3": {*range(4)}, "1,23": {1, 23}, "*/2": {*range(0, 24, 2)}}
DAYS = {"*": {*range(1, 32)}, "1,4,29": {1, 4, 29}, "*/2": {*range(1, 32, 2)}}


@settings(max_examples=trials(600, least=30), deadline=None)
@given(
    minute=st.sampled_from([*MINUTES]),
    hour=st.sampled_from([*HOURS]),
    day=st.sampled_from([*DAYS]),
    zone=st.sampled_from([*CHANGES]),
    change=st.integers(0, 1),
)
@example(minute="30", hour="2", day="*", zone="Australia/Lord_Howe", change=1)
@example(minute="0", hour="0-3", day="*", zone="America/Santiago", change=1)
@example(minute="*", hour="1", day="*", zone="Europe/Lisbon", change=0)
def test_ticks_are_what_the_clock_shows_minute_by_minute(
    minute: str, hour: str, day: str, zone: str, change: int
) -> None:
    def matches(moment: datetime) -> bool:
        return moment.minute in MINUTES[minute] and moment.hour in HOURS[hour] and moment.day in DAYS[day]

    text, zone_info = f"{minute} {hour} {day} * *", ZoneInfo(zone)
    at = CHANGES[zone][change % len(CHANGES[zone])]
    begin = int(datetime.fromisoformat(at).replace(tzinfo=UTC).timestamp()) - 86_400
    end = begin + 3 * 86_400
    expected: list[int] = []
    clock_times: set[datetime] = set()
    before = datetime.fromtimestamp(begin - 60, zone_info).replace(tzinfo=None)
    for moment in range(begin, end, 60):
        local = datetime.fromtimestamp(moment, zone_info).replace(tzinfo=None, fold=0)
        skipped = [before + timedelta(minutes=n) for n in range(1, max(1, int((local - before).total_seconds() // 60)))]
        is_due = matches(local) or (hour != "*" and any(map(matches, skipped)))
        if is_due and (hour == "*" or local not in clock_times):
            expected.append(moment)
        clock_times.add(local)
        before = local
    cron = Cron(text, zone)
    assert local_times(cron.between(begin - 1, end - 1, 10_000), zone) == local_times(expected, zone)
    assert cron.between(begin - 1, end - 1, 7) == expected[-7:]
    following: list[int] = []
    moment = cron.after(begin - 0.5)
    while moment is not None and moment < end:
        following.append(moment)
        moment = cron.after(moment + 0.25)
    assert local_times(following, zone) == local_times(expected, zone)


def test_what_comes_rarely_or_never_any_more_is_found_or_known() -> None:
    leap = Cron("0 0 29 2 *", "Europe/Lisbon")
    first = leap.after(datetime(2026, 1, 1, tzinfo=UTC).timestamp())
    assert first is not None
    assert moment_of(first) == datetime(2028, 2, 29, tzinfo=UTC)
    assert leap.between(0, first - 1, 2) == [datetime(year, 2, 29, tzinfo=UTC).timestamp() for year in (2020, 2024)]
    assert Cron("0 0 30 2 *").after(0) is None
    assert Cron("0 0 30 2 *").between(0, 10**9, 5) == []


@pytest.mark.parametrize(
    ("cron", "zone", "words"),
    [
        ("0 25 * * *", "UTC", "can't be read"),
        ("daily", "UTC", "can't be read"),
        ("", "UTC", "can't be read"),
        ("R * * * *", "UTC", "differs between workers"),
        ("0 h(1-5) * * *", "UTC", "differs between workers"),
        ("0 7 * * *", "Europe/Lisboa", "no time zone 'Europe/Lisboa'"),
        ("0 7 * * *", "../../etc/passwd", "no time zone"),
        ("0 7 * * *", "", "no time zone"),
    ],
)
def test_what_is_wrong_with_a_schedule_is_said(cron: str, zone: str, words: str) -> None:
    with pytest.raises(errors.RunError, match=words):
        Cron(cron, zone)


def test_names_of_days_and_months_are_no_drawn_elements() -> None:
    assert ticks("0 7 * mar thu", "UTC", "2026-03-05") == ["2026-03-05T07:00+00:00"]
