"""Calls that the caller of a run carries out: they wait until their result is given, and nobody can approve them."""

from __future__ import annotations

from typing import Any

import pytest

from actum import Agent, Context, Runs, Tools, approvals, errors, models
from actum.app.planned import with_plans_approved
from actum.schema.json import JsonObject as Json

from ..runs.desks import serving
from .scripts import plan_fails

pytestmark = pytest.mark.rule("L6")
PICK: Json = {"properties": {"of": {}, "_activity": {"const": "elsewhere"}, "_output": {}}}
TOOL: Json = {"type": "tool", "tool": {"pick": PICK}}


def plan(*calls: Json, output: Any) -> Json:
    return {"context": [TOOL, {"type": "plan", "plan": list(calls), "output": output}]}


async def agree(*_: Any) -> bool:
    return True


async def test_it_waits_whoever_approves_and_its_result_is_what_was_given() -> None:
    idea = plan({"_tool": "pick", "of": "a", "_outputPath": "†state.picked"}, output="{†state.picked + '!'}")
    async with Runs(":memory:") as runs, serving(runs, Agent(None, tools=Tools(), approve=agree)):
        run = await runs.submit(idea)
        assert (await run.result(timeout=30)).waiting == ["approval 0.0"]
        [pending] = await run.pending()
        assert (pending.wants_result, pending.call["of"]) == (True, "a")
        with pytest.raises(errors.IdeaError, match="it can only be denied"):
            await run.decide("0.0", "approve")
        await run.give("0.0", "red")
        with pytest.raises(errors.IdeaError, match="no call waits"):
            await run.give("0.0", "blue")
        assert (await run.result(timeout=30)).output == "red!"


async def test_items_are_given_one_by_one_and_a_denial_is_told_to_the_model() -> None:
    each = {"calls": [{"_tool": "pick", "of": "†each", "_each": ["a", "b"]}], "output": "†calls.0"}
    model = models.Scripted(
        [each, {"calls": [{"_tool": "pick", "of": "c"}], "output": None}, {"calls": [], "output": "no"}]
    )
    async with Runs(":memory:") as runs, serving(runs, Agent(model, tools=Tools())):
        run = await runs.submit({"context": [TOOL]})
        assert (await run.result(timeout=30)).waiting == ["approval 0.0.0", "approval 0.0.1"]
        assert "elsewhere" not in str(model.requests[0].schema)
        await run.give("0.0.1", 2)
        await run.give("0.0.0", None)
        assert (await run.result(timeout=30)).output == [None, 2]
        again = await runs.submit({"context": [TOOL]})
        await again.result(timeout=30)
        await again.decide("0.0", "deny", reason="closed")
        assert (await again.result(timeout=30)).output == "no"
    assert "closed" in str(model.requests[-1].messages)


async def test_a_decision_can_not_be_given_a_result_and_no_plan_approves_it() -> None:
    tools = Tools()
    tools.register("held", {"properties": {}})
    held = {"type": "approval", "of": "0.0", "call": {"_tool": "held"}, "decision": "held"}
    with pytest.raises(errors.IdeaError, match="and not for a result"):
        approvals.decided(Context([held]), "0.0", "approve", given={"value": 1})
    idea = plan({"_tool": "pick", "of": "a"}, output="†calls.0")
    with plan_fails(errors.ActivityError) as failed:
        await Agent(None, tools=Tools()).run(with_plans_approved(Context(idea["context"]), {"pick"}))
    why = "whoever has begun the run carries it out, and has to give its result: it can't be approved"
    assert str(failed.value) == why


@pytest.mark.rule("A1")
def test_no_activity_takes_its_name() -> None:
    tools = Tools()
    with pytest.raises(errors.SchemaError, match=r"no Activity can be called 'elsewhere': .*give it another name"):
        tools.activity("elsewhere", agree)
    with pytest.raises(errors.SchemaError, match="give it another name"):
        tools.activity("elsewhere")  # the decorator
    assert tools.find_activity("elsewhere") is None
