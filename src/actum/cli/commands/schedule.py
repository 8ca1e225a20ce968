"""`actum schedule`: have an Idea run at the ticks of a cron expression (L8)."""

from __future__ import annotations

from zoneinfo import ZoneInfo

from ...runs.row import QUEUE
from ...runs.runs import Runs
from ...runs.schedules import Missed, Schedule
from ..options import CommandError, InputFile, RunsHome, Settings, runs_at
from ..render.terminal import say
from .submit import prepared


async def actum_schedule(
    name: str | None = None,
    idea: str | None = None,
    /,
    *,
    cron: str | None = None,
    zone: str = "UTC",
    i: Settings = None,
    input: InputFile = None,
    missed: Missed = "once",
    most: int = 10,
    grace: float = 60.0,
    jitter: float = 0.0,
    store: RunsHome = None,
    tenant: str = "",
    priority: int = 0,
    queue: str = QUEUE,
    tag: str | None = None,
    patience: float | None = None,
    pause: bool = False,
    go_on: bool = False,
    remove: bool = False,
) -> None:
    """Have an Idea run again and again, at the ticks of a cron expression; without IDEA, list, pause, or remove.

    Workers submit the runs, each called NAME@TICK, so that no tick is two runs.

    Parameters
    ----------
    name
        What it is called; one of the same name is changed.
    idea
        The Idea's file, or its address. It is kept as it is now.
    cron
        When: "0 7 * * *" is every day at seven; a sixth field is for seconds.
    zone
        By whose clock, for example Europe/Lisbon.
    i
        A value of the input, as key=value; may be repeated, as for `actum run`.
    missed
        Ticks that no worker has seen come: skip them, make up for the latest once, or for all, up to --most.
    most
        How many missed ticks --missed all makes up for.
    grace
        After how many seconds a tick that no worker has seen come is missed.
    jitter
        Up to how many seconds after its tick a run begins.
    tenant
        Whose runs they are.
    priority
        Of those of a queue that could begin, one of a higher priority does first.
    queue
        The queue, for workers that take from it.
    tag
        Only for workers that have this tag.
    patience
        How many seconds a decision may take before the calls that wait for one are refused.
    pause
        Submit nothing until --go-on; what ticks meanwhile is left out.
    go_on
        Go on with one that was paused.
    remove
        End it; the runs that it has submitted stay.
    """
    changes = [option for option, is_asked in (("pause", pause), ("go_on", go_on), ("remove", remove)) if is_asked]
    _check(name, idea, cron, changes)
    if idea is None or name is None or cron is None:
        async with runs_at(store) as runs:
            if changes and name is not None:
                await getattr(runs.schedules, changes[0])(name)
            else:
                await _list(runs, name)
        return
    loaded, values = prepared(idea, i, input)
    async with runs_at(store, makes=True) as runs:
        schedule = await runs.schedule(
            name,
            loaded,
            cron=cron,
            zone=zone,
            missed=missed,
            most=most,
            grace=grace,
            jitter=jitter,
            input=values,
            tenant=tenant,
            priority=priority,
            queue=queue,
            tag=tag,
            patience=patience,
        )
        say(_describe(schedule))


def _check(name: str | None, idea: str | None, cron: str | None, changes: list[str]) -> None:
    if len(changes) > 1 or (changes and (idea is not None or name is None)):
        raise CommandError("--pause, --go-on and --remove are about one schedule, each by itself: NAME --pause")
    if (idea is None) != (cron is None):
        raise CommandError('a schedule takes an Idea and a time: actum schedule NAME IDEA --cron "0 7 * * *"')


async def _list(runs: Runs, name: str | None) -> None:
    for schedule in await runs.schedules.list() if name is None else [await runs.schedules.get(name)]:
        say(_describe(schedule))


def _describe(schedule: Schedule) -> str:
    if schedule.is_paused:
        when = "paused"
    elif schedule.next is None:
        when = "over"
    else:
        when = f"next {schedule.next.astimezone(ZoneInfo(schedule.zone)).isoformat(timespec='seconds')}"
    return f"{schedule.name}  {schedule.cron} {schedule.zone}  {when}"
