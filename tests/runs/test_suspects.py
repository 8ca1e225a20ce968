"""A run that its workers die of takes no other with it: suspects are carried alone (L8)."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import pytest

from actum import Runs, Worker, errors

from ..effort import EFFORT
from .desks import PATIENCE, Desk, chain, plan, serving, until
from .fleet import Fleet, fleet
from .tally import Tally

pytestmark = [pytest.mark.rule("L8"), pytest.mark.timeout(300)]

ALONE, LASTS = (10, 3.0) if EFFORT == "all" else (3, 0.6)
"""How many innocent runs lie beside a guilty one, and how many seconds their first call takes."""


@asynccontextmanager
async def supervised(crew: Fleet) -> AsyncGenerator[None]:
    """Have another worker started whenever one has ended."""

    async def supervise() -> None:
        while True:
            if all(worker.poll() is not None for worker in crew.workers):
                crew.start()
            await asyncio.sleep(0.05)

    task = asyncio.create_task(supervise())
    try:
        yield
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task


@pytest.mark.fault("a run ends the process that carries it, beside others")
@pytest.mark.parametrize("place", ["folder", "sqlite", "postgres"], indirect=True)
async def test_runs_beside_one_that_ends_its_worker_are_done_and_it_alone_is_poisoned(
    place: str, tmp_path: Path, tally: Tally
) -> None:
    async with Runs(place) as runs:
        innocent = [await runs.submit(plan({"_tool": "slow", "of": str(n)}, output="†calls.0")) for n in range(ALONE)]
        guilty = await runs.submit(plan({"_tool": "deadly", "of": "x"}, output="†calls.0"))
        with fleet(place, tmp_path / "sink", 0, lease=1.0, seconds=LASTS, slots=ALONE + 1, program="deadly.py") as made:
            async with supervised(made):
                for number, run in enumerate(innocent):
                    await tally.count([run], f"{number}.", 120)
                with pytest.raises(errors.RunEnded, match="2 workers in a row were lost") as failed:
                    await guilty.result(timeout=120)
        died = [line.split()[2] for line in (made.sink / "begun").read_text().splitlines() if line[:6] == "deadly"]
    tally.faults = len(died)
    assert failed.value.code == "run_poisoned"
    assert failed.value.message.count("it had called deadly") == len(died) == 3
    assert all(pid in failed.value.message for pid in died), "it names the workers"


async def test_what_is_stopped_or_cut_is_no_suspect(place: str) -> None:
    desk = Desk()
    idea = plan({"_tool": "wait", "of": "a"}, output="†calls.0")
    async with Runs(place) as runs:
        run = await runs.submit(idea)
        async with serving(runs, desk.agent(), drain=0.0):
            await asyncio.wait_for(desk.begun.wait(), 30)
        row = await run.refresh()
        assert (row.state, row.attempts, list(row.losses)) == ("queued", 0, [])


@pytest.mark.parametrize("place", ["sqlite", "postgres"], indirect=True)
async def test_a_worker_that_is_stopped_leaves_what_waits_to_be_carried_alone(
    place: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("actum.runs.company._EMPTIES", 0.0)
    desk = Desk()
    idea = plan({"_tool": "wait", "of": "a"}, output="†calls.0")
    async with Runs(place) as runs:
        submitted = [await runs.submit(idea, id=name) for name in ("a", "suspect")]
        assert await runs.store.leases.claim("suspect", "one that dies", is_beside=True) is not None
        async with serving(runs, desk.agent(), lease=0.5, drain=0.0) as worker:
            await asyncio.wait_for(desk.begun.wait(), PATIENCE)
            await until(lambda: _is_full(worker))
        assert [(await run.refresh()).state for run in submitted].count("queued") >= 1
        desk.hold.set()
        async with serving(runs, desk.agent()):
            for run in submitted:
                assert (await run.result(timeout=PATIENCE)).output == "a…"


async def _is_full(worker: Worker) -> bool:
    return not any(worker._company.room.values())  # pyright: ignore[reportPrivateUsage] -- seen nowhere else


@pytest.mark.parametrize("place", ["sqlite", "postgres"], indirect=True)
async def test_a_worker_that_carries_others_leaves_a_suspect_until_it_is_alone(place: str) -> None:
    desk = Desk()
    async with Runs(place) as runs:
        leases = runs.store.leases
        for name in ("a", "b"):
            await runs.submit(chain(1), id=name)
            assert await leases.claim(name, "one that dies", is_beside=True) is not None
        assert await leases.claim("a", "busy", is_beside=True) is None
        assert await leases.is_suspect("a", "busy")
        assert not await leases.is_suspect("a", "one that dies")
        row = await leases.claim("a", "idle")
        assert row is not None
        assert [loss.worker for loss in row.losses] == ["one that dies"]
        assert await leases.claim("b", "second") is not None
        row = await leases.claim("a", "third")  # the second one is lost with it, too, and had nothing else
        assert row is not None
        assert [loss.worker for loss in row.losses] == ["one that dies", "idle"]
        assert list((await (await runs.get("b")).refresh()).losses) == [], "it wasn't the doing of the other"
        async with serving(runs, desk.agent()):
            for name in ("a", "b"):
                assert (await runs.result(name, timeout=60)).output == "go."
