"""The plans for 90 tasks of AgentDojo, as they were useful there: one request each, the same calls, the same output."""

from __future__ import annotations

import pytest
from bench.fit.corpus import Plan, plans
from bench.fit.running import carried_out

from .worlds import recorded, registry


@pytest.mark.rule("C10", "C11", "C12", "E1", "E2", "E5", "O6", "O9", "O11")
@pytest.mark.parametrize("plan", plans(), ids=lambda plan: plan.name)
async def test_a_plan_makes_its_calls_and_ends_in_one_request(plan: Plan) -> None:
    world = recorded(plan)
    outcome = await carried_out(plan, registry(plan.world, world.answer), "go")
    assert outcome.problems == []
    assert (outcome.requests, outcome.readers) == (1, len(plan.reads))
    assert outcome.output == world.output
    assert sorted(world.calls_now) == world.calls
