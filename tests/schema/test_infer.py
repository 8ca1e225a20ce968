"""Python types as JSON Schema: tools made of functions, outputs made of types."""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import date
from typing import Annotated, Any, Literal

import pytest
from pydantic import BaseModel, ConfigDict, Field, computed_field, create_model, field_validator
from typing_extensions import TypedDict

from actum import Agent, Tools, errors, models
from actum.schema.infer import schema_like, shape_of
from actum.schema.json import JsonObject as Json
from actum.schema.validator import Validator


def first() -> type[BaseModel]:
    class Item(BaseModel):
        n: int

    return Item


def second() -> type[BaseModel]:
    class Item(BaseModel):
        s: str

    return Item


class Node(BaseModel):
    v: int
    children: list[Node] = []


class Money(BaseModel):
    amount: int = 0

    @computed_field
    @property
    def cents(self) -> int:
        return self.amount * 100


class Box(BaseModel):
    content: Money
    spare: Money | None = None


class Point(TypedDict):
    x: float
    y: float


@dataclass
class Line:
    start: Point
    end: Point


def answer(call: Json) -> Json:
    return {"calls": [call], "output": "†calls.0", "meta": {}}


async def value_of(tools: Tools, call: Json) -> Any:
    """What a call comes to in a run, once the composed schema has taken it."""
    agent = Agent(models.Scripted([answer(call)]), tools=tools)
    composed = Validator(agent.compose("go"))
    assert composed.accepts(answer(call)), composed.complaint(answer(call))
    return (await agent.run("go")).output


@pytest.mark.rule("A2", "T10")
async def test_classes_of_one_name_from_different_places_are_kept_apart() -> None:
    tools = Tools()
    item, other = first(), second()
    # a name that is shared stands in $defs only where the class isn't the parameter's own schema
    many, others = create_model("Many", items=(list[item], ...)), create_model("Others", items=(list[other], ...))  # type: ignore[valid-type]

    async def take(a: Any, b: Any) -> Any:
        return [type(a).__name__, a.items[0].n, type(b).__name__, b.items[0].s]

    take.__annotations__ = {"a": many, "b": others}
    tools.tool(take)
    given: Json = {"_tool": "take", "a": {"items": [{"n": 1}]}, "b": {"items": [{"s": "x"}]}}
    assert await value_of(tools, given) == ["Many", 1, "Others", "x"]
    for wrong in ({**given, "a": {"items": [{"s": "x"}]}}, {**given, "b": {"items": [{"n": 1}]}}):
        with pytest.raises(errors.InvalidParameters):
            await tools(wrong)


@pytest.mark.rule("A2", "A4")
async def test_a_class_that_is_taken_and_returned_has_both_of_its_schemas() -> None:
    tools = Tools()

    @tools.tool
    async def grow(box: Box, many: list[Box]) -> list[Box]:
        return [box, *many]

    assert grow.tool is not None
    # what is taken knows no computed field, what is returned always has it
    assert await value_of(tools, {"_tool": "grow", "box": {"content": {}}, "many": [{"content": {"amount": 2}}]}) == [
        {"content": {"amount": 0, "cents": 0}, "spare": None},
        {"content": {"amount": 2, "cents": 200}, "spare": None},
    ]
    judge = grow.tool.output_validator
    assert judge is not None
    assert not judge.accepts([{"content": {"amount": 1}, "spare": None}])


@pytest.mark.rule("A2", "T10")
async def test_recursive_models_are_taken_and_returned() -> None:
    tools = Tools()

    @tools.tool
    async def sum_up(tree: Node, other: Node) -> Node:
        return Node(v=tree.v + other.v, children=[tree, other])

    assert sum_up.name == "sum_up"
    tree: Json = {"v": 1, "children": [{"v": 2, "children": []}]}
    total = await value_of(tools, {"_tool": "sum_up", "tree": tree, "other": {"v": 5}})
    assert total == {"v": 6, "children": [tree, {"v": 5, "children": []}]}
    with pytest.raises(errors.InvalidParameters):
        await tools({"_tool": "sum_up", "tree": {"v": 1, "children": [{"v": "x"}]}, "other": {"v": 1}})


@pytest.mark.rule("A2")
async def test_typed_dicts_dataclasses_and_annotations_are_understood() -> None:
    tools = Tools()

    @tools.tool
    async def length(line: Line, unit: Literal["m", "km"] = "m", times: Annotated[int, Field(ge=1)] = 1) -> Point:
        """How long a line is.

        In a unit.
        """
        return Point(x=(line.end["x"] - line.start["x"]) * times, y=len(unit))

    assert length.tool is not None
    assert length.tool.description == "How long a line is.\n\nIn a unit."
    line = {"start": {"x": 1, "y": 0}, "end": {"x": 4, "y": 0}}
    assert await value_of(tools, {"_tool": "length", "line": line, "times": 2}) == {"x": 6, "y": 1}
    with pytest.raises(errors.InvalidParameters):
        await tools({"_tool": "length", "line": line, "times": 0})


@pytest.mark.rule("T10")
def test_made_up_titles_are_left_out_and_properties_called_title_are_kept() -> None:
    class Book(BaseModel):
        title: str
        default: str = "title"

    schema = shape_of(Book).schema
    assert list(schema["properties"]) == ["title", "default"]
    assert schema["properties"]["default"]["default"] == "title"
    assert "title" not in schema
    assert "title" not in schema["properties"]["title"]


@pytest.mark.parametrize("annotation", [object, complex, "Nowhere"])
def test_what_has_no_schema_is_an_error_that_names_the_tool_and_the_parameter(annotation: Any) -> None:
    def take(a: Any) -> int:
        return len(str(a))

    class Odd:
        pass

    take.__annotations__["a"] = Odd if annotation in {object, complex} else annotation
    with pytest.raises(errors.SchemaError) as caught:
        Tools().tool(take)
    assert "take" in str(caught.value)


class Report(BaseModel):
    model_config = ConfigDict(strict=True)
    day: date
    total: int = Field(ge=0)

    @field_validator("total")
    @classmethod
    def is_even(cls, total: int) -> int:
        if total % 2:
            raise ValueError("it is odd")
        return total


def scripted(*outputs: Any) -> Agent:
    return Agent(models.Scripted([{"calls": [], "output": output, "meta": {}} for output in outputs]), tools=Tools())


async def test_an_output_is_an_instance_of_the_type_that_was_asked_for() -> None:
    result = await scripted({"day": "2026-01-02", "total": 2}).run("go", Report)
    assert result.output == Report(day=date(2026, 1, 2), total=2)


@pytest.mark.parametrize(
    ("schema", "output", "expected"),
    [
        (list[int], [1, 2], [1, 2]),
        (int, 5, 5),
        (dict[str, date], {"a": "2026-01-02"}, {"a": date(2026, 1, 2)}),
        (tuple[int, str], [1, "x"], (1, "x")),
        (set[int], [1, 2], {1, 2}),
        (Literal["a", "b"], "a", "a"),
        (Node, {"v": 1, "children": [{"v": 2}]}, Node(v=1, children=[Node(v=2)])),
        (Line, {"start": {"x": 1, "y": 2}, "end": {"x": 3, "y": 4}}, Line(Point(x=1, y=2), Point(x=3, y=4))),
        (Box | Point, {"x": 1, "y": 2}, {"x": 1, "y": 2}),
    ],
)
async def test_any_type_that_pydantic_understands_can_be_asked_for(schema: Any, output: Any, expected: Any) -> None:
    assert (await scripted(output).run("go", schema)).output == expected


@pytest.mark.rule("L3")
async def test_an_output_that_its_type_refuses_is_asked_for_again_with_the_reason() -> None:
    agent = scripted({"day": "2026-01-02", "total": 3}, {"day": "2026-01-02", "total": 4})
    result = await agent.run("go", Report)
    assert result.output.total == 4
    model = agent.model
    assert isinstance(model, models.Scripted)
    assert "odd" in json.dumps(model.requests[1].messages)


async def test_an_output_schema_that_is_none_is_refused_before_anything_is_asked() -> None:
    agent = scripted(1)
    for schema in ({"type": "strng"}, 5, "text"):
        with pytest.raises(errors.SchemaError):
            await agent.run("go", schema)  # pyright: ignore[reportCallIssue, reportArgumentType] -- not even a schema
    model = agent.model
    assert isinstance(model, models.Scripted)
    assert model.requests == []


@pytest.mark.rule("X2")
@pytest.mark.parametrize(
    ("value", "schema"),
    [
        (None, {}),
        (True, {"type": "boolean"}),
        (1, {"type": "number"}),
        (1.5, {"type": "number"}),
        ("", {"type": "string"}),
        ([], {"type": "array"}),
        ([1, 2.5], {"type": "array", "items": {"type": "number"}}),
        ([1, "x"], {"type": "array"}),
        ({"a": [True]}, {"type": "object", "properties": {"a": {"type": "array", "items": {"type": "boolean"}}}}),
    ],
)
def test_a_schema_like_a_value_says_its_types_and_nothing_of_what_it_holds(value: Any, schema: Any) -> None:
    assert schema_like(value) == schema
    assert Validator(schema).accepts(value)
