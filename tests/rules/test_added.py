"""S9: a call that a developer has written may add scopes, a delegate or an Activity; one by a model may not."""

from __future__ import annotations

import json
from typing import Any

import pytest

from actum import HOLD, Agent, Context, Idea, Tools, approvals, errors, models

from .scripts import Json, answer, call

pytestmark = pytest.mark.rule("S9")

STATE: Json = {"type": "state", "secret": "s", "city": "Lisbon"}
LOOK: Json = {"properties": {"name": {"type": "string"}, "_output": {}}}


def looking() -> tuple[Tools, list[Any]]:
    """A tool that declares no scopes; what its calls are handed is noted."""
    tools, handed = Tools(), list[Any]()

    @tools.activity("look")
    async def look(context: Context) -> str:
        handed.append(context.data)
        return "looked"

    @tools.activity("other")
    async def other() -> str:
        return "by another"

    assert (look.name, other.name) == ("look", "other")
    tools.register("look", LOOK)
    return tools, handed


async def test_a_call_outside_a_run_may_add_scopes() -> None:
    tools, handed = looking()
    await tools(call("look", name="a", _scopes=["state.city"]), context=[STATE])
    await tools(call("look", name="a"), context=[STATE])
    assert handed == [{"state": {"city": "Lisbon"}}, {}]


async def test_a_plan_that_the_author_wrote_may_add_any_of_them() -> None:
    tools, handed = looking()
    calls = [
        call("look", name="a", _scopes=["state.city"]),
        call("look", name="b", _activity="other"),
        call("look", name="c", _delegate="echo"),
        call("look", name="d"),
    ]
    echo: Json = {"context": [{"type": "plan", "plan": [], "output": {"name": "†input.name"}}], "schema": {}}
    plan: Json = {"type": "plan", "plan": calls, "output": ["†calls.0", "†calls.1", "†calls.2", "†calls.3"]}
    tools.register("plain", LOOK)
    context = [STATE, plan]
    result = await Agent(None, tools=tools, delegates={"echo": echo}).run(context)
    # Where a call names a delegate, an Activity that merely has the tool's name doesn't run (D13).
    assert result.output == ["looked", "by another", {"name": "c"}, "looked"]
    assert handed[0] == {"state": {"city": "Lisbon"}}
    assert handed[-1] == {} or {} in handed


@pytest.mark.parametrize(
    ("added", "message"),
    [
        ({"_activity": "nobody"}, "no Activity 'nobody' is registered"),
        ({"_scopes": "state"}, "'_scopes'"),
        ({"_delegate": 5}, "'_delegate'"),
    ],
    ids=str,
)
async def test_what_no_tool_can_have_is_refused(added: Json, message: str) -> None:
    tools, handed = looking()
    with pytest.raises(errors.InvalidParameters) as raised:
        await tools(call("look", name="a", **added), context=[STATE])
    assert message in raised.value.message
    assert handed == []


ADDED: list[Json] = [{"_scopes": ["state"]}, {"_activity": "other"}, {"_delegate": "anonymous"}]


@pytest.mark.parametrize("added", ADDED, ids=str)
async def test_a_models_call_may_add_none(added: Json) -> None:
    tools, handed = looking()
    model = models.Scripted([answer(call("look", name="a", **added)), answer(output="done")])
    result = await Agent(model, tools=tools).run([STATE])
    assert [type(error) for error in result.errors] == [errors.ScopeDenied]
    assert handed == []


@pytest.mark.parametrize("added", ADDED, ids=str)
async def test_a_models_call_that_a_run_has_written_down_may_add_none_either(added: Json) -> None:
    """The model's answer stands in the context as a plan; run again from there, it is still a model's."""
    tools, handed = looking()

    async def hold(call: Any, *_: object) -> Any:
        return HOLD if call["name"] == "held" else True

    solution = answer(call("look", name="held"), call("look", name="b", after="†calls.0", **added))
    tools.register("look", {"properties": {**LOOK["properties"], "after": {}}}, replace=True)
    held = await Agent(models.Scripted([solution, answer(output=None)]), tools=tools, approve=hold).run([STATE])
    assert held.waiting == ["approval 0.0"]
    decided = approvals.decided(held.context, "0.0", "approve")
    result = await Agent(None, tools=tools, approve=hold).resume(json.loads(json.dumps(list(decided))))
    assert {type(error) for error in result.errors} <= {errors.ScopeDenied}
    assert handed == [{}]


async def test_a_solution_that_the_author_wrote_may_and_one_of_a_model_may_not() -> None:
    tools, handed = looking()
    calls = [call("look", name="a", _scopes=["state"])]
    written: Json = {"calls": calls, "output": "†calls.0"}
    idea = Idea(context=Context([STATE]), solution=written)
    assert (await idea.run(Agent(None, tools=tools))).output == "looked"
    kept = Idea(context=Context([STATE]), solution=written, meta={"run": {"tick": 1}})
    with pytest.raises(errors.ScopeDenied):
        await kept.run(Agent(None, tools=tools))
    assert len(handed) == 1


@pytest.mark.parametrize("added", ADDED, ids=str)
async def test_a_strangers_plan_may_add_none(added: Json) -> None:
    tools, handed = looking()
    plan: Json = {"type": "plan", "plan": [call("look", name="a", **added)]}
    fetched = Context([STATE, plan], origin="https://example.com/idea.json")
    result = await Agent(None, tools=tools).run(fetched)
    assert [type(error) for error in result.errors] == [errors.ScopeDenied]
    assert handed == []
