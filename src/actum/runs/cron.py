"""The ticks of a cron expression in a time zone: which moments it means, forwards and backwards, by croniter.

A schedule for fixed hours ticks once at each of its times by the zone's clock: if the clock skips a time, right after
the skip; if a time comes twice, the first time. A schedule for every hour goes on through both.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

from ..errors import RunError
from ..schema.installing import pip_install

_DAY = 86_400
_EPOCH = datetime(1970, 1, 1)
_DRAWN = re.compile(r"(?:^|[\s,])[hr](?:[(/,\s]|$)", re.IGNORECASE)
"""An element that croniter draws at random, so that two workers would get different ticks."""


class Cron:
    """When a schedule ticks, in whole seconds since the epoch; `local` is what the zone's clock shows then.

    Raises:
        RunError: the expression or the zone can't be read, or croniter isn't installed.
    """

    def __init__(self, text: str, zone: str = "UTC") -> None:
        self._text = text
        self._croniter = _croniter()
        self._zone = _zone(zone)
        if _DRAWN.search(text):
            raise RunError(f"cron {text!r}: what is drawn (H, R) differs between workers; name the times")
        try:
            fields, _ = self._croniter.expand(text)
        except (ValueError, TypeError, AttributeError, LookupError) as error:
            raise RunError(f'cron {text!r} can\'t be read: {error}; every day at seven is "0 7 * * *"') from None
        hours = fields[1]
        self._is_hourly = hours == ["*"] or len(hours) == 24

    def after(self, moment: float) -> int | None:
        """The first tick after a moment; None if none comes any more."""
        start, is_over = int(moment // 1), True
        while True:
            offset = self._offset(start)
            local = self._next(start + offset - (not is_over))
            if local is None:
                return None
            tick = local - offset
            change = self._change(start, tick)
            if change is not None and self._skips(change):
                return change
            if change is None and self._counts(tick):
                return tick
            start, is_over = (tick, True) if change is None else (change, False)

    def between(self, after: float, until: float, most: int) -> list[int]:
        """The ticks after a moment and until another one; at most so many, the latest."""
        ticks: list[int] = []
        end = int(until // 1)
        while len(ticks) < most and end > after:
            offset = self._offset(end)
            local = self._next(end + offset + 1, "get_prev")
            tick = int(after) if local is None else max(local - offset, int(after))
            change = self._change(end, tick)
            if change is None and tick > after and self._counts(tick):
                ticks.append(tick)
            if change is not None and change > after and self._skips(change):
                ticks.append(change)
            end = (tick if change is None else change) - 1
        return ticks[::-1]

    # What the clock shows

    def _offset(self, moment: int) -> int:
        offset = datetime.fromtimestamp(moment, self._zone).utcoffset()
        return int(offset.total_seconds()) if offset is not None else 0

    def _counts(self, tick: int) -> bool:
        """Whether the clock shows the time of a tick for the first time."""
        return self._is_hourly or datetime.fromtimestamp(tick, self._zone).fold == 0

    def _skips(self, change: int) -> bool:
        """Whether the clock skips a tick at a change."""
        first, behind = change + self._offset(change - 1), change + self._offset(change)
        skipped = None if self._is_hourly or first >= behind else self._next(first - 1)
        return skipped is not None and skipped < behind

    def _change(self, start: int, end: int) -> int | None:
        """The change of the clock between two moments that is nearest to the first; None if there is none.

        Changes are more than a day apart.
        """
        step = _DAY if end > start else -_DAY
        offset = self._offset(start)
        while start != end:
            moment = end if abs(end - start) <= _DAY else start + step
            if self._offset(moment) != offset:
                return self._begins(*sorted((start, moment)))
            start = moment
        return None

    def _begins(self, before: int, behind: int) -> int:
        """When the offset of the second moment begins, which the first doesn't have yet."""
        new = self._offset(behind)
        while behind - before > 1:
            middle = (before + behind) // 2
            before, behind = (before, middle) if self._offset(middle) == new else (middle, behind)
        return behind

    # What the expression says

    def _next(self, local: int, where: str = "get_next") -> int | None:
        from croniter import CroniterBadDateError

        try:
            moment: datetime = getattr(self._croniter(self._text, _EPOCH + timedelta(seconds=local)), where)(datetime)
        except (CroniterBadDateError, OverflowError):
            return None
        return round((moment - _EPOCH).total_seconds())


def moment_of(tick: float) -> datetime:
    """A tick as a time."""
    return datetime.fromtimestamp(tick, UTC)


def _croniter() -> Any:
    try:
        from croniter import croniter
    except ImportError:
        raise RunError(f"schedules need croniter: {pip_install('workers')}") from None
    return croniter


def _zone(name: str) -> ZoneInfo:
    try:
        return ZoneInfo(name)
    except (OSError, ValueError, LookupError):
        raise RunError(f"there is no time zone {name!r}; Europe/Lisbon, for example, is one") from None
