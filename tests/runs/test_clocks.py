"""Time is that of the place: a worker whose own clock is off does nothing early, and says so (L8)."""

from __future__ import annotations

import logging
import time

import pytest

from actum import Runs
from actum.runs.pacing import Pacing

from ..effort import cases
from .desks import Desk, chain, serving, until
from .tally import Tally

pytestmark = [pytest.mark.rule("L8"), pytest.mark.timeout(120)]
HOUR = 3_600.0
COUNT = cases(little=1, more=1, most=20)


@pytest.mark.fault("the clock of a worker is {off:,.0f} s off")
@pytest.mark.parametrize("place", ["folder", "sqlite", "postgres"], indirect=True)
@pytest.mark.parametrize("off", [HOUR, -HOUR, 40 * 24 * HOUR])
async def test_a_worker_whose_clock_is_off_goes_by_that_of_the_place(
    place: str, off: float, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, tally: Tally
) -> None:
    pytest.importorskip("croniter")
    own = time.time
    async with Runs(place) as runs:
        await runs.limits.set(model="m", requests=600)
        kept = await runs.submit(chain(1), id="kept")
        desk = Desk()
        async with serving(runs, desk.agent()):
            await kept.result(timeout=60)
        minute = (time.gmtime().tm_min + 30) % 60  # no tick comes while this is tried
        hourly = await runs.schedule("hourly", chain(1), cron=f"{minute} * * * *", missed="all")
        monkeypatch.setattr(time, "time", lambda: own() + off)
        with caplog.at_level(logging.WARNING, "actum.worker"):
            async with serving(runs, desk.agent(), keep={"done": 30}) as worker:
                submitted = [await runs.submit(chain(1)) for _ in range(COUNT)]
                await tally.count(submitted, "go.", 60)

                async def is_told() -> bool:
                    return abs(worker.condition["clock"]) > 1

                await until(is_told)
                for _ in range(3):
                    await Pacing(runs.store.database).enter("m", 1)
        monkeypatch.undo()
        assert f" s {'ahead of' if off > 0 else 'behind'} that of the runs' place" in caplog.text
        listed = {one.id for one in await runs.list()}
        tally.faults = 1
        tally.lost += len({"kept", *(run.id for run in submitted)} - listed)
        assert listed == {"kept", *(run.id for run in submitted)}, "nothing ticked, nothing was swept"
        assert (await runs.schedules.get("hourly")).comes == hourly.comes
        assert abs(submitted[-1].row.created - own()) < HOUR / 2
