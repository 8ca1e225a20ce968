"""A plan is left where the input or a result looks otherwise than in all examples (refine.md R22)."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from actum import Agent, Idea, Tools, errors, kept, models
from actum.refine import Refined, as_python, refine
from actum.refine.guards import common_schema

NAMES = ("ana", "bo", "cy", "di")
ASK = "Say where the customer lives."


def input_of(**properties: Any) -> dict[str, Any]:
    return {"type": "input", "schema": {"type": "object", "properties": properties, "required": ["name"]}}


OPTIONAL = input_of(name={"type": "string"}, lang={"type": "string"})
PLAIN = {
    "type": "input",
    "schema": {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]},
}


def finding(result: Any = None) -> Tools:
    """A tool of whose results no schema says how they look."""
    tools = Tools()

    def find(name: str) -> Any:
        return {"city": f"City of {name}", "tags": [name]} if result is None else result

    properties = {"name": {"type": "string"}, "_effects": {"const": "none"}}
    tools.register("find", {"type": "object", "properties": properties, "required": ["name"]})
    tools.activity("find", find)
    return tools


async def refined(folder: Path, given: Any, names: Sequence[str] = NAMES) -> Refined:
    idea = Idea(context=[given, ASK], schema={"type": "object"})
    runs: list[Path] = []
    for name in names:
        answers: list[Any] = [
            {"calls": [{"_tool": "find", "name": name}], "output": None},
            {"calls": [], "output": {"where": f"City of {name}"}},
        ]
        runs.append(folder / f"{name}.json")
        agent = Agent(models.Scripted(answers), tools=finding())
        await kept.start(runs[-1], idea, lambda _, agent=agent: agent, input={"name": name})
    return await refine(runs, idea=idea, tools=finding())


async def ran(plan: Refined, given: Any, input: dict[str, Any], tools: Tools | None = None) -> Any:
    agent = Agent(None, tools=tools or finding())
    return (await agent.run([given, ASK, plan.plan], {"type": "object"}, input=input)).output


def of_input(plan: Refined) -> Any:
    return next(
        step["_expect"]["as"] for step in plan.plan["plan"] if "_expect" in step and step["_expect"]["of"] == "†input"
    )


@pytest.mark.rule("R22")
async def test_a_key_that_no_example_had_leaves_the_plan(tmp_path: Path) -> None:
    plan = await refined(tmp_path, OPTIONAL)
    assert plan.proof.holds
    assert of_input(plan)["required"] == ["name"]
    assert await ran(plan, OPTIONAL, {"name": "ed"}) == {"where": "City of ed"}
    with pytest.raises(errors.PlanLeft):
        await ran(plan, OPTIONAL, {"name": "ed", "lang": "de"})


@pytest.mark.rule("R22")
async def test_what_was_never_null_is_expected_not_to_be(tmp_path: Path) -> None:
    nullable = input_of(name={"type": ["string", "null"]})
    plan = await refined(tmp_path, nullable)
    with pytest.raises(errors.PlanFailed):  # PlanLeft, but for the tool that won't take it
        await ran(plan, nullable, {"name": None})


@pytest.mark.rule("R22")
@pytest.mark.parametrize("result", [{"city": None, "tags": []}, {"city": "Rome"}, {"city": "Rome", "tags": "none"}])
async def test_a_result_of_another_shape_leaves_the_plan(tmp_path: Path, result: Any) -> None:
    plan = await refined(tmp_path, PLAIN)
    shape = plan.plan["plan"][-1]["_expect"]
    assert shape["of"] == "†calls.0"
    assert shape["as"]["required"] == ["city", "tags"]
    with pytest.raises(errors.PlanLeft):
        await ran(plan, PLAIN, {"name": "ed"}, finding(result))


@pytest.mark.rule("R22", "R37")
async def test_the_function_expects_the_same(tmp_path: Path) -> None:
    plan = await refined(tmp_path, OPTIONAL)
    idea = Idea(context=[OPTIONAL, ASK], schema={"type": "object"})
    runs = [tmp_path / f"{name}.json" for name in NAMES]
    written = await as_python(plan, runs, tmp_path / "where.py", idea=idea, tools=finding())
    assert "expect(lang is None)" in written.function


@pytest.mark.rule("R22")
@pytest.mark.parametrize(
    ("names", "fits", "not_so"),
    [
        (("ana", "bo", "cy"), "a" * 30, "a" * 31),
        (("ana@x.com", "bo@x.com", "cy@y.org"), "di@z.net", "di"),
        (("2026-01-02", "2026-02-03", "2025-12-31"), "2027-01-01", "tomorrow"),
    ],
)
async def test_texts_much_longer_or_of_another_format_leave_the_plan(
    tmp_path: Path, names: Sequence[str], fits: str, not_so: str
) -> None:
    plan = await refined(tmp_path, PLAIN, names)
    assert await ran(plan, PLAIN, {"name": fits}) == {"where": f"City of {fits}"}
    with pytest.raises(errors.PlanLeft):
        await ran(plan, PLAIN, {"name": not_so})


def test_lists_much_longer_are_not_expected() -> None:
    shape = common_schema([{"ids": [1, 2]}, {"ids": [3]}], is_input=True)
    assert shape["properties"]["ids"] == {"type": "array", "maxItems": 20, "items": {"type": "number"}}
    assert "maxItems" not in common_schema([{"ids": [1, 2]}])["properties"]["ids"]


@pytest.mark.rule("R22")
async def test_what_the_schema_says_already_is_not_said_again(tmp_path: Path) -> None:
    limited = input_of(name={"type": "string", "maxLength": 20})
    plan = await refined(tmp_path, limited)
    assert not any("_expect" in step and step["_expect"]["of"] == "†input" for step in plan.plan["plan"])
