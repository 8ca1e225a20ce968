"""A tool and its delegate as one contract, as a table of what each of them says (D8)."""

from __future__ import annotations

import pytest

from actum import Tool, errors
from actum.protocol.contract import merge_contract, merge_interface
from actum.protocol.declaration import parse_tool
from actum.schema.json import JsonObject as Json

pytestmark = pytest.mark.rule("D8")
TEXT: Json = {"type": "string"}
WHOLE: Json = {"type": "integer"}


def merged(schema: Json, takes: Json | None = None, gives: Json | None = None, defaults: tuple[str, ...] = ()) -> Tool:
    return merge_contract(parse_tool({"_delegate": "d.json", **schema}, "ask"), takes, gives, defaults)


PARAMETERS: dict[str, tuple[Json, Json | None, Json]] = {
    "the delegate declares no input": ({"properties": {"a": TEXT}}, None, {"a": TEXT}),
    "each has its own": ({"properties": {"a": TEXT}}, {"properties": {"b": WHOLE}}, {"a": TEXT, "b": WHOLE}),
    "both say the same": ({"properties": {"a": TEXT}}, {"properties": {"a": TEXT}}, {"a": TEXT}),
    "both say something": (
        {"properties": {"a": TEXT}},
        {"properties": {"a": {"maxLength": 5}}},
        {"a": {"allOf": [TEXT, {"maxLength": 5}]}},
    ),
    "one says nothing": ({"properties": {"a": {}}}, {"properties": {"a": WHOLE}}, {"a": WHOLE}),
    "a closed delegate doesn't take it": (
        {"properties": {"a": TEXT, "b": TEXT}},
        {"properties": {"b": TEXT}, "additionalProperties": False},
        {"b": TEXT},
    ),
    "the author's mark on a parameter": (
        {"properties": {"a": {**TEXT, "_derived": False}}},
        {"properties": {"a": TEXT}},
        {"a": TEXT},
    ),
}


@pytest.mark.parametrize("case", PARAMETERS)
def test_the_parameters_are_those_of_both(case: str) -> None:
    schema, takes, expected = PARAMETERS[case]
    assert merged(schema, takes).parameters["properties"] == expected


@pytest.mark.parametrize(
    ("requires", "takes", "defaults", "required"),
    [
        (["a"], ["b"], (), ["a", "b"]),
        (["a"], ["a"], (), ["a"]),
        ([], ["b", "c"], ("b",), ["c"]),
        (["b"], ["b"], ("b",), ["b"]),
        ([], [], (), []),
    ],
)
def test_what_either_requires_is_required_but_for_the_delegates_defaults(
    requires: list[str], takes: list[str], defaults: tuple[str, ...], required: list[str]
) -> None:
    names: Json = {"properties": dict.fromkeys("abc", TEXT)}
    tool = merged({**names, "required": requires}, {**names, "required": takes}, defaults=defaults)
    assert tool.parameters.get("required", []) == required


@pytest.mark.parametrize(
    ("schema", "gives", "output"),
    [
        ({}, None, None),
        ({}, TEXT, TEXT),
        ({"_output": TEXT}, None, TEXT),
        ({"_output": TEXT}, TEXT, TEXT),
        ({"_output": {}}, TEXT, TEXT),
        ({"_output": TEXT}, {"maxLength": 5}, {"allOf": [TEXT, {"maxLength": 5}]}),
    ],
)
def test_the_result_fits_both(schema: Json, gives: Json | None, output: Json | None) -> None:
    assert merged(schema, gives=gives).output == output


@pytest.mark.parametrize(
    ("schema", "takes", "gives", "path"),
    [
        ({"properties": {"a": TEXT}}, {"properties": {"a": WHOLE}}, None, "properties.a"),
        ({"_output": TEXT}, None, WHOLE, "properties._output"),
        (
            {"properties": {"a": TEXT}, "required": ["a"]},
            {"properties": {}, "additionalProperties": False},
            None,
            "properties.a",
        ),
    ],
)
def test_what_no_value_satisfies_is_a_contradiction_that_names_tool_delegate_and_place(
    schema: Json, takes: Json | None, gives: Json | None, path: str
) -> None:
    with pytest.raises(errors.SchemaError, match="contradict each other") as caught:
        merged(schema, takes, gives)
    assert (caught.value.tool, caught.value.path) == ("ask", path)
    assert "'d.json'" in str(caught.value)


@pytest.mark.rule("D13")
def test_the_interface_of_the_tool_that_is_named_holds_where_the_tool_says_nothing() -> None:
    schema: Json = {"properties": {"b": WHOLE}, "required": ["b"], "description": "Pay.", "_effects": "none"}
    named = parse_tool({**schema, "_output": TEXT}, "pay")
    silent = merge_interface(parse_tool({"_delegate": "pay", "properties": {"a": TEXT}}, "ask"), named)
    assert (silent.name, silent.description, silent.effects, silent.output) == ("ask", "Pay.", "none", TEXT)
    assert (silent.parameters["properties"], silent.parameters["required"]) == ({"a": TEXT, "b": WHOLE}, ["b"])
    says: Json = {"_delegate": "pay", "description": "Ask.", "_effects": "ordered"}
    speaking = merge_interface(parse_tool(says, "ask"), named)
    assert (speaking.description, speaking.effects) == ("Ask.", "ordered")


def test_definitions_of_the_same_name_stay_apart() -> None:
    schema: Json = {"properties": {"a": {"$ref": "#/$defs/T"}}, "$defs": {"T": TEXT}}
    takes: Json = {"properties": {"b": {"$ref": "#/$defs/T"}}, "$defs": {"T": WHOLE}}
    tool = merged(schema, takes)
    assert tool.validator.accepts({"a": "x", "b": 1})
    assert not tool.validator.accepts({"a": 1, "b": 1})
    assert not tool.validator.accepts({"a": "x", "b": "x"})


def test_all_else_that_the_author_says_stays() -> None:
    schema: Json = {
        "description": "Ask.",
        "_effects": "ordered",
        "_timeout": 5,
        "_resolution": "upfront",
        "properties": {"a": {**TEXT, "_derived": False}},
    }
    tool = merged(schema, {"properties": {"a": {"maxLength": 5}}, "description": "theirs", "minProperties": 1})
    assert (tool.is_contracted, tool.description, tool.fixed("_resolution")) == (True, "Ask.", "upfront")
    assert (tool.fixed("_effects"), tool.fixed("_timeout")) == ("ordered", 5)
    assert tool.schema["properties"]["a"]["_derived"] is False
    assert tool.validator.complaint({}) is not None


@pytest.mark.parametrize("closed", ["own", "takes", None])
def test_what_either_closes_takes_nothing_more(closed: str | None) -> None:
    parts: dict[str, Json] = {part: {"properties": {"a": TEXT}} for part in ("own", "takes")}
    if closed is not None:
        parts[closed]["additionalProperties"] = False
    tool = merged(parts["own"], parts["takes"])
    assert tool.validator.accepts({"a": "x"})
    assert tool.validator.accepts({"a": "x", "b": 1}) is (closed is None)
