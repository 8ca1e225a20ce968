"""Several who set one schedule or one limit at once: the last one's holds, and nobody is shown an error."""

from __future__ import annotations

import asyncio

import pytest

from actum import Runs

from .desks import chain


@pytest.mark.parametrize("place", ["sqlite", "postgres"], indirect=True)
async def test_one_name_may_be_set_by_several_at_once(place: str) -> None:
    pytest.importorskip("croniter")
    async with Runs(place) as first, Runs(place) as second, Runs(place) as third:
        each = (first, 7), (second, 8), (third, 9)
        for number in range(5):
            name = f"daily-{number}"
            setting = (runs.schedule(name, chain(1), cron=f"0 {hour} * * *") for runs, hour in each)
            await asyncio.gather(*setting)
            await asyncio.gather(*(runs.limits.set(tenant=name, runs=most) for runs, most in each))
            assert (await first.schedules.get(name)).cron in {"0 7 * * *", "0 8 * * *", "0 9 * * *"}
        assert {limit.runs for limit in await first.limits.list()} <= {7, 8, 9}
