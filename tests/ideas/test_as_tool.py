"""An Idea as a tool: its parameters are what its input takes (X2)."""

from __future__ import annotations

import pytest

from actum import Agent, Context, Idea, Tool, Tools, models
from actum.schema.json import JsonObject as Json

pytestmark = pytest.mark.rule("X2")

CITY: Json = {"type": "object", "properties": {"city": {"type": "string"}, "days": {"type": "integer"}}}


def tool_of(*messages: Json) -> Tool:
    return Idea(context=Context(messages), schema={"type": "string"}).as_tool("it")


@pytest.mark.parametrize(
    ("messages", "parameters"),
    [
        ([], {}),
        ([{"type": "input", "schema": CITY}], CITY["properties"]),
        ([{"type": "input", "city": "Ulm", "schema": CITY}], CITY["properties"]),
        ([{"type": "data", "kind": "input", "data": {"city": "Ulm"}, "schema": CITY}], CITY["properties"]),
        ([{"type": "input", "city": "Ulm"}], {"city": {"type": "string"}}),
        (
            [{"type": "input", "days": 3}, {"type": "input", "rain": True}],
            {"days": {"type": "number"}, "rain": {"type": "boolean"}},
        ),
        ([{"type": "input", "city": "Ulm", "_instance": "①"}], {}),
        ([{"type": "input", "input": ["no", "object"]}], {}),
        ([{"type": "state", "city": "Ulm"}], {}),
    ],
)
def test_its_parameters_are_declared_or_like_the_values_that_it_has(messages: list[Json], parameters: Json) -> None:
    assert tool_of(*messages).parameters["properties"] == parameters


@pytest.mark.parametrize(
    ("values", "required"),
    [({}, ["city", "days"]), ({"city": "Ulm"}, ["days"]), ({"city": "Ulm", "days": 1}, [])],
)
def test_what_it_has_a_value_of_is_not_required(values: Json, required: list[str]) -> None:
    tool = tool_of({"type": "input", "input": values, "schema": {**CITY, "required": ["city", "days"]}})
    assert tool.parameters["required"] == required


async def test_a_call_gives_some_values_and_the_idea_has_the_others() -> None:
    tools = Tools()
    context = Context([{"type": "input", "city": "Ulm", "days": 3}])
    tools.register(Idea(context=context, schema={"type": "object"}).as_tool("look"))
    answers: list[Json] = [
        {"calls": [{"_tool": "look", "days": 5}], "output": "†calls.0", "meta": {}},
        {"calls": [], "output": {"city": "†input.city", "days": "†input.days"}, "meta": {}},
    ]
    result = await Agent(models.Scripted(answers), tools=tools).run("go")
    assert result.output == {"city": "Ulm", "days": 5}
