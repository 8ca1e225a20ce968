"""A: Activities; S, as far as it is about what they are handed."""

from __future__ import annotations

import asyncio
import dataclasses
import enum
import functools
import json
import sys
import threading
from collections.abc import Callable
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import pytest
from pydantic import BaseModel, ConfigDict, Field, field_validator

from actum import Agent, Call, Context, Tool, Tools, errors, events, models
from actum.messages import Data, Input, State, System, Text

from .scripts import Json, agent, answer, call, left, run, sent, types

INTERFACE: Json = {
    "type": "object",
    "properties": {"a": {"type": "integer"}, "b": {"type": "integer", "default": 2}, "_output": {}},
    "required": ["a"],
}


def serving(function: Callable[..., Any], schema: Json | None = None, name: str = "it") -> Tools:
    """Tools with one interface and the function behind it."""
    tools = Tools()
    tools.register(name, INTERFACE if schema is None else schema)
    tools.activity(name, function)
    return tools


# A1


@pytest.mark.rule("A1")
async def test_the_activity_that_a_tool_names_goes_before_the_one_of_its_own_name() -> None:
    tools = Tools()
    tools.activity("it", lambda: "own name")
    tools.activity("other", lambda: "named")
    for named, expected in (({"_activity": "other"}, "named"), ({"_activity": ""}, None), ({}, "own name")):
        tools.register("it", {"type": "object", **named}, replace=True)
        assert await tools(call("it")) == expected


@pytest.mark.rule("A1", "C1")
async def test_a_tool_without_activity_is_latent() -> None:
    tools = Tools()
    tools.register("it", {"type": "object", "properties": {"_output": {"type": "integer"}}, "_activity": ""})
    assert (await run(answer(call("it", _output=3), output="†calls.0"), tools=tools)).output == 3


@pytest.mark.rule("A1")
async def test_an_unknown_activity_is_an_error_at_composition() -> None:
    tools = Tools()
    tools.activity("known", lambda: 1)
    tools.register("it", {"type": "object", "_activity": "unknown"})
    runner = agent(answer(output=1), tools=tools)
    with pytest.raises(errors.SchemaError) as caught:
        runner.compose("go")
    assert caught.value.tool == "it"
    assert "unknown" in str(caught.value)
    with pytest.raises(errors.SchemaError):
        await runner.run("go")
    assert sent(runner) == []


@pytest.mark.rule("A1")
async def test_interface_and_implementation_are_registered_in_either_order() -> None:
    tools = Tools()
    tools.activity("it", plain)
    tools.register("it", INTERFACE)
    assert await tools(call("it", a=1)) == 6


# A2


class Thing:
    def __init__(self, plus: int) -> None:
        self.plus = plus

    async def method(self, a: int, call: Call) -> int:
        return a + self.plus + len(call.tool) - 2

    def sync_method(self, a: int) -> int:
        return a + self.plus

    @classmethod
    async def of_class(cls, a: int) -> int:
        return a + len(cls.__name__)

    @staticmethod
    def of_none(a: int) -> int:
        return a + 5

    def __call__(self, a: int) -> int:
        return a + self.plus


class AsyncThing:
    async def __call__(self, a: int, tool: Tool) -> int:
        return a + 5 * len(tool.name) - 5


async def three(call: Call, tool: Tool, context: Context) -> int:
    assert (call.tool, tool.name, len(context)) == ("it", "it", 0)
    return int(call["a"]) + 5


async def by_name(a: int) -> int:
    return a + 5


async def keyword_only(*, a: int, b: int = 4) -> int:
    return a + 1 + b


async def all_named(a: int, **rest: Any) -> int:
    return a + 5 if rest == {} else -1


async def none() -> int:
    return 6


def plain(a: int) -> int:
    return a + 5


def as_list(s: str) -> list[str]:
    return [s]


def added(plus: int, a: int) -> int:
    return a + plus


async def async_added(a: int, plus: int) -> int:
    return a + plus


def wrapped(function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        return function(*args, **kwargs)

    return wrapper


STYLES: dict[str, Callable[..., Any]] = {
    "call, tool, context": three,
    "by name": by_name,
    "keyword only, with default": keyword_only,
    "the rest by name": all_named,
    "nothing": none,
    "sync": plain,
    "lambda": lambda a: a + 5,  # pyright: ignore[reportUnknownLambdaType] -- a lambda has no types
    "method": Thing(5).method,
    "sync method": Thing(5).sync_method,
    "class method": Thing.of_class,
    "static method": Thing.of_none,
    "static method object": staticmethod(plain),
    "callable object": Thing(5),
    "async callable object": AsyncThing(),
    "partial": functools.partial(added, 5),
    "async partial": functools.partial(async_added, plus=5),
    "wrapped": wrapped(plain),
    "wrapped async": wrapped(by_name),
}


@pytest.mark.rule("A2")
@pytest.mark.parametrize("style", STYLES)
async def test_an_activity_takes_its_arguments_in_any_style(style: str) -> None:
    assert await serving(STYLES[style])(call("it", a=1)) == 6


@pytest.mark.rule("A2")
@pytest.mark.parametrize("style", [style for style in STYLES if style not in {"lambda", "call, tool, context"}])
async def test_a_tool_is_made_of_a_function_in_any_style(style: str) -> None:
    tools = Tools()
    tools.tool(name="it")(STYLES[style])
    assert await tools(call("it", **({} if style == "nothing" else {"a": 1}))) == 6


@pytest.mark.rule("A2")
def test_the_types_of_a_partial_are_those_of_its_function() -> None:
    tools = Tools()
    registered = tools.tool(name="it")(functools.partial(added, 5))
    assert registered.tool is not None
    assert registered.tool.parameters["properties"] == {"a": {"type": "integer"}}
    assert registered.tool.parameters["required"] == ["a"]


@pytest.mark.rule("A2")
async def test_all_three_arguments_and_parameters_can_be_mixed() -> None:
    async def mixed(a: int, call: Call, b: int, context: Context, tool: Tool, **more: Any) -> list[Any]:
        return [a, b, dict(call), list(context), tool.name, more]

    schema: Json = {**INTERFACE, "properties": {**INTERFACE["properties"], "c": {}}}
    tools = serving(mixed, schema)
    assert await tools(call("it", a=1, b=3, c=[4])) == [
        1,
        3,
        {"_tool": "it", "a": 1, "b": 3, "c": [4]},
        [],
        "it",
        {"c": [4]},
    ]


@pytest.mark.rule("A2")
async def test_a_parameter_that_is_left_out_takes_the_functions_default() -> None:
    arguments: list[Any] = []

    async def take(a: int, b: int = 9, c: str | None = None) -> None:
        arguments.append((a, b, c))

    await serving(take, {**INTERFACE, "properties": {**INTERFACE["properties"], "c": {"type": "string"}}})(
        call("it", a=1)
    )
    assert arguments == [(1, 9, None)]


@pytest.mark.rule("A2")
async def test_a_sync_activity_runs_in_a_worker_thread() -> None:
    def where() -> str:
        return threading.current_thread().name

    assert await serving(where)(call("it", a=1)) != threading.main_thread().name


@pytest.mark.rule("A2")
@pytest.mark.parametrize("is_async", [False, True], ids=["in a thread", "on the loop"])
async def test_an_activity_that_would_end_the_program_is_a_failed_call(*, is_async: bool) -> None:
    attempts: list[str] = []

    def leave() -> str:
        attempts.append("left")
        sys.exit("no such file")

    async def leave_the_loop() -> str:
        return leave()

    tools = Tools()
    tools.register("leave", {"properties": {"_output": {"type": "string"}, "_effects": "none", "_retries": 1}})
    tools.activity("leave", leave_the_loop if is_async else leave)
    reason = "it would have ended the program: SystemExit: no such file"
    with pytest.raises(errors.ActivityError, match=reason):
        await tools(call("leave"))
    assert len(attempts) == 2
    answers: list[Json] = [{"calls": [{"_tool": "leave"}], "output": "†calls.0"}, {"calls": [], "output": "gone on"}]
    result = await Agent(models.Scripted(answers), tools=tools).run("Leave.", str)
    assert (result.output, [error.tool for error in result.errors]) == ("gone on", ["leave"])


class Colour(enum.StrEnum):
    RED = "red"


class Forecast(BaseModel):
    model_config = ConfigDict(strict=True)
    day: date
    low: float = Field(alias="lowest")


@pytest.mark.rule("A2")
async def test_typed_parameters_arrive_as_what_they_are_typed_as() -> None:
    tools = Tools()
    arguments: list[Any] = []

    @tools.tool
    async def take(
        model: Forecast, many: list[Forecast], when: datetime, colour: Colour, pair: tuple[int, str], numbers: set[int]
    ) -> int:
        arguments.extend([model, many, when, colour, pair, numbers])
        return 1

    assert take.name == "take"
    day: Json = {"day": "2026-01-02", "lowest": 1.5}
    result = await run(
        answer(
            call(
                "take",
                model="†state.day",
                many=["†state.day"],
                when="2026-01-02T03:04:05Z",
                colour="red",
                pair=[1, "x"],
                numbers=[1, 2],
            ),
            output="†calls.0",
        ),
        context=[{"type": "state", "day": day}],
        tools=tools,
    )
    assert result.output == 1
    forecast = Forecast(day=date(2026, 1, 2), lowest=1.5)
    moment = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
    assert arguments == [forecast, [forecast], moment, Colour.RED, (1, "x"), {1, 2}]


@pytest.mark.rule("A2", "C3")
async def test_a_parameter_that_its_type_refuses_is_a_structural_error() -> None:
    class Even(BaseModel):
        n: int

        @field_validator("n")
        @classmethod
        def is_even(cls, n: int) -> int:
            if n % 2:
                raise ValueError("it is odd")
            return n

    tools = Tools()

    async def take(even: Even) -> int:
        return even.n

    take.__annotations__["even"] = Even
    tools.tool(take)
    result = await run(answer(call("take", even={"n": 3})), answer(output=1), tools=tools)
    assert isinstance(result.errors[0], errors.InvalidParameters)
    assert "odd" in result.errors[0].message


@pytest.mark.rule("A2")
def test_an_argument_that_no_call_fills_is_an_error_at_composition() -> None:
    async def take(a: int, nowhere: int) -> int:
        return a + nowhere

    with pytest.raises(errors.SchemaError) as caught:
        agent(tools=serving(take)).compose("go")
    assert "nowhere" in str(caught.value)


@pytest.mark.rule("A2")
async def test_what_an_activity_does_to_its_arguments_reaches_nothing_else() -> None:
    tools = Tools()

    @tools.tool
    async def spoil(value: dict[str, Any]) -> dict[str, Any]:
        value["spoiled"] = True
        return {}

    @tools.tool
    async def read(value: dict[str, Any]) -> dict[str, Any]:
        return value

    assert (spoil.name, read.name) == ("spoil", "read")
    result = await run(
        answer(
            call("spoil", value="†state.x", _outputPath="†state.y"),
            call("read", value="†state *> †state.y"),
            output="†state.x",
        ),
        answer(output="†state.x"),
        context=[{"type": "state", "x": {"k": 1}}],
        tools=tools,
    )
    assert result.output == {"k": 1}


# A3 and the scopes of Activities


def scoped_tools(contexts: list[Context], **meta: Any) -> Tools:
    tools = Tools()

    async def look(context: Context) -> int:
        contexts.append(context)
        return 1

    tools.register("look", {"type": "object", "properties": {"_output": {"type": "integer"}, **meta}})
    tools.activity("look", look)
    return tools


CONTEXT: list[Json] = [
    {"type": "system", "message": "a secret instruction"},
    {"type": "text", "text": "words"},
    {"type": "state", "userId": "u1", "article": {"title": "T", "body": "B"}, "secret": "s", "description": "D"},
    {"type": "input", "input": {"q": 1}, "schema": {"type": "object"}},
    {"type": "data", "kind": "profile", "data": {"name": "Ann"}},
]


@pytest.mark.rule("A3", "S1", "S4", "S6")
async def test_the_scoped_context_gives_each_kind_by_name_and_as_messages() -> None:
    contexts: list[Context] = []
    tools = scoped_tools(contexts, _scopes={"const": ["state", "input", "profile", "text"]})
    await run(answer(call("look"), output=1), context=CONTEXT, tools=tools)
    (context,) = contexts
    assert context.state["userId"] == context["state"]["userId"] == context.get("†state.userId") == "u1"
    assert context.input == {"q": 1}
    assert context["profile"] == {"name": "Ann"}
    assert list(context) == [
        {"type": "text", "text": "words"},
        {"type": "state", "userId": "u1", "article": {"title": "T", "body": "B"}, "secret": "s", "description": "D"},
        {"type": "input", "q": 1, "schema": {"type": "object"}},
        {"type": "data", "kind": "profile", "data": {"name": "Ann"}},
    ]


@pytest.mark.rule("A3", "S3")
@pytest.mark.parametrize("meta", [{}, {"_scopes": {"const": []}}])
async def test_nothing_unscoped_is_reachable(meta: Json) -> None:
    contexts: list[Context] = []
    await run(answer(call("look"), output=1), context=CONTEXT, tools=scoped_tools(contexts, **meta))
    (context,) = contexts
    assert list(context) == []
    assert context.data == {}
    assert context.get("†state.userId", "nothing") == "nothing"
    with pytest.raises(AttributeError):
        _ = context.state
    with pytest.raises(KeyError):
        _ = context["input"]


@pytest.mark.rule("S1")
async def test_a_path_lets_only_that_part_through() -> None:
    contexts: list[Context] = []
    schema: Json = {
        "type": "object",
        "properties": {"article": {"type": "object", "properties": {"title": {"type": "string"}}}, "secret": {}},
        "required": ["article", "secret"],
    }
    tools = scoped_tools(contexts, _scopes={"const": ["state.article.title", "state.absent"]})
    context = [*CONTEXT, {"type": "state", "schema": schema}]
    await run(answer(call("look"), output=1), context=context, tools=tools)
    assert contexts[0].state == {"article": {"title": "T"}}
    assert "secret" not in json.dumps(list(contexts[0]))
    assert contexts[0][0]["schema"] == {
        "type": "object",
        "properties": {"article": {"type": "object", "properties": {"title": {"type": "string"}}}},
    }


@pytest.mark.rule("S2")
async def test_the_model_picks_among_dynamic_scopes_and_no_others() -> None:
    contexts: list[Context] = []
    tools = scoped_tools(contexts, _scopes={"type": "array", "items": {"enum": ["state", "input"]}})
    given = [
        call("look", _scopes=["input"]),
        call("look", _scopes=["profile"]),
        call("look", _scopes="input"),
        call("look"),
    ]
    result = await run(answer(*given), answer(output=1), context=CONTEXT, tools=tools)
    assert [list(context.data) for context in contexts] == [["input"], []]
    assert [type(error) for error in result.errors] == [errors.ScopeDenied] * 2


@pytest.mark.rule("S2", "S3")
async def test_a_model_cannot_give_scopes_to_a_tool_that_has_none_or_fixed_ones() -> None:
    for meta in ({}, {"_scopes": {"const": ["input"]}}):
        contexts: list[Context] = []
        tools = scoped_tools(contexts, **meta)
        result = await run(answer(call("look", _scopes=["state"])), answer(output=1), context=CONTEXT, tools=tools)
        assert contexts == []
        assert isinstance(result.errors[0], errors.ScopeDenied)


@pytest.mark.rule("S5", "A3")
async def test_scopes_know_instances() -> None:
    contexts: list[Context] = []
    tools = scoped_tools(contexts, _scopes={"const": ["state", "text"]})
    context: list[Json] = [
        {"type": "state", "shared": 1, "own": 0, "description": "all"},
        {"type": "state", "own": 1, "_instance": "①", "description": "of one"},
        {"type": "state", "own": 2, "_instance": "②", "description": "of two"},
        {"type": "text", "text": "to all"},
        {"type": "text", "text": "to two", "_instance": "②"},
    ]
    calls = [call("look", _instance="①"), call("look", _instance="②"), call("look")]
    await run(answer(*calls, output=1), context=context, tools=tools)
    assert [list(context) for context in contexts] == [
        [{"type": "state", "shared": 1, "own": 1, "description": "of one"}, {"type": "text", "text": "to all"}],
        [
            {"type": "state", "shared": 1, "own": 2, "description": "of two"},
            {"type": "text", "text": "to all"},
            {"type": "text", "text": "to two"},
        ],
        [{"type": "state", "shared": 1, "own": 0, "description": "all"}, {"type": "text", "text": "to all"}],
    ]


@pytest.mark.rule("S6")
async def test_no_history_crosses() -> None:
    contexts: list[Context] = []
    tools = scoped_tools(contexts, _scopes={"const": ["state"]})

    @tools.tool(_outputPath="†state.x")
    async def write(value: str) -> str:
        return value

    @tools.tool(_outputPath="†state.gone", _outputMethod="erase")
    async def erase() -> bool:
        return True

    assert (write.name, erase.name) == ("write", "erase")
    context: list[Json] = [{"type": "state", "x": "overwritten", "gone": "erased"}]
    await run(
        answer(call("write", value="new"), call("erase")), answer(call("look"), output=1), context=context, tools=tools
    )
    assert list(contexts[0]) == [{"type": "state", "x": "new"}]


@pytest.mark.rule("S6", "A3")
async def test_a_registered_data_kind_crosses_folded() -> None:
    contexts: list[Context] = []
    tools = scoped_tools(contexts, _scopes={"const": ["profile"]})
    runner = agent(answer(call("look"), output=1), tools=tools, message_types={"profile": dict})
    await runner.run([{"type": "profile", "name": "Ann", "age": 5}, {"type": "profile", "age": 6}])
    assert contexts[0].profile == {"name": "Ann", "age": 6}
    assert len(contexts[0]) == 1


@pytest.mark.rule("S7")
async def test_what_stands_outside_the_scopes_changes_nothing_of_the_scoped_context() -> None:
    contexts: list[Context] = []
    tools = scoped_tools(contexts, _scopes={"const": ["input", "state.article"]})
    inside: list[Json] = [{"type": "input", "q": 1}, {"type": "state", "article": "A"}]
    outside: list[Json] = [
        {"type": "state", "secret": 1},
        {"type": "data", "data": 5},
        *inside,
        {"type": "text", "text": "words"},
        {"type": "state", "secret": 2, "schema": {"type": "object", "properties": {"secret": {"type": "integer"}}}},
    ]
    for context in (inside, outside):
        await run(answer(call("look"), output=1), context=context, tools=tools)
    assert json.dumps(list(contexts[0])) == json.dumps(list(contexts[1]))


@pytest.mark.rule("A3")
async def test_the_scoped_context_of_one_call_cannot_be_changed_by_another() -> None:
    contexts: list[Context] = []
    tools = scoped_tools(contexts, _scopes={"const": ["state"]})

    @tools.tool(_scopes=["state"])
    async def spoil(context: Context) -> int:
        context[0]["article"]["title"] = "spoiled"
        context.state["userId"] = "spoiled"
        return 1

    assert spoil.name == "spoil"
    result = await run(
        answer(call("spoil", _outputPath="†done.x")), answer(call("look"), output=1), context=CONTEXT, tools=tools
    )
    assert "spoiled" not in json.dumps([list(context) for context in contexts]) + json.dumps(list(result.context))


# A4


@pytest.mark.rule("A4")
@pytest.mark.parametrize(
    ("message", "appended"),
    [
        (Text("words"), {"type": "text", "text": "words"}),
        (Text("words", role="system"), {"type": "text", "text": "words", "role": "system"}),
        (System("rule"), {"type": "system", "message": "rule"}),
        (State({"x": 1}), {"type": "state", "state": {"x": 1}}),
        (Input({"q": 1}), {"type": "input", "input": {"q": 1}}),
        (Data(data=[1], kind="found"), {"type": "data", "kind": "found", "data": [1]}),
    ],
    ids=lambda value: type(value).__name__,
)
async def test_a_message_object_is_appended_as_it_is(message: Any, appended: Json) -> None:
    result = await run(answer(call("it", a=1), output=1), tools=serving(lambda: message))
    last = left(result)
    assert {key: value for key, value in last.items() if key not in {"_call", "_date", "_of"}} == appended
    assert last["_call"] == call("it", a=1)


@pytest.mark.rule("A4")
@pytest.mark.parametrize("several", [list, tuple])
async def test_several_message_objects_are_all_appended_in_order(several: Callable[[Any], Any]) -> None:
    given = several([State({"x": 1}), Text("words"), State({"y": 2})])
    result = await run(answer(call("it", a=1), output=None), answer(output="†state"), tools=serving(lambda: given))
    assert types(result)[1:] == ["state", "text", "state"]
    assert result.output == {"x": 1, "y": 2}


@dataclasses.dataclass
class Point:
    x: int
    when: datetime


class Reading(BaseModel):
    at: date
    value: float = Field(serialization_alias="reading")


RETURNED: list[tuple[Any, Any]] = [
    ({"type": "state", "state": {"x": 1}}, {"type": "state", "state": {"x": 1}}),
    ({"a": [1, None]}, {"a": [1, None]}),
    ([{"type": "text", "text": "x"}], [{"type": "text", "text": "x"}]),
    ([], []),
    ((1, 2), [1, 2]),
    ("text", "text"),
    (0, 0),
    (False, False),
    ("", ""),
    (Point(1, datetime(2026, 1, 2, tzinfo=UTC)), {"x": 1, "when": "2026-01-02T00:00:00Z"}),
    (Reading(at=date(2026, 1, 2), value=1.5), {"at": "2026-01-02", "reading": 1.5}),
    ([Reading(at=date(2026, 1, 2), value=1.5)], [{"at": "2026-01-02", "reading": 1.5}]),
    (date(2026, 1, 2), "2026-01-02"),
    (Decimal("1.50"), "1.50"),
    ({1: "a"}, {"1": "a"}),
    (Colour.RED, "red"),
    ([Text("mixed"), 1], [{"text": "mixed", "role": "user"}, 1]),
]


@pytest.mark.rule("A4")
@pytest.mark.parametrize(("returned", "value"), RETURNED, ids=lambda value: repr(value)[:40])
async def test_anything_else_is_encoded_and_written_at_the_output_path(returned: Any, value: Any) -> None:
    tools = serving(lambda: returned, {"type": "object", "properties": {"_output": {}}, "_outputPath": "†state.x"})
    result = await run(answer(call("it"), output="†state.x"), tools=tools)
    assert json.dumps(result.output) == json.dumps(value)
    last = left(result)
    assert (last["type"], last["state"]) == ("state", {"x": value})
    json.dumps(list(result.context), allow_nan=False)


CIRCLE: list[Any] = []
CIRCLE.append(CIRCLE)


@pytest.mark.rule("A4")
@pytest.mark.parametrize(
    "returned",
    [
        float("nan"),
        float("inf"),
        {"x": [float("nan")]},
        Reading(at=date(2026, 1, 2), value=float("nan")),
        object(),
        "\ud800",
        {"\ud800": 1},
        CIRCLE,
        10**5000,
        functools.reduce(lambda inner, _: [inner], range(500), []),  # pyright: ignore[reportUnknownLambdaType] -- nested
    ],
    ids=lambda value: type(value).__name__,
)
async def test_what_is_not_json_is_a_typed_error_of_its_call_and_siblings_go_on(returned: Any) -> None:
    tools = serving(lambda: returned)
    tools.tool(name="good")(none)
    result = await run(answer(call("it", a=1), call("good")), answer(output="done"), tools=tools)
    assert result.output == "done"
    assert [type(error) for error in result.errors] == [errors.InvalidResult]
    assert result.errors[0].tool == "it"
    assert types(result) == ["text", "data", "error"]


@pytest.mark.rule("A4")
async def test_a_result_that_does_not_fit_is_an_error_of_its_call() -> None:
    schema: Json = {"type": "object", "properties": {"_output": {"type": "integer"}}, "_outputPath": "†state.x"}
    tools = serving(lambda: "no integer", schema)
    result = await run(answer(call("it")), answer(output="done"), tools=tools)
    assert isinstance(result.errors[0], errors.InvalidResult)
    assert (result.errors[0].tool, result.errors[0].path) == ("it", "_output")
    assert result.context.get("†state.x") is None
    with pytest.raises(errors.InvalidResult):
        await tools(call("it"))


@pytest.mark.rule("A4")
async def test_the_result_is_judged_by_definitions_of_the_tool_as_well() -> None:
    schema: Json = {
        "type": "object",
        "properties": {"_output": {"type": "array", "items": {"$ref": "#/$defs/N"}}},
        "$defs": {"N": {"type": "integer"}},
        "_scopes": ["state"],
    }
    assert await serving(lambda: [1, 2], schema)(call("it")) == [1, 2]
    with pytest.raises(errors.InvalidResult):
        await serving(lambda: [1, "2"], schema)(call("it"))


@pytest.mark.rule("A4", "T9")
@pytest.mark.parametrize("written", [{"a": "†state.n"}, {"_with": {"a": "†state.n"}}])
async def test_the_record_keeps_the_call_as_authored(written: Json) -> None:
    authored = call("it", **written, _outputPath="†state.out")
    result = await run(answer(authored, output="†state.out"), context=[{"type": "state", "n": 2}], tools=serving(plain))
    assert result.output == 7
    assert left(result)["_call"] == authored


# A5


@pytest.mark.rule("A5")
async def test_an_activity_never_sees_a_reference() -> None:
    arguments: list[Any] = []

    async def take(call: Call, a: int, **rest: Any) -> int:
        arguments.append([dict(call), a, rest])
        return 1

    schema: Json = {**INTERFACE, "properties": {**INTERFACE["properties"], "deep": {}}}
    await run(
        answer(call("it", a="†state.n", deep={"l": ["†state.l[0]", {"k": "†state"}]}), output=1),
        context=[{"type": "state", "n": 2, "l": ["x"]}],
        tools=serving(take, schema),
    )
    assert "†" not in json.dumps(arguments, ensure_ascii=False)
    assert arguments[0][1:] == [2, {"deep": {"l": ["x", {"k": {"n": 2, "l": ["x"]}}]}}]


@pytest.mark.rule("A5", "O1")
async def test_a_doubled_dagger_is_a_literal_one() -> None:
    schema: Json = {"type": "object", "properties": {"s": {"type": "string"}, "_output": {}}}
    result = await run(answer(call("it", s="††state.x"), output="†calls.0"), tools=serving(as_list, schema))
    assert result.output == ["†state.x"]


@pytest.mark.rule("A5", "C3")
async def test_an_activity_does_not_run_when_its_references_or_parameters_are_wrong() -> None:
    ran: list[Any] = []

    def run_it(a: int) -> None:
        ran.append(a)

    tools = serving(run_it)
    calls = [call("it", a="†state.absent"), call("it", a="words"), call("it")]
    result = await run(answer(*calls), answer(output=1), tools=tools)
    assert ran == []
    assert [isinstance(error, errors.CallError) for error in result.errors] == [True] * 3


@pytest.mark.rule("A2", "A5")
async def test_an_activity_that_raises_is_an_error_of_its_call() -> None:
    async def broken(a: int) -> int:
        raise ValueError(f"no {a}")

    runner = agent(answer(call("it", a=1)), answer(output=1), tools=serving(broken))
    async with runner.stream("go") as stream:
        failed = [event.error async for event in stream if isinstance(event, events.CallFailed)]
    assert isinstance(failed[0], errors.ActivityError)
    assert isinstance(failed[0].__cause__, ValueError)
    assert "no 1" in str(failed[0])


@pytest.mark.rule("A2")
async def test_two_sync_activities_run_at_once() -> None:
    barrier = threading.Barrier(2, timeout=10)

    def meet(a: int) -> int:
        barrier.wait()
        return a

    tools = serving(meet)
    assert await asyncio.wait_for(tools.all([call("it", a=1), call("it", a=2)]), 20) == [1, 2]
