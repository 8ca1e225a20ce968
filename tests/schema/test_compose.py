"""The composed schema: it takes exactly what the runtime takes, in stable bytes, with every definition in its place."""

from __future__ import annotations

import itertools
import json
from typing import Any, cast

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from actum.protocol.call_schema import Offer, call_schema
from actum.protocol.declaration import parse_tool
from actum.schema.compose import compose
from actum.schema.gathering import closed, or_reference, takes_references
from actum.schema.json import JsonObject as Json
from actum.schema.json import copy, encode
from actum.schema.validator import Validator
from actum.schema.walk import with_ordered_required

from ..effort import trials

NAMES = st.sampled_from(["a", "b", "c", "type", "properties", "required", "$ref_", "items"])


def _object(inner: st.SearchStrategy[Json]) -> st.SearchStrategy[Json]:
    def object_schema(properties: Json, picks: list[int], extra: Any) -> Json:
        names = list(properties)
        required = sorted({names[pick % len(names)] for pick in picks}, reverse=True) if names else []
        return {
            "type": "object",
            "properties": properties,
            **({"required": required} if required else {}),
            **({} if extra is None else {"additionalProperties": extra}),
        }

    return st.builds(
        object_schema,
        st.dictionaries(NAMES, inner, max_size=3),
        st.lists(st.integers(0, 5), max_size=3),
        st.none() | st.booleans(),
    )


LEAVES = st.sampled_from(
    [
        {"type": "string"},
        {"type": "string", "minLength": 5},
        {"type": "string", "pattern": "^x"},
        {"type": "integer", "minimum": 1},
        {"type": "number"},
        {"type": "boolean"},
        {"type": "null"},
        {"enum": ["x", 1, None]},
        {"const": "x"},
        {"type": ["string", "integer"]},
        {},
        {"$ref": "#/$defs/D"},
        {"$ref": "#/$defs/E"},
    ]
)
SCHEMAS: st.SearchStrategy[Json] = st.recursive(
    LEAVES,
    lambda inner: (
        _object(inner)
        | inner.map(lambda items: {"type": "array", "items": items})
        | st.lists(inner, min_size=1, max_size=2).map(lambda options: {"anyOf": options})
        | st.lists(inner, min_size=2, max_size=2).map(lambda parts: {"allOf": parts})
    ),
    max_leaves=6,
)
DEFINITIONS = st.fixed_dictionaries({"D": _object(LEAVES), "E": LEAVES.filter(lambda schema: "$ref" not in schema)})


def _with(schema: Json, definitions: Json) -> Json:
    return {**schema, "$defs": definitions}


TOOLS = st.builds(_with, _object(SCHEMAS), DEFINITIONS)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-1, 2) | st.sampled_from(["x", "xylophone", ""]),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(NAMES, inner, max_size=3),
    max_leaves=5,
)
OBJECTS = st.dictionaries(NAMES, VALUES, max_size=3)


def composed_of(*schemas: Json, references: Any = "wide", output: Json | None = None) -> Json:
    tools = [parse_tool(schema, f"t{number}") for number, schema in enumerate(schemas)]
    offer = Offer(references=references)
    return compose(output or {}, [call_schema(tool, offer, is_latent=True) for tool in tools])


def answered(calls: list[Json], output: Any = None) -> Json:
    return {"calls": calls, "output": output, "meta": {}}


@pytest.mark.rule("T5", "C3")
@settings(max_examples=trials(300))
@given(st.lists(TOOLS, min_size=1, max_size=3), st.lists(OBJECTS, min_size=1, max_size=3))
def test_the_composed_schema_takes_exactly_the_literal_calls_that_the_runtime_takes(
    schemas: list[Json], values: list[Json]
) -> None:
    composed = Validator(composed_of(*schemas))
    for (number, schema), value in itertools.product(enumerate(schemas), values):
        is_taken = parse_tool(schema, f"t{number}").validator.accepts(value)
        assert composed.accepts(answered([{"_tool": f"t{number}", **value}])) is is_taken
    assert not composed.accepts(answered([{"_tool": "t99"}]))


@pytest.mark.rule("T5", "T9")
@settings(max_examples=trials(200))
@given(TOOLS, OBJECTS, st.data())
def test_any_parameter_may_be_a_reference(schema: Json, value: Json, data: st.DataObject) -> None:
    tool = parse_tool(schema, "t0")
    if not tool.validator.accepts(value) or not value:
        return
    name = data.draw(st.sampled_from(sorted(value)))
    if name not in schema["properties"]:
        return
    assert Validator(composed_of(schema)).accepts(answered([{"_tool": "t0", **value, name: "†state.x"}]))
    aside = Validator(composed_of(schema, references="aside"))
    assert aside.accepts(answered([{"_tool": "t0", **value, "_with": {name: "†state.x"}}]))


@pytest.mark.rule("T5")
@settings(max_examples=trials(300))
@given(SCHEMAS, DEFINITIONS, st.lists(VALUES, min_size=1, max_size=4))
def test_the_composed_output_takes_exactly_what_the_runtime_takes_or_null(
    schema: Json, definitions: Json, values: list[Any]
) -> None:
    output = {**schema, "$defs": definitions}
    composed, judge = Validator(composed_of(output=output)), Validator(closed(output))
    original = Validator(output)
    for value in values:
        is_taken = judge.accepts(value)
        assert composed.accepts(answered([], value)) is (is_taken or value is None)
        assert original.accepts(value) or not is_taken
    assert composed.accepts(answered([], None))


@pytest.mark.rule("T5", "T10")
@settings(max_examples=trials(150))
@given(st.lists(TOOLS, max_size=3), SCHEMAS, DEFINITIONS)
def test_composing_is_deterministic_and_leaves_its_parts_as_they_were(
    schemas: list[Json], output: Json, definitions: Json
) -> None:
    whole = {**output, "$defs": definitions}
    before = copy([schemas, whole])
    first = encode(composed_of(*schemas, output=whole))
    assert encode(composed_of(*schemas, output=whole)) == first
    assert [schemas, whole] == before


def schemas_in(value: Any, *, by_name: bool = False) -> list[Json]:
    """All schemas in a schema; what stands in `properties` and `$defs` is a map of schemas and none itself."""
    if isinstance(value, list):
        return [schema for item in cast("list[Any]", value) for schema in schemas_in(item)]
    if not isinstance(value, dict):
        return []
    members = cast("Json", value)
    inner = [
        schema
        for key, member in members.items()
        if by_name or key not in {"const", "enum", "default", "examples"}
        for schema in schemas_in(member, by_name=not by_name and key in {"properties", "$defs"})
    ]
    return inner if by_name else [members, *inner]


@pytest.mark.rule("T5")
@settings(max_examples=trials(150))
@given(st.lists(TOOLS, min_size=1, max_size=2), SCHEMAS, DEFINITIONS)
def test_required_stands_in_the_order_of_properties_everywhere(
    schemas: list[Json], output: Json, definitions: Json
) -> None:
    for schema in schemas_in(composed_of(*schemas, output={**output, "$defs": definitions})):
        if "required" in schema and "properties" in schema:
            order = list(schema["properties"])
            assert schema["required"] == sorted(schema["required"], key=order.index)


def referring(to: str, **definitions: Json) -> Json:
    return {"type": "object", "properties": {"p": {"$ref": to}}, "required": ["p"], "$defs": definitions}


@pytest.mark.rule("T10")
def test_definitions_of_one_name_that_differ_are_kept_apart() -> None:
    number = referring("#/$defs/Item", Item={"$ref": "#/$defs/Inner"}, Inner={"type": "integer"})
    text = referring("#/$defs/Item", Item={"$ref": "#/$defs/Inner"}, Inner={"type": "boolean"})
    composed = composed_of(number, text, number)
    judge = Validator(composed)
    for tool, value, is_taken in [
        ("t0", 1, True),
        ("t1", 1, False),
        ("t1", True, True),
        ("t0", True, False),
        ("t2", 1, True),
    ]:
        assert judge.accepts(answered([{"_tool": tool, "p": value}])) is is_taken
    assert len(composed["$defs"]) == 4


@pytest.mark.rule("T10")
def test_names_that_need_escaping_are_found() -> None:
    odd = referring("#/$defs/a~1b~0c", **{"a/b~c": {"type": "integer"}})
    judge = Validator(composed_of(odd))
    assert judge.accepts(answered([{"_tool": "t0", "p": 1}]))
    assert not judge.accepts(answered([{"_tool": "t0", "p": True}]))


def nested(depth: int) -> Json:
    return {"v": 1, "children": [nested(depth - 1)] if depth else []}


RECURSIVE: Json = {
    "properties": {"v": {"type": "integer"}, "children": {"type": "array", "items": {"$ref": "#"}}},
    "required": ["v"],
    "additionalProperties": False,
    "type": "object",
}


@pytest.mark.rule("T5", "T10")
@pytest.mark.parametrize("reference", ["#", "#/$defs/Node"])
def test_recursive_tools_and_outputs_stay_recursive(reference: str) -> None:
    node: Json = json.loads(json.dumps(RECURSIVE).replace('"#"', json.dumps(reference)))
    schema = node if reference == "#" else {**node, "$defs": {"Node": node}}
    tool = parse_tool(schema, "t0")
    judge = Validator(composed_of(schema, output=schema))
    for good in (nested(0), nested(4)):
        assert tool.validator.accepts(good)
        assert judge.accepts(answered([{"_tool": "t0", **good}], good))
    bad = nested(3)
    bad["children"][0]["children"][0]["v"] = "x"
    assert not tool.validator.accepts(bad)
    assert not judge.accepts(answered([{"_tool": "t0", **bad}]))
    assert not judge.accepts(answered([], bad))
    assert judge.accepts(answered([{"_tool": "t0", "v": 1, "children": "†state.x"}]))


@pytest.mark.rule("T5")
def test_a_reference_into_the_parameters_is_followed() -> None:
    schema: Json = {
        "type": "object",
        "properties": {"a": {"type": "integer", "minimum": 3}, "b": {"$ref": "#/properties/a"}},
    }
    judge = Validator(composed_of(schema, output=schema))
    assert judge.accepts(answered([{"_tool": "t0", "b": 3}], {"b": 3}))
    assert not judge.accepts(answered([{"_tool": "t0", "b": 2}]))
    assert not judge.accepts(answered([], {"b": 2}))


TOGETHER: list[Json] = [
    {
        "type": "object",
        "properties": {"kind": {"type": "string"}},
        "required": ["kind"],
        "anyOf": [{"properties": {"x": {"type": "integer"}}, "required": ["x"]}, {"properties": {"y": {}}}],
    },
    {
        "allOf": [{"$ref": "#/$defs/Base"}, {"properties": {"x": {"type": "integer"}}, "required": ["x"]}],
        "$defs": {"Base": {"type": "object", "properties": {"kind": {"type": "string"}}, "required": ["kind"]}},
    },
    {
        "$ref": "#/$defs/Base",
        "properties": {"x": {"type": "integer"}},
        "$defs": {
            "Base": {"anyOf": [{"$ref": "#/$defs/A"}]},
            "A": {"type": "object", "properties": {"kind": {"type": "string"}}},
        },
    },
    {
        "type": "object",
        "properties": {"kind": {}, "x": {}},
        "if": {"properties": {"kind": {"const": "none"}}},
        "then": {"properties": {"x": {"type": "null"}}},
    },
]


@pytest.mark.rule("T5")
@pytest.mark.parametrize(
    "schema",
    TOGETHER,
    ids=["anyOf beside properties", "allOf of a definition", "$ref beside properties", "if"],
)
def test_an_object_that_several_schemas_judge_is_not_closed_by_one_of_them(schema: Json) -> None:
    value = {"kind": "a", "x": 1}
    assert Validator(schema).accepts(value)
    assert Validator(closed(schema)).accepts(value)
    assert Validator(composed_of(output=schema)).accepts(answered([], value))


@pytest.mark.rule("T5")
def test_the_variants_of_a_union_are_closed() -> None:
    cat: Json = {"type": "object", "properties": {"kind": {"const": "cat"}}, "required": ["kind"]}
    dog: Json = {"type": "object", "properties": {"kind": {"const": "dog"}}, "required": ["kind"]}
    union: Json = {"oneOf": [{"$ref": "#/$defs/Cat"}, {"$ref": "#/$defs/Dog"}], "$defs": {"Cat": cat, "Dog": dog}}
    judge = Validator(closed(union))
    assert judge.accepts({"kind": "cat"})
    assert not judge.accepts({"kind": "cat", "more": 1})


@pytest.mark.rule("T9")
@pytest.mark.parametrize(
    ("schema", "as_it_is"),
    [
        ({"type": "string"}, True),
        ({"type": "string", "minLength": 1}, True),
        ({}, True),
        (True, True),
        ({"type": ["string", "null"]}, True),
        ({"anyOf": [{"type": "string"}, {"type": "null"}]}, True),
        ({"type": "string", "minLength": 9}, False),
        ({"type": "string", "maxLength": 5}, False),
        ({"type": "string", "format": "date"}, False),
        ({"type": "string", "enum": ["a"]}, False),
        ({"const": "a"}, False),
        ({"type": "integer"}, False),
        ({"$ref": "#/$defs/X"}, False),
        (False, False),
    ],
)
def test_a_schema_that_takes_any_string_needs_no_second_form(schema: Any, as_it_is: bool) -> None:
    assert takes_references(schema) is as_it_is
    assert (or_reference(schema) == schema) is as_it_is


def test_values_in_a_schema_are_not_put_in_order() -> None:
    value: Json = {"properties": {"b": 1, "a": 2}, "required": ["a", "b"]}
    schema: Json = {"default": value, "properties": {"default": {**value, "properties": {"b": {}, "a": {}}}}}
    ordered = with_ordered_required(schema)
    assert ordered["default"]["required"] == ["a", "b"]
    assert ordered["properties"]["default"]["required"] == ["b", "a"]


@pytest.mark.rule("T5")
@pytest.mark.parametrize("keyword", ["const", "enum", "default", "examples"])
@pytest.mark.parametrize("reference", ["#", "#/$defs/x", "#/properties/a"])
def test_a_reference_in_a_value_is_a_value(keyword: str, reference: str) -> None:
    value: Json = {"$ref": reference, "deep": [{"$ref": reference}]}
    part: Json = {keyword: [value] if keyword in {"enum", "examples"} else value}
    # Another `x` comes first, so that a reference to this one would have to be changed.
    output: Json = {"type": "object", "properties": {"a": {"$ref": "#/$defs/x"}}, "$defs": {"x": {"type": "null"}}}
    tool: Json = {
        "type": "object",
        "properties": {"a": part, "b": {"$ref": "#/$defs/x"}},
        "$defs": {"x": {"type": "number"}},
    }
    composed = compose(output, [output, tool])
    mine = composed["properties"]["calls"]["items"]["anyOf"][1]["properties"]
    assert mine["a"] == part
    assert mine["b"] == {"$ref": "#/$defs/x_2"}
    assert set(composed["$defs"]) == {"x", "x_2"}


@pytest.mark.rule("T5")
@pytest.mark.parametrize("keyword", ["patternProperties", "contains", "dependentSchemas", "propertyNames"])
def test_a_definition_is_judged_together_wherever_the_schema_that_does_so_is_held(keyword: str) -> None:
    both: Json = {"allOf": [{"$ref": "#/$defs/a"}, {"properties": {"y": True}}]}
    held: Json = {keyword: {"^x": both} if keyword in {"patternProperties", "dependentSchemas"} else both}
    schema: Json = {**held, "$defs": {"a": {"type": "object", "properties": {"x": True}}}}
    assert closed(schema) == schema
