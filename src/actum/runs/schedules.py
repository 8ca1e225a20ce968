"""Schedules: runs submitted at the ticks of a cron expression, by whichever worker sees a tick first.

A run is named after its schedule and its tick, and is submitted in the transaction that notes the tick as handled. So
no tick makes two runs, however many workers look, and a tick that a worker died over is left for the next one.
"""

from __future__ import annotations

import logging
import random
from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields, replace
from datetime import datetime
from typing import Any, Literal, TypeAlias, get_args

from ..errors import RunError
from ..schema.json import JsonObject, encode
from . import checks
from .cron import Cron, moment_of
from .database import Transaction, time_of
from .row import Submission, check_id
from .run_store import RunStore
from .sql_rows import kept_object

_LOG = logging.getLogger("actum.worker")
Missed: TypeAlias = Literal["skip", "once", "all"]
"""What becomes of missed ticks: none is made up for, or the latest, or all, up to a limit."""
_LONGEST_NAME = 170
"""How long a name may be, so that with a tick it can be the id of a run."""
_MOST_AT_ONCE = 1_000
"""How many punctual ticks are handled at once."""
_COLUMNS = "name, cron, zone, policy, run, dealt, comes, is_paused"
_ANEW = ", ".join(f"{name} = excluded.{name}" for name in _COLUMNS.split(", ")[1:])
_POLICY = ("missed", "most", "grace", "jitter")


@dataclass(frozen=True, slots=True, kw_only=True)
class Schedule:
    """When runs of an Idea are submitted, and how they stand among others (`run`)."""

    name: str
    cron: str
    zone: str
    run: Submission
    missed: Missed = "once"
    most: int = 10
    """How many ticks that were missed are made up for by "all"."""
    grace: float = 60.0
    """After how many seconds a tick that no worker has seen counts as missed."""
    jitter: float = 0.0
    """Up to how many seconds after its tick a run begins; how many is drawn for each tick, the same by every worker."""
    is_paused: bool = False
    dealt: float = 0.0
    """Until when all ticks have been handled, in seconds since the epoch."""
    comes: float | None = None
    """The next tick, in seconds since the epoch; None if none comes any more."""

    @property
    def next(self) -> datetime | None:
        """When it ticks next, unless it is paused; None if it never does again."""
        return None if self.comes is None else moment_of(self.comes)

    def due(self, now: float) -> list[int]:
        """The ticks that runs are to be submitted for now."""
        cron = Cron(self.cron, self.zone)
        late = now - self.grace
        on_time = cron.between(max(self.dealt, late), now, _MOST_AT_ONCE)
        if self.missed == "skip" or (on_time and self.missed == "once"):
            return on_time
        most = 1 if self.missed == "once" else self.most
        return [*cron.between(self.dealt, min(late, now), most), *on_time]

    def submission(self, tick: int) -> Submission:
        """The run of a tick."""
        drawn = random.Random(f"{self.name} {tick}").random()
        begins = tick + drawn * self.jitter if self.jitter else None
        return replace(self.run, id=f"{self.name}@{moment_of(tick):%Y-%m-%dT%H:%M:%SZ}", at=begins)


class Schedules:
    """The schedules of the runs of a place: they are listed, paused and removed here, and looked at by workers."""

    def __init__(self, store: RunStore) -> None:
        self._store = store
        self._passed_over: set[str] = set()
        """Those that can't be read here; other workers may be able to."""

    async def add(self, schedule: Schedule) -> Schedule:
        """Begin a schedule, or change the one of its name, whose ticks go on unless they are others now.

        Raises:
            RunError: it can't be read, or it never ticks.
        """
        _check(schedule)
        cron = Cron(schedule.cron, schedule.zone)
        async with self._store.database.transaction() as within:
            now = await time_of(within)
            before = await self._find(within, schedule.name)
            if before is not None and (before.cron, before.zone) == (schedule.cron, schedule.zone):
                new = replace(schedule, dealt=before.dealt, comes=before.comes, is_paused=before.is_paused)
            else:
                new = replace(schedule, dealt=now, comes=cron.after(now))
            if new.comes is None:
                raise RunError(f"cron {new.cron!r}: it never ticks again")
            await within.rows(
                f"INSERT INTO actum_schedules ({_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?) "
                f"ON CONFLICT (name) DO UPDATE SET {_ANEW} RETURNING name",
                *_values(new),
            )
        return new

    async def get(self, name: str) -> Schedule:
        """The schedule of a name.

        Raises:
            RunError: there is none.
        """
        async with self._store.database.transaction() as within:
            return _existing(await self._find(within, check_id(name)), name)

    async def list(self) -> Sequence[Schedule]:
        """All of them, by name."""
        rows = await self._store.database.single(f"SELECT {_COLUMNS} FROM actum_schedules ORDER BY name")
        return [_schedule_from(values) for values in rows]

    async def remove(self, name: str) -> None:
        """End a schedule; the runs that it has submitted stay.

        Raises:
            RunError: there is none of this name.
        """
        statement = "DELETE FROM actum_schedules WHERE name = ? RETURNING name"
        if not await self._store.database.single(statement, check_id(name)):
            raise RunError(f"there is no schedule {name}")

    async def pause(self, name: str) -> None:
        """Let it submit nothing until `go_on`. What ticks meanwhile is not missed, but left out.

        Raises:
            RunError: there is none of this name.
        """
        await self._set_paused(name, is_paused=True)

    async def go_on(self, name: str) -> None:
        """Go on with one that was paused, from now on.

        Raises:
            RunError: there is none of this name.
        """
        await self._set_paused(name, is_paused=False)

    async def _set_paused(self, name: str, *, is_paused: bool) -> None:
        async with self._store.database.transaction() as within:
            now = await time_of(within)
            schedule = _existing(await self._find(within, check_id(name), self._store.database.update), name)
            if schedule.is_paused != is_paused:
                comes = schedule.comes if is_paused else Cron(schedule.cron, schedule.zone).after(now)
                await self._note(within, replace(schedule, is_paused=is_paused, dealt=now, comes=comes))

    # Ticks

    async def look(self) -> tuple[float, float | None]:
        """The time by the clock of the place, and when a schedule ticks next; None if none does."""
        query = "SELECT now(), min(comes) FROM actum_schedules WHERE is_paused = 0"
        now, comes = (await self._store.database.single(query))[0]
        return now, comes

    async def fire(self, now: float) -> float | None:
        """Submit the runs of all ticks that are due, and of those that were missed as far as they are made up for.

        Returns:
            When the next one comes, None if none does.
        """
        while await self._fire_one(now):
            pass
        marks = ", ".join("?" * len(self._passed_over)) or "''"
        rows = await self._store.database.single(
            f"SELECT min(comes) FROM actum_schedules WHERE is_paused = 0 AND name NOT IN ({marks})",
            *self._passed_over,
        )
        return rows[0][0]

    async def _fire_one(self, now: float) -> bool:
        """Handle one schedule that is due, unless another worker does; return whether there was one."""
        locked = f"{self._store.database.update} SKIP LOCKED" if self._store.database.update else ""
        marks = ", ".join("?" * len(self._passed_over)) or "''"
        async with self._store.database.transaction() as within:
            rows = await within.rows(
                f"SELECT {_COLUMNS} FROM actum_schedules WHERE is_paused = 0 AND comes <= ? "
                f"AND name NOT IN ({marks}) ORDER BY comes LIMIT 1{locked}",
                now,
                *self._passed_over,
            )
            if not rows:
                return False
            try:
                schedule = _schedule_from(rows[0])
                due, comes = schedule.due(now), Cron(schedule.cron, schedule.zone).after(now)
            except RunError as error:
                self._passed_over.add(rows[0][0])
                _LOG.warning("schedule %s is left to other workers: %s", rows[0][0], error.message)
                return True
            for tick in due:
                await self._store.submit(schedule.submission(tick), within)
            await self._note(within, replace(schedule, dealt=now, comes=comes))
        return True

    async def _note(self, within: Transaction, schedule: Schedule) -> None:
        await within.rows(
            "UPDATE actum_schedules SET dealt = ?, comes = ?, is_paused = ? WHERE name = ? RETURNING name",
            schedule.dealt,
            schedule.comes,
            int(schedule.is_paused),
            schedule.name,
        )

    @staticmethod
    async def _find(within: Transaction, name: str, locked: str = "") -> Schedule | None:
        rows = await within.rows(f"SELECT {_COLUMNS} FROM actum_schedules WHERE name = ?{locked}", name)
        return _schedule_from(rows[0]) if rows else None


def _check(schedule: Schedule) -> None:
    if len(check_id(schedule.name)) > _LONGEST_NAME:
        raise RunError(f"the name of a schedule is up to {_LONGEST_NAME} characters long")
    checks.as_choice(schedule.missed, "what becomes of missed ticks", get_args(Missed))
    checks.as_whole(schedule.most, "`most`", least=1)
    checks.as_number(schedule.grace, "a schedule's grace", least=1.0)
    checks.as_number(schedule.jitter, "a schedule's jitter")
    checks.as_text(schedule.cron, "a cron expression", least=1)
    checks.as_text(schedule.zone, "a time zone", least=1)


def _values(schedule: Schedule) -> list[Any]:
    policy = {name: getattr(schedule, name) for name in _POLICY}
    times = [schedule.dealt, schedule.comes, int(schedule.is_paused)]
    return [schedule.name, schedule.cron, schedule.zone, encode(policy), encode(asdict(schedule.run)), *times]


def _schedule_from(values: Sequence[Any]) -> Schedule:
    name, cron, zone, policy, run, dealt, comes, is_paused = values
    members: JsonObject = kept_object(run)
    names = {field.name for field in fields(Submission)}  # a newer Actum may have written more
    settings: Any = {key: value for key, value in kept_object(policy).items() if key in _POLICY}
    submission = Submission(**{key: value for key, value in members.items() if key in names})
    times = {"dealt": dealt, "comes": comes, "is_paused": bool(is_paused)}
    return Schedule(name=name, cron=cron, zone=zone, run=submission, **times, **settings)


def _existing(schedule: Schedule | None, name: str) -> Schedule:
    if schedule is None:
        raise RunError(f"there is no schedule {name}")
    return schedule
