"""Schedules: each tick is one run, whoever sees it come, and whoever dies over it."""

from __future__ import annotations

import asyncio
import random
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from datetime import UTC, datetime
from typing import Any

import pytest

from actum import Run, Runs, errors
from actum.runs.row import Submission
from actum.runs.schedules import Missed, Schedule

from ..effort import trials
from .desks import PATIENCE, Desk, chain, serving, sql, until

pytest.importorskip("croniter")
pytestmark = pytest.mark.rule("L8")

HOUR = 3_600.0
SEVEN = datetime(2026, 11, 22, 7, tzinfo=UTC).timestamp()


def at(moment: float) -> str:
    return f"{datetime.fromtimestamp(moment, UTC):%Y-%m-%dT%H:%M:%SZ}"


async def ids(runs: Runs) -> list[str]:
    return sorted(run.id for run in await runs.list(most=10_000))


async def test_a_tick_is_one_run_with_the_schedules_idea_and_input(place: str) -> None:
    desk = Desk()
    async with Runs(place) as runs, Runs(place) as others:
        both = runs if place == ":memory:" else others
        idea = {**chain(1), "context": [{"type": "input", "input": {"n": 1}}, *chain(1)["context"]]}
        schedule = await runs.schedule("hourly", idea, cron="0 * * * *", input={"n": 2}, tenant="acme", priority=3)
        assert schedule.comes is not None
        assert schedule.comes % HOUR == 0
        assert await runs.schedules.fire(schedule.comes - 1) == schedule.comes
        assert await ids(runs) == []
        for _ in range(3):
            for opened in (runs, both):
                assert await opened.schedules.fire(schedule.comes + 1) == schedule.comes + HOUR
        (run,) = await runs.list()
        assert run.id == f"hourly@{at(schedule.comes)}"
        assert (run.row.tenant, run.row.priority) == ("acme", 3)
        async with serving(runs, desk.agent()):
            assert (await run.result(timeout=PATIENCE)).output == "go."
        assert (await run.context()).get("†input.n") == 2
        await runs.schedules.fire(schedule.comes + HOUR)
        assert await ids(runs) == [f"hourly@{at(schedule.comes + n * HOUR)}" for n in range(2)]


async def test_a_worker_submits_and_carries_out_what_ticks(place: str) -> None:
    desk = Desk()
    async with Runs(place) as runs:
        await runs.schedule("now", chain(1), cron="* * * * * *")
        async with serving(runs, desk.agent(), lease=1.5):
            await until(lambda: _enough(runs, 2))


async def _enough(runs: Runs, count: int) -> bool:
    return len(await runs.list(state="done")) >= count


@pytest.mark.parametrize(
    ("missed", "away", "expected"),
    [
        ("skip", 3 * HOUR + 30, [3]),  # the last one is on time
        ("skip", 3 * HOUR + 600, []),
        ("once", 3 * HOUR + 30, [3]),
        ("once", 3 * HOUR + 600, [3]),
        ("once", 30, [0]),
        ("all", 3 * HOUR + 600, [0, 1, 2, 3]),
        ("all", 3 * HOUR + 30, [0, 1, 2, 3]),
        ("all", 1_000 * HOUR + 600, [*range(991, 1_001)]),  # bounded
    ],
)
def test_ticks_that_were_missed_are_made_up_for_by_policy(missed: Missed, away: float, expected: list[int]) -> None:
    run = Submission(id="daily", idea={})
    schedule = Schedule(name="s", cron="0 * * * *", zone="UTC", run=run, missed=missed, most=10, dealt=SEVEN - 1)
    assert schedule.due(SEVEN + away) == [SEVEN + n * HOUR for n in expected]


def test_a_long_time_away_from_a_schedule_of_every_second_costs_little() -> None:
    run = Submission(id="daily", idea={})
    for missed, count in (("skip", 60), ("once", 60), ("all", 70)):
        schedule = Schedule(name="s", cron="* * * * * *", zone="UTC", run=run, missed=missed, most=10, dealt=0.0)  # pyright: ignore[reportArgumentType] -- one of them
        assert len(schedule.due(SEVEN)) == count


def test_jitter_is_within_its_bound_and_the_same_by_every_worker() -> None:
    run = Submission(id="daily", idea={})
    schedule = Schedule(name="s", cron="0 * * * *", zone="UTC", run=run, jitter=100)
    begins = [schedule.submission(int(SEVEN + n * HOUR)).at for n in range(50)]
    assert begins == [schedule.submission(int(SEVEN + n * HOUR)).at for n in range(50)]
    late = [begin - SEVEN - n * HOUR for n, begin in enumerate(begins) if begin is not None]
    assert len(late) == 50
    assert all(0 <= delay <= 100 for delay in late)
    assert max(late) - min(late) > 50


async def test_a_schedule_is_listed_changed_paused_and_removed(place: str) -> None:
    async with Runs(place) as runs:
        first = await runs.schedule("a", chain(1), cron="0 7 * * *", zone="Europe/Lisbon", missed="all", most=3)
        await runs.schedule("b", chain(1), cron="0 0 29 2 *")
        assert [schedule.name for schedule in await runs.schedules.list()] == ["a", "b"]
        assert await runs.schedules.get("a") == first
        changed = await runs.schedule("a", chain(2), cron="0 7 * * *", zone="Europe/Lisbon")
        assert (changed.dealt, changed.comes, changed.missed) == (first.dealt, first.comes, "once")
        assert first.comes is not None
        await runs.schedules.pause("a")
        assert (await runs.schedules.get("a")).is_paused
        await runs.schedules.fire(first.comes + 60)
        assert await ids(runs) == []
        await runs.schedules.go_on("a")
        again = await runs.schedules.get("a")
        assert (again.is_paused, again.comes) == (False, first.comes)
        other = await runs.schedule("a", chain(1), cron="0 8 * * *", zone="Europe/Lisbon")
        assert other.comes != first.comes
        await runs.schedules.remove("a")
        assert [schedule.name for schedule in await runs.schedules.list()] == ["b"]
        for call in (runs.schedules.remove, runs.schedules.pause, runs.schedules.go_on, runs.schedules.get):
            with pytest.raises(errors.RunError, match="there is no schedule a"):
                await call("a")


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"cron": "bogus"}, "can't be read"),
        ({"zone": "Lisbon"}, "no time zone"),
        ({"cron": "0 0 30 2 *"}, "never ticks again"),
        ({"name": "a b"}, "the id of a run"),
        ({"name": "a" * 171}, "the name of a schedule"),
        ({"missed": "some"}, "skip, once, all"),
        ({"most": 0}, "`most` is a whole number from 1 to"),
        ({"grace": 0}, "grace is a number from 1 to"),
    ],
    ids=str,
)
async def test_what_is_wrong_with_a_schedule_is_said_where_it_is_made(wrong: dict[str, Any], words: str) -> None:
    given: dict[str, Any] = {"name": "a", "cron": "0 7 * * *", "zone": "UTC", **wrong}
    async with Runs(":memory:") as runs:
        with pytest.raises(errors.RunError, match=words):
            await runs.schedule(given.pop("name"), chain(1), **given)
        assert await runs.schedules.list() == []


async def test_a_schedule_that_a_worker_cant_read_is_left_to_others_and_holds_up_none() -> None:
    async with Runs(":memory:") as runs:
        schedule = await runs.schedule("b", chain(1), cron="0 * * * *")
        await runs.schedule("a", chain(1), cron="0 * * * *")
        async with sql(runs).database.transaction() as within:
            await within.rows("UPDATE actum_schedules SET cron = 'tomorrow' WHERE name = 'a' RETURNING name")
        assert schedule.comes is not None
        assert await runs.schedules.fire(schedule.comes) == schedule.comes + HOUR
        assert await ids(runs) == [f"b@{at(schedule.comes)}"]
        assert (await runs.schedules.get("a")).comes == schedule.comes


async def test_without_croniter_schedules_say_what_to_install_and_runs_go_on(monkeypatch: pytest.MonkeyPatch) -> None:
    desk = Desk()
    monkeypatch.setitem(sys.modules, "croniter", None)
    async with Runs(":memory:") as runs:
        with pytest.raises(errors.RunError, match=r"pip install .*\[workers\]'"):
            await runs.schedule("a", chain(1), cron="0 7 * * *")
        async with serving(runs, desk.agent()):
            assert (await (await runs.submit(chain(1))).result(timeout=PATIENCE)).output == "go."


@asynccontextmanager
async def looking(place: str, count: int) -> AsyncGenerator[list[Runs]]:
    """Several `Runs` of one place that look for ticks, as in several processes."""
    shared = Runs(place)
    several = [shared] * count if place == ":memory:" else [Runs(place) for _ in range(count)]
    try:
        yield several
    finally:
        for runs in {*several, shared}:
            await runs.aclose()


async def test_no_tick_is_doubled_or_missing_however_many_look_and_die_over_it(place: str) -> None:
    """Every tick comes to three at once; who is killed is cut at a place that is drawn, in the middle of it."""
    ticks, kills = trials(100, least=25), trials(30, least=10)
    seed = random.randrange(10**6)
    print(f"seed {seed}")
    drawn = random.Random(seed)
    async with looking(place, 3) as several:
        schedule = await several[0].schedule("s", chain(1), cron="* * * * *", grace=600)
        assert schedule.comes is not None
        killed_at = {drawn.randrange(ticks): drawn.randint(1, 3) for _ in range(kills)}
        for tick in range(ticks):
            looks = [asyncio.ensure_future(runs.schedules.fire(schedule.comes + 60 * tick)) for runs in several]
            for look in drawn.sample(looks, killed_at.get(tick, 0)):
                await asyncio.sleep(drawn.random() * 0.01)
                look.cancel()
            for look in looks:
                with suppress(asyncio.CancelledError):
                    await look
        await several[0].schedules.fire(schedule.comes + 60 * ticks)  # whoever comes after the last kill
        assert await ids(several[0]) == [f"s@{at(schedule.comes + 60 * n)}" for n in range(ticks + 1)]
        live = await several[0].store.queue.live(await ids(several[0]))
        assert place.endswith("kept") or live == {*await ids(several[0])}


async def test_a_run_that_is_called_after_a_tick_by_hand_is_that_tick(place: str) -> None:
    async with Runs(place) as runs:
        schedule = await runs.schedule("s", chain(1), cron="0 * * * *")
        assert schedule.comes is not None
        early: Run = await runs.submit(chain(2), id=f"s@{at(schedule.comes)}")
        await runs.schedules.fire(schedule.comes)
        assert await ids(runs) == [early.id]
