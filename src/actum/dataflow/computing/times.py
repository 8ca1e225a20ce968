"""ISO times in texts: read the same way by every version of Python, compared, moved and named without a locale."""

from __future__ import annotations

import re
from datetime import datetime, timedelta
from functools import lru_cache
from typing import Any

from .allowance import Meter
from .operands import ComputingError, bounded_number, kind, number

_DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")

_TIME = re.compile(
    r"""(?P<date>\d{4}-\d\d-\d\d)
    (?:(?P<between>[T ])(?P<minute>(?:[01]\d|2[0-3]):\d\d)(?P<second>:\d\d(?P<fraction>\.\d{1,9})?)?
    (?P<zone>Z|[+-]\d\d:?\d\d)?)?""",
    re.VERBOSE | re.ASCII,
)
"""What every version of Python reads alike."""


@lru_cache(4_096)
def moment_in(text: str) -> datetime | None:
    """The time that a text tells with its time of day, or None."""
    match = _TIME.fullmatch(text)
    return _read(match) if match and match["between"] else None


def _read(match: re.Match[str]) -> datetime | None:
    try:
        return datetime.fromisoformat(match.group())
    except ValueError:
        return None


def moments(texts: list[str]) -> list[datetime] | None:
    """The times that texts tell, if every one tells its time of day.

    Raises:
        ComputingError: some have a zone, and some have none.
    """
    times: list[datetime] = []
    for text in texts:
        at = moment_in(text)
        if at is None:
            return None
        times.append(at)
    _check_zones(times)
    return times


def _check_zones(times: list[datetime]) -> None:
    if len({at.tzinfo is None for at in times}) > 1:
        raise ComputingError("some of the times have a zone, the others have none")


def _instant(value: Any, name: str) -> tuple[datetime, re.Match[str]]:
    if not isinstance(value, str):
        raise ComputingError(f"{name} takes a time such as 2024-05-15T12:00, not {kind(value)}")
    match = _TIME.fullmatch(value)
    at = _read(match) if match else None
    if match is None or at is None:
        raise ComputingError(f"{name} takes a time, for example 2024-05-15T12:00; this text is not one")
    return at, match


def minutes(_: Meter, start: Any, end: Any) -> int | float:
    """From one time to another."""
    times = [_instant(value, "minutes()")[0] for value in (start, end)]
    _check_zones(times)
    between = (times[1] - times[0]).total_seconds() / 60
    return int(between) if between.is_integer() else between


def shift(_: Meter, time: Any, *, days: Any = 0, hours: Any = 0, minutes: Any = 0) -> str:
    """A time moved, written as it was: a day stays a day if it is moved by days."""
    at, match = _instant(time, "shift()")
    by = [bounded_number(number(value, "shift()")) for value in (days, hours, minutes)]
    try:
        moved = at.replace(tzinfo=None) + timedelta(days=by[0], hours=by[1], minutes=by[2])
    except OverflowError:
        raise ComputingError("the time is moved out of the calendar") from None
    if not match["between"] and moved.time() == at.time():
        return moved.date().isoformat()
    is_short = not match["second"] and not moved.second and not moved.microsecond
    precision = "minutes" if is_short else "milliseconds" if len(match["fraction"] or "") == 4 else "auto"
    return moved.isoformat(match["between"] or "T", precision) + (match["zone"] or "")


def weekday(_: Meter, time: Any) -> str:
    """The English name of a time's day."""
    return _DAYS[_instant(time, "weekday()")[0].weekday()]
