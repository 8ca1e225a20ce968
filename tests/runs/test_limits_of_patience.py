"""Decisions that nobody makes in time go to others first; a run that every worker dies of is given up (L6, L8)."""

from __future__ import annotations

from typing import Any

import pytest

from actum import HOLD, Run, Runs, errors
from actum.runs.queue import Delivery

from .desks import PATIENCE, Desk, chain, serving, sql, until


async def hold(*_: Any) -> Any:
    return HOLD


@pytest.mark.rule("L6")
async def test_a_decision_that_nobody_makes_in_time_is_up_to_others_and_then_a_denial(place: str) -> None:
    desk = Desk()
    async with Runs(place) as runs:
        late = await runs.submit(chain(1), patience=2.0, escalate="board")
        async with serving(runs, desk.agent(approve=hold)):
            assert (await late.result(timeout=PATIENCE)).waiting == ["approval 0.0"]
            assert late.row.escalated is None
            await until(lambda: _over(late))
            with pytest.raises(errors.RunEnded, match="nobody has decided on it in time"):
                await late.result()
        assert (late.row.lease, desk.made) == (3, [])


@pytest.mark.rule("L6")
async def test_who_it_was_escalated_to_can_decide(place: str) -> None:
    desk = Desk()
    async with Runs(place) as runs:
        run = await runs.submit(chain(1), patience=1.0, escalate="board")
        async with serving(runs, desk.agent(approve=hold)):
            await until(lambda: _escalated(run))
            assert [call.of for call in await run.pending()] == ["0.0"]
            await run.decide("0.0", "approve")
            await until(lambda: _over(run))
        assert (await run.result()).output == "go."


async def test_whom_to_escalate_to_is_nothing_without_patience() -> None:
    async with Runs(":memory:") as runs:
        with pytest.raises(errors.RunError, match="give that, too"):
            await runs.submit(chain(1), escalate="board")


@pytest.mark.rule("L8")
@pytest.mark.parametrize("place", ["memory", "sqlite", "postgres"], indirect=True)
async def test_a_run_that_every_worker_dies_of_fails_instead_of_killing_them_for_ever(place: str) -> None:
    desk = Desk()
    async with Runs(place) as runs:
        run, other = await runs.submit(chain(1)), await runs.submit(chain(1))
        for target, dead in ((run, 3), (other, 2)):
            for _ in range(dead):
                assert await runs.store.leases.claim(target.id, "one that dies") is not None
        async with sql(runs).database.transaction() as within:
            for target in (run, other):
                await runs.store.queue.push(Delivery(run=target.id), within)
        async with serving(runs, desk.agent(), attempts=3):
            with pytest.raises(errors.RunEnded, match="3 workers in a row were lost") as failed:
                await run.result(timeout=PATIENCE)
            assert (await other.result(timeout=PATIENCE)).output == "go."
        assert failed.value.code == "run_poisoned"
        assert len(desk.made) == 1


async def _escalated(run: Run) -> bool:
    row = await run.refresh()
    return row.state == "waiting" and row.escalated == "board"


async def _over(run: Run) -> bool:
    return (await run.refresh()).is_over
