"""A: which of several Activities serves a call (A1), one function under several names (A6), and a call's key (A7)."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date
from typing import Any

import pytest

from actum import Agent, Call, Context, Tool, Tools, errors

from .scripts import Json, agent, answer, call, call_schemas, run

CHOICE: Json = {
    "type": "object",
    "_activity": {"enum": ["fast", "exact"]},
    "properties": {"n": {"type": "integer"}, "_output": {"type": "string"}},
    "required": ["n"],
}


def fast(n: int) -> str:
    return f"about {n}"


def exact(n: int) -> str:
    return f"exactly {n}"


def fail() -> float:
    return 1 / 0


def choosing(schema: Json | None = None) -> Tools:
    tools = Tools()
    tools.activity("fast", fast)
    tools.activity("exact", exact)
    tools.register("count", CHOICE if schema is None else schema)
    return tools


@pytest.mark.rule("A1")
def test_a_choice_of_activities_is_offered_as_its_enum_and_must_be_made() -> None:
    offered = call_schemas(agent(tools=choosing()).compose())["count"]
    assert offered["properties"]["_activity"] == {"enum": ["fast", "exact"]}
    assert offered["required"] == ["_tool", "_activity", "n"]
    assert "_output" not in offered["properties"], "it is explicit"


@pytest.mark.rule("A1", "C5")
@pytest.mark.parametrize(("chosen", "value"), [("fast", "about 7"), ("exact", "exactly 7")])
async def test_the_activity_that_a_call_chooses_runs(chosen: str, value: str) -> None:
    counting = call("count", n=7, _activity=chosen)
    assert (await run(answer(counting, output="†calls.0"), tools=choosing())).output == value
    assert await choosing()(counting) == value
    each = {**counting, "n": "†each", "_each": [7, 7]}
    assert (await run(answer(each, output="†calls.0"), tools=choosing())).output == [value, value]


@pytest.mark.rule("A1", "D9")
async def test_an_anonymous_delegate_runs_the_one_that_is_chosen_too() -> None:
    tools = choosing({**CHOICE, "_delegate": "anonymous"})
    result = await run(answer(call("count", n=7, _activity="exact"), output="†calls.0"), tools=tools)
    assert result.output == "exactly 7"


@pytest.mark.rule("A1")
@pytest.mark.parametrize(
    ("chosen", "message"),
    [({}, "choose one in '_activity'"), ({"_activity": "slow"}, "slow"), ({"_activity": None}, "null")],
)
async def test_no_choice_or_another_one_is_a_structural_error(chosen: Json, message: str) -> None:
    result = await run(answer(call("count", n=7, **chosen)), answer(output=1), tools=choosing())
    assert [error.code for error in result.errors] == ["invalid_parameters"]
    assert message in str(result.errors[0])


def max_of(n: int, other: int) -> int:
    return max(n, other)


@pytest.mark.rule("A1")
def test_each_name_of_a_choice_must_be_registered() -> None:
    tools = Tools()
    tools.activity("fast", fast)
    tools.register("count", CHOICE)
    with pytest.raises(errors.SchemaError, match="no Activity 'exact' is registered") as caught:
        agent(tools=tools).compose()
    assert (caught.value.tool, caught.value.path) == ("count", "_activity")
    tools.activity("exact", max_of)
    with pytest.raises(errors.SchemaError, match="'exact' takes 'other'"):
        agent(tools=tools).compose()


@pytest.mark.rule("A1", "C5")
async def test_what_the_chosen_activity_did_is_undone_by_its_own_undo() -> None:
    tools, undone = choosing(), list[Any]()

    def undo(_: Call, value: Any) -> None:
        undone.append(value)

    tools.activity("exact", exact).undo(undo)
    tools.activity("fail", fail)
    tools.register("fail", {"type": "object", "properties": {"after": {}, "_output": {}}})
    counts = [call("count", n=1, _activity=name) for name in ("exact", "fast")]
    group = [*counts, call("fail", after=["†calls.0", "†calls.1"])]
    with pytest.raises(errors.ActumError):
        await tools.all(group)
    assert undone == ["exactly 1"]


def stacked(first: str, second: str) -> tuple[Tools, Any, list[str]]:
    """One function, decorated twice, each time as a tool or as an Activity."""
    tools, undone = Tools(), list[str]()
    decorators: dict[str, Callable[[str], Any]] = {
        "tool": lambda name: tools.tool(name=name),
        "activity": tools.activity,
    }

    def undo(call: Call, _: Any) -> None:
        undone.append(call.tool)

    def double(n: int) -> int:
        """Twice as much."""
        return 2 * n

    decorated = decorators[second]("b")(decorators[first]("a")(double))
    decorated.undo(undo)
    for name in ("a", "b"):
        if name not in tools:
            tools.register(name, {"type": "object", "properties": {"n": {"type": "integer"}, "_output": {}}})
    return tools, decorated, undone


@pytest.mark.rule("A6", "C5")
@pytest.mark.parametrize("first", ["tool", "activity"])
@pytest.mark.parametrize("second", ["tool", "activity"])
async def test_one_function_serves_several_names_and_undo_reaches_all(first: str, second: str) -> None:
    tools, decorated, undone = stacked(first, second)
    assert decorated(4) == 8
    assert await tools.all([call("a", n=1), call("b", n=2)]) == [2, 4]
    tools.activity("fail", fail)
    tools.register("fail", {"type": "object", "properties": {"after": {}, "_output": {}}})
    with pytest.raises(errors.ActumError):
        await tools.all([call("a", n=1), call("b", n="†calls.0"), call("fail", after="†calls.1")])
    assert undone == ["b", "a"]


@pytest.mark.rule("A6")
def test_a_tool_under_another_name_is_described_as_the_function_is() -> None:
    tools, decorated, _ = stacked("activity", "tool")
    assert isinstance(decorated.tool, Tool)
    assert (decorated.name, decorated.tool.name, decorated.tool.description) == ("b", "b", "Twice as much.")
    assert tools.find("b") is decorated.tool


@pytest.mark.rule("A7")
async def test_an_activity_is_handed_the_key_of_its_call() -> None:
    tools, received = Tools(), list[Any]()

    def keep(key: str, n: int, context: Context) -> None:
        received.append((key, n, context.key))

    activity = tools.activity("keep", keep)
    tool = tools.register("keep", {"type": "object", "properties": {"n": {"type": "integer"}}})
    activity.check(tool)
    context = Context("go").keyed("of this call")
    keep(**activity.arguments(Call(call("keep", n=1)), tool, context))
    assert received == [("of this call", 1, "of this call")]
    assert (Context("go").key, context.of("①").key, list(context)) == ("", "of this call", list(Context("go")))


@pytest.mark.rule("A7")
@pytest.mark.parametrize(("given", "arguments"), [({"key": "mine"}, {"key": "mine"}), ({}, {})])
def test_a_parameter_of_the_name_wins_whether_it_is_given_or_not(given: Json, arguments: Json) -> None:
    def keep(key: str = "by default") -> str:
        return key

    tools = Tools()
    activity = tools.activity("keep", keep)
    tool = tools.register("keep", {"type": "object", "properties": {"key": {"type": "string"}}})
    context = Context("go").keyed("of this call")
    assert activity.arguments(Call(call("keep", **given)), tool, context) == arguments


@pytest.mark.rule("A7")
async def test_the_key_of_a_typed_function_is_its_parameter() -> None:
    tools = Tools()

    @tools.tool
    def since(key: date) -> int:
        """The year of a day."""
        return key.year

    assert since.tool is not None
    assert since.tool.parameters["required"] == ["key"]
    assert await tools(call("since", key="2026-11-21")) == 2026


@pytest.mark.rule("T15", "C3")
async def test_a_typed_function_takes_no_parameter_but_its_own() -> None:
    tools, ran = Tools(), list[int]()

    @tools.tool
    def look(days: int) -> int:
        """Look."""
        ran.append(days)
        return days

    assert look.tool is not None
    assert look.tool.parameters["additionalProperties"] is False
    result = await run(answer(call("look", days=1, weeks=2)), answer(output=1), tools=tools)
    assert [error.code for error in result.errors] == ["invalid_parameters"]
    assert "weeks" in str(result.errors[0])
    assert ran == []
    assert (await run(answer(call("look", days=1), output="†calls.0"), tools=tools)).output == 1


@pytest.mark.rule("T15")
async def test_one_that_takes_any_keyword_takes_any_parameter() -> None:
    tools = Tools()

    @tools.tool
    def look(days: int, **more: Any) -> Json:
        """Look."""
        return {"days": days, **more}

    assert callable(look)
    assert await tools(call("look", days=1, weeks=2)) == {"days": 1, "weeks": 2}


@pytest.mark.rule("T15", "T8", "T9")
async def test_what_a_call_may_say_beside_its_parameters_is_no_extra_parameter() -> None:
    tools = Tools()

    @tools.tool
    def look(days: int) -> int:
        """Look."""
        return days

    assert callable(look)
    runner = Agent(None, tools=tools)
    plan: Json = {
        "type": "plan",
        "plan": [call("look", _outputPath="†state.a", _why="so", _with={"days": "†state.n"})],
        "output": "†state.a",
    }
    assert (await runner.run([{"type": "state", "n": 3}, plan])).output == 3
