"""Pydantic's `Field(…)` as the default of a tool's parameter, or in its annotation, means what it means to Pydantic."""

from __future__ import annotations

from typing import Annotated, Any

import pytest
from pydantic import Field

from actum import Agent, Tools, errors, models


def as_default(
    days: int = Field(3, ge=1, description="how many"),
    *,
    tags: list[str] = Field(default_factory=list),  # noqa: B008 -- as Pydantic's users write it
) -> str:
    tags.append(str(days))
    return ",".join(tags)


def annotated(
    days: Annotated[int, Field(3, ge=1, description="how many")],
    tags: Annotated[list[str], Field(default_factory=list)],
) -> str:
    return as_default(days, tags=tags)


def called(tools: Tools, call: dict[str, Any]) -> str:
    answer = {"calls": [call, call], "output": "†calls.1"}
    return Agent(models.Scripted([answer]), tools=tools).run_sync("go", str).output


@pytest.mark.parametrize("function", [as_default, annotated])
def test_a_field_says_default_bounds_and_description(function: Any) -> None:
    tools = Tools()
    tools.tool(function)
    schema = tools.find(function.__name__).schema  # type: ignore[union-attr] # pyright: ignore[reportOptionalMemberAccess]
    assert schema["properties"]["days"] == {"default": 3, "description": "how many", "minimum": 1, "type": "integer"}
    assert "required" not in schema
    assert called(tools, {"_tool": function.__name__}) == "3", "a factory's list is of one call alone"
    assert called(tools, {"_tool": function.__name__, "days": 2, "tags": ["a"]}) == "a,2"


async def test_a_field_without_a_default_is_required() -> None:
    tools = Tools()

    @tools.tool
    def look(days: int = Field(ge=1)) -> int:
        return days

    assert [tool.schema["required"] for tool in tools] == [["days"]]
    assert await tools({"_tool": "look", "days": 2}) == 2
    with pytest.raises(errors.InvalidParameters):
        await tools({"_tool": "look"})


async def test_what_a_call_never_gives_may_be_annotated_in_any_way() -> None:
    tools = Tools()
    tools.register("look", {})

    @tools.activity("look")
    def look(call: Nowhere) -> str:  # type: ignore[name-defined] # noqa: F821 # pyright: ignore[reportUndefinedVariable, reportUnknownParameterType]
        return str(call["_tool"])  # pyright: ignore[reportUnknownArgumentType]

    assert look.name == "look"
    assert await tools({"_tool": "look"}) == "look"
