"""What programs hand to runs and workers: whatever it is, it is refused by name, or kept whole."""

from __future__ import annotations

import math
from datetime import UTC, datetime
from typing import Any, cast

import pytest

from actum import Context, Idea, Runs, Worker, errors

from .desks import chain

NAIVE = datetime(2030, 1, 1)
HUGE = 10**400
TEXTS: list[Any] = [5, [], b"x", "a\0b", "\ud800", "x" * 2_000]
NUMBERS: list[Any] = ["x", -1, math.nan, math.inf, HUGE, [], True]
SUBMITTED: dict[str, list[Any]] = {
    "input": [5, [], "a", [("a", 1)], {"a": object()}, {"a": math.nan}, {1: 2}, {"a": "\ud800"}, {"a": {1, 2}}],
    "id": [5, [], b"x", "", "a/b", "a\0", "../x"],
    "tenant": [*TEXTS, None],
    "queue": [*TEXTS, None, ""],
    "priority": ["x", 1.5, math.nan, 2**31, -HUGE, None, True],
    "at": [NAIVE, datetime.max.replace(tzinfo=UTC), "2030", 5, math.nan],
    "tag": [5, [], b"x", "", "a/b"],
    "patience": [*NUMBERS, 0],
    "escalate": [*TEXTS, ""],
}
SCHEDULED: dict[str, list[Any]] = {
    "name": [5, [], "", "a/b", "a\0", "x" * 171],
    "cron": [5, [], "", "x", "* * * * *\0"],
    "zone": [5, [], "", "../etc/passwd", "a\0"],
    "missed": [5, [], "never"],
    "most": ["x", 0, 1.5, math.nan, HUGE, True],
    "grace": NUMBERS,
    "jitter": NUMBERS,
    "input": [5, []],
    "priority": ["x"],
    "patience": ["x", -1],
}
LISTED: dict[str, list[Any]] = {
    "state": ["x", 5, []],
    "tenant": TEXTS,
    "before": ["x", 5],
    "most": ["x", -1, 1.5, HUGE, math.nan],
    "find": [5, None, []],
}
WORKERS: dict[str, list[Any]] = {
    "agent": [5, "x"],
    "queues": [5, "runs", ["runs"], {"a": 0}, {"a": "x"}, {5: 1}, {"a": 1.5}],
    "lease": [*NUMBERS, 0],
    "drain": NUMBERS,
    "roots": [5, "x", [5], [""]],
    "attempts": ["x", 0, 1.5],
    "name": [5, "a\0", "\ud800"],
    "tags": ["a", 5, [5]],
    "keep": [5, {"x": 1}, {"done": "x"}, {"done": math.nan}],
}
LIMITED: list[dict[str, Any]] = [
    {"tenant": 5, "runs": 1},
    {"tenant": "a\0", "runs": 1},
    {"tenant": "a", "runs": "x"},
    {"tenant": "a", "runs": 1.5},
    {"tenant": "a", "runs": HUGE},
    {"tenant": "a", "weight": math.nan},
    {"model": 5, "tokens": 1},
    {"model": "m", "requests": math.nan},
    {"model": "m", "tokens": HUGE},
]


async def test_what_can_not_be_submitted_is_refused_and_nothing_of_it_is_kept(place: str) -> None:
    ideas: list[Any] = [5, None, [], b"x", "", {"a": object()}, {"context": 5}, {1: 2}, Idea(context=Context("x"))]
    ideas[-1] = Idea(context=Context("go"), schema={"const": math.nan})
    cases = [(chain(1), {key: value}) for key, values in SUBMITTED.items() for value in values]
    async with Runs(place) as runs:
        for idea, given in [*cases, *((idea, dict[str, Any]()) for idea in ideas)]:
            more: dict[str, Any] = {"patience": 5.0} if "escalate" in given else {}
            with pytest.raises(errors.ActumError) as caught:
                await runs.submit(idea, **given, **more)
            assert len(caught.value.message) < 500, given
        assert await runs.list() == []
        for at in (datetime(1, 1, 1, tzinfo=UTC), datetime(9000, 1, 1, tzinfo=UTC)):
            await runs.submit(chain(1), at=at, priority=2**31 - 1, patience=10.0**9, tenant="x" * 1_000)
        assert len(await runs.list()) == 2


async def test_what_can_not_be_scheduled_is_refused_and_all_schedules_are_still_read(place: str) -> None:
    async with Runs(place) as runs:
        for key, values in SCHEDULED.items():
            for value in values:
                given: dict[str, Any] = {"name": "daily", "cron": "0 7 * * *", key: value}
                with pytest.raises(errors.RunError):
                    await runs.schedule(idea=chain(1), **given)
        for name in SCHEDULED["name"]:
            for use in (runs.schedules.get, runs.schedules.remove, runs.schedules.pause, runs.schedules.go_on):
                with pytest.raises(errors.RunError):
                    await use(name)
        for given in LIMITED:
            with pytest.raises(errors.RunError):
                await runs.limits.set(**given)
        assert (await runs.schedules.list(), await runs.limits.list()) == ([], [])


async def test_what_no_run_can_be_asked_or_sent_is_refused(place: str) -> None:
    async with Runs(place) as runs:
        run = await runs.submit(chain(1), id="one")
        for key, values in LISTED.items():
            for value in values:
                given: dict[str, Any] = {key: value}
                with pytest.raises(errors.RunError):
                    await runs.list(**given)
        untyped: Any = run  # as callers may that check no types
        for value in ("x", -1, None, 1.5, math.nan, HUGE):
            with pytest.raises(errors.RunError):
                untyped.follow(value)
        for value in ("x", math.nan, -1, b"x"):
            with pytest.raises(errors.RunError):
                await untyped.result(timeout=value)
        for target, ruling in ((5, "deny"), (None, "deny"), ("a\0", "deny"), ("0.0", 5), ("0.0", "maybe")):
            with pytest.raises((errors.RunError, errors.IdeaError)):
                await untyped.decide(target, ruling)
            with pytest.raises((errors.RunError, errors.IdeaError)):
                await untyped.decide_all([target], ruling)
        for places in (5, "0.0"):
            with pytest.raises(errors.RunError, match="are a list"):
                await untyped.decide_all(places, "approve")
        for name, at in ((5, None), (None, None), ("a\0", None), ("go", NAIVE), ("go", "2030")):
            with pytest.raises(errors.RunError):
                await untyped.signal(name, at=at)
        for value in (math.nan, "\ud800", {1: 2}, b"x", object()):
            with pytest.raises(errors.RunError, match="can't be sent"):
                await untyped.signal("go", value)
        with pytest.raises(errors.RunError, match="a reason"):
            await untyped.decide("0.0", "deny", reason=5)
        with pytest.raises(errors.RunError, match="the parameters of a call"):
            await untyped.decide("0.0", "approve", parameters=5)
        known = await runs.store.history("one")
        assert known is not None
        assert known.sent == []


async def test_a_worker_that_could_not_work_is_refused_where_it_is_made() -> None:
    async with Runs(":memory:") as runs:
        for key, values in WORKERS.items():
            for value in values:
                given: dict[str, Any] = {key: value}
                with pytest.raises(errors.ActumError):
                    Worker(runs, **given)
        with pytest.raises(errors.RunError, match="a worker serves Runs"):
            Worker(cast("Runs", "runs.db"))
