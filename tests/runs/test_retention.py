"""Runs that are over are kept by policy, written as files, and gone on from (L8, X5)."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from actum import Runs, errors, kept, models
from actum.runs.retention import sweep_runs
from actum.runs.sql_store import SqlStore

from .desks import PATIENCE, Desk, chain, plan, serving, sql, until

pytestmark = pytest.mark.rule("L8")
DAY = 86_400.0


async def test_runs_that_were_over_for_longer_than_they_are_kept_are_deleted_with_their_records(
    place: str,
) -> None:
    desk = Desk()
    async with Runs(place) as runs:
        done = await runs.submit(chain(2), id="done")
        failed = await runs.submit(plan({"_tool": "fail", "of": "a"}, output="†calls.0"), id="failed")
        waits = await runs.submit(plan({"_tool": "step", "of": "†state.approvals.x"}, output="†calls.0"), id="waits")
        queued = await runs.submit(chain(1), id="queued", queue="nobody's")
        cancelled = await runs.submit(chain(1), id="gone", queue="nobody's")
        await cancelled.cancel()
        async with serving(runs, desk.agent()):
            for run in (done, failed, waits):
                await until(lambda run=run: _has_settled(runs, run.id))
        now = time.time()
        assert await sweep_runs(runs.store, {"done": 1, "failed": 3, "cancelled": 1}, now + DAY / 2) == 0
        assert await sweep_runs(runs.store, {"done": 1, "failed": 3}, now + 2 * DAY) == 1
        assert sorted(run.id for run in await runs.list()) == ["failed", "gone", "queued", "waits"]
        with pytest.raises(errors.RunError, match="there is no run done"):
            await runs.get("done")
        assert await sweep_runs(runs.store, {"failed": 3, "cancelled": 0}, now + 4 * DAY) == 2
        assert sorted(run.id for run in await runs.list()) == ["queued", "waits"]
        if isinstance(runs.store, SqlStore):
            async with sql(runs).database.transaction() as within:
                rows = await within.rows("SELECT DISTINCT run FROM actum_entries")
            assert [run for (run,) in rows] == ["waits"]
        assert (await queued.refresh()).state == "queued"
        again = await runs.submit(chain(1), id="done")  # its id is free
        assert again.state == "queued"


async def _has_settled(runs: Runs, run: str) -> bool:
    return (await runs.get(run)).state in {"done", "failed", "waiting"}


async def test_a_worker_deletes_what_is_no_longer_kept(place: str) -> None:
    desk = Desk()
    async with Runs(place) as runs:
        early = await runs.submit(chain(1))
        async with serving(runs, desk.agent()):
            await early.result(timeout=PATIENCE)
        async with serving(runs, desk.agent(), keep={"done": 0}):
            await until(lambda: _is_gone(runs, early.id))


async def _is_gone(runs: Runs, run: str) -> bool:
    return run not in [other.id for other in await runs.list()]


@pytest.mark.parametrize(
    ("keep", "words"),
    [
        ({"running": 1}, "only runs that are over"),
        ({"done": -1}, "kept for days"),
        ({"done": float("nan")}, "kept for days"),
    ],
)
async def test_what_is_no_policy_is_refused(keep: dict[str, float], words: str) -> None:
    async with Runs(":memory:") as runs:
        with pytest.raises(errors.RunError, match=words):
            await runs.sweep(keep)  # pyright: ignore[reportArgumentType] -- that is what is refused


async def test_a_run_is_written_into_a_file_that_is_read_replayed_and_forked(place: str, tmp_path: Path) -> None:
    desk = Desk()
    model = models.Scripted([{"calls": [{"_tool": "step", "of": "a"}], "output": "†calls.0"}])
    async with Runs(place) as runs:
        run = await runs.submit({"context": [{"type": "text", "text": "go"}], "schema": {"type": "string"}})
        async with serving(runs, desk.agent(model=model)):
            await run.result(timeout=PATIENCE)
        await run.save(tmp_path / "run.json")
    (summary,) = kept.listed(tmp_path)
    assert (summary.state, summary.output) == ("finished", "a.")
    assert (await kept.replay(tmp_path / "run.json")).is_same_output
    kept.fork(tmp_path / "run.json", tmp_path / "forked.json", at=1)
    other = models.Scripted([{"calls": [], "output": "other"}])
    assert (await kept.resume(tmp_path / "forked.json", desk.agent(model=other))).output == "other"


async def test_a_run_that_failed_is_gone_on_from_by_a_new_one(place: str) -> None:
    desk = Desk()
    idea = {"context": [{"type": "text", "text": "go"}], "schema": {"type": "string"}}
    first = {"calls": [{"_tool": "step", "of": "a"}], "output": None}
    down = errors.ModelError("down", code="model_auth")
    async with Runs(place) as runs:
        run = await runs.submit(idea)
        with pytest.raises(errors.RunError, match="is queued: workers go on with it"):
            await run.again()
        async with serving(runs, desk.agent(model=models.Scripted([first, down]))):
            with pytest.raises(errors.RunEnded, match="down"):
                await run.result(timeout=PATIENCE)
        again = await run.again(id="second")
        second = {"calls": [{"_tool": "step", "of": "b"}], "output": "†calls.0"}
        async with serving(runs, desk.agent(model=models.Scripted([second]))):
            assert (await again.result(timeout=PATIENCE)).output == "b."
        assert desk.made == [("step", "a"), ("step", "b")]


@pytest.mark.parametrize("live", [False, True])
async def test_who_follows_a_run_that_is_swept_away_is_told_so(place: str, *, live: bool) -> None:
    async with Runs(place) as runs:
        run = await runs.submit(chain(3), id="a")
        async with serving(runs, Desk().agent()):
            await run.result(timeout=PATIENCE)
        following = run.follow(live=live)
        await anext(following)
        assert await runs.sweep({"done": 0}) == 1
        with pytest.raises(errors.RunNotFound, match="there is no run a"):
            async for _ in following:
                pass
