"""Decisions on several calls of a run are one: it goes on once with all of them, or with none (L6)."""

from __future__ import annotations

from typing import Any

import pytest

from actum import HOLD, Agent, Idea, Runs, errors

from .desks import PATIENCE, Desk, plan, serving


async def held(*_: object) -> Any:
    return HOLD


@pytest.mark.rule("L6")
async def test_calls_are_decided_on_together(place: str) -> None:
    desk = Desk()
    own = desk.agent()

    def agent_for(idea: Idea) -> Agent:
        return Agent(None, tools=own.tools, approve=held).fitted(idea)

    async with Runs(place) as runs:
        run = await runs.submit(plan(*({"_tool": "step", "of": name} for name in "abc"), output="†calls.2"))
        async with serving(runs, agent_for):
            await run.result(timeout=PATIENCE)
            places = [one.of for one in await run.pending()]
            assert len(places) == 3
            lease = (await run.refresh()).lease
            with pytest.raises(errors.IdeaError):
                await run.decide_all([*places, "0.9"], "approve")
            assert [one.of for one in await run.pending()] == places  # none of them was decided on
            await run.decide_all(places, "approve")
            result = await run.result(timeout=PATIENCE)
            assert result.output is not None
            assert (await run.refresh()).lease == lease + 1  # it went on once
