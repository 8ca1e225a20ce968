"""A loop that is busy for longer than its lease loses none of its runs: no neighbour has a call made twice."""

from __future__ import annotations

import asyncio
import threading
import time
from pathlib import Path

import pytest

from actum import Run, Runs

from .desks import PATIENCE, Desk, chain, serving, until

pytestmark = pytest.mark.rule("L8")

LEASE = 1.0


@pytest.mark.parametrize("place", ["memory", "sqlite", "folder", "postgres"])
async def test_a_call_that_was_under_way_is_made_once(
    place: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    url = {"memory": ":memory:", "sqlite": str(tmp_path / "runs.db"), "folder": str(tmp_path / "runs")}.get(place)
    url = url or str(request.getfixturevalue("database"))
    desk, other = Desk(), Desk()
    is_over = threading.Event()
    async with Runs(url) as runs, serving(runs, desk.agent(), lease=LEASE):
        run = await runs.submit(chain(1, "wait"))
        await asyncio.wait_for(desk.begun.wait(), PATIENCE)
        neighbour = threading.Thread(target=lambda: asyncio.run(_serving(url, other, is_over)))
        neighbour.start()
        if place != "memory":
            await _known(await runs.submit(chain(1), tag="other"))  # so that the other one serves
        time.sleep(2 * LEASE)  # noqa: ASYNC251 -- as a large body holds the loop
        desk.hold.set()

        await _known(run)
        is_over.set()
        await asyncio.to_thread(neighbour.join)
        assert (run.row.state, run.row.error) == ("done", None)
    assert (desk.made, [step for step in other.made if step[0] == "wait"]) == ([("wait", "go")], [])


async def _known(run: Run) -> None:
    async def is_over() -> bool:
        return (await run.refresh()).is_over

    await until(is_over)


async def _serving(url: str, desk: Desk, is_over: threading.Event) -> None:
    """Another worker of the same place, which takes over the runs of workers that it doesn't hear from."""
    desk.hold.set()
    async with Runs(url) as runs, serving(runs, desk.agent(), lease=LEASE, tags=["other"]):
        await asyncio.to_thread(is_over.wait)
