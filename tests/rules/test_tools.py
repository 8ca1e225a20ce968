"""T: tools, the composed schema, and what a model may write of a call."""

from __future__ import annotations

import json
from typing import Any, Literal

import pytest
from pydantic import BaseModel

from actum import Config, Context, Tools, errors

from .scripts import Json, agent, answer, call, call_schemas, left, run, sent, text_of, types

REFERENCE: Json = {"type": "string", "pattern": "^†"}
STATE: list[Json] = [{"type": "state", "x": 1}]


def tools_with(**schemas: Json) -> Tools:
    tools = Tools()
    for name, schema in schemas.items():
        tools.register(name, schema)
    return tools


def schema_of(schema: Json, *, config: Config | None = None, context: Any = (), tools: Tools | None = None) -> Json:
    """The call schema of one tool."""
    given = Tools() if tools is None else tools
    given.register("it", schema)
    return call_schemas(agent(tools=given, config=config).compose(context, {"type": "string"}))["it"]


# T1, T2, T3


@pytest.mark.rule("T1")
def test_parameters_are_the_properties_without_an_underscore() -> None:
    schema = schema_of(
        {
            "type": "object",
            "properties": {
                "_outputPath": {"const": "†state.x"},
                "a": {"type": "string"},
                "_output": {"type": "string"},
            },
            "required": ["a"],
        }
    )
    assert schema["properties"] == {"_tool": {"const": "it"}, "a": {"type": "string"}, "_output": {"type": "string"}}
    assert schema["required"] == ["_tool", "a", "_output"]


@pytest.mark.rule("T1")
@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("_outputPath", "†state.x"),
        ("_outputMethod", "push"),
        ("_scopes", ["state"]),
        ("_delegate", "anonymous"),
        ("_tool", "it"),
        ("_activity", ""),
        ("_instance", "①"),
        ("_reasoningForCall", "as always"),
        ("_resolution", "execution"),
        ("_effects", "ordered"),
        ("_timeout", 2.5),
    ],
)
def test_a_meta_property_means_the_same_in_both_places_and_both_forms(key: str, value: Any) -> None:
    parameters: Json = {"a": {"type": "integer"}, "_output": {"type": "string"}}
    spelt: list[Json] = [
        {"type": "object", "properties": {**parameters, key: {"const": value}}},
        {"type": "object", "properties": {**parameters, key: value}},
        {"type": "object", "properties": parameters, key: {"const": value}},
        {"type": "object", "properties": parameters, key: value},
    ]
    tools = [Tools().register("it", schema) for schema in spelt]
    assert [tool.fixed(key) for tool in tools] == [value] * 4
    assert [tool.schema for tool in tools] == [tools[0].schema] * 4
    assert [schema_of(schema) for schema in spelt] == [schema_of(spelt[0])] * 4


@pytest.mark.rule("T1")
@pytest.mark.parametrize("output", [{"type": "string"}, True])
def test_the_schema_of_the_result_stands_in_either_place(output: Any) -> None:
    inside = Tools().register("it", {"type": "object", "properties": {"_output": output}})
    at_top = Tools().register("it", {"type": "object", "_output": output})
    assert inside.output == at_top.output == ({} if output is True else output)


@pytest.mark.rule("T1")
def test_what_a_parameter_says_of_derived_values_is_kept_and_shown_to_no_model() -> None:
    to: Json = {"type": "string", "_derived": False}
    tool = Tools().register("it", {"type": "object", "properties": {"to": to, "text": {"type": "string"}}})
    assert tool.schema["properties"]["to"] == to
    assert tool.parameters["properties"]["to"] == {"type": "string"}
    assert schema_of({"type": "object", "properties": {"to": to}})["properties"]["to"] == {"type": "string"}


@pytest.mark.rule("T1", "T10")
async def test_what_only_the_author_states_is_no_part_of_a_call() -> None:
    schema: Json = {"type": "object", "_effects": "none", "_timeout": 5, "properties": {"a": {"type": "integer"}}}
    assert set(schema_of(schema)["properties"]) == {"_tool", "a"}
    tools = tools_with(it=schema)
    calls: list[Json] = []

    @tools.activity("it")
    def take(call: Json) -> None:
        calls.append(dict(call))

    assert callable(take)
    await run(answer(call("it", a=1)), answer(output=1), tools=tools)
    assert calls == [{"_tool": "it", "a": 1}]


@pytest.mark.rule("T1")
@pytest.mark.parametrize("place", ["top", "properties"])
async def test_a_fixed_output_path_is_written_from_either_place(place: str) -> None:
    schema: Json = {"type": "object", "properties": {"_output": {"type": "integer"}}}
    if place == "top":
        schema["_outputPath"] = "†state.x"
    else:
        schema["properties"]["_outputPath"] = {"const": "†state.x"}
    result = await run(answer(call("it", _output=4), output="†state"), tools=tools_with(it=schema))
    assert result.output == {"x": 4}


@pytest.mark.rule("T2")
@pytest.mark.parametrize(
    ("old", "new", "value"),
    [("_module", "_delegate", "anonymous"), ("_imports", "_scopes", ["state"])],
)
def test_older_spellings_in_tools_are_the_newer_ones(old: str, new: str, value: Any) -> None:
    def declared(key: str, *, top: bool) -> Json:
        schema: Json = {"type": "object", "properties": {"a": {"type": "string"}}}
        if top:
            return {**schema, key: value}
        return {**schema, "properties": {**schema["properties"], key: {"const": value}}}

    for top in (True, False):
        assert schema_of(declared(old, top=top)) == schema_of(declared(new, top=top))


@pytest.mark.rule("T2")
def test_why_is_another_spelling_of_reasoning_in_a_tool() -> None:
    why = schema_of(
        {"type": "object", "properties": {"_why": {"type": "string", "maxLength": 9}}, "required": ["_why"]}
    )
    assert why["properties"]["_reasoningForCall"] == {"type": "string", "maxLength": 9}
    assert "_reasoningForCall" in why["required"]
    assert "_why" not in why["properties"]


@pytest.mark.rule("T2")
@pytest.mark.parametrize("where", ["answer", "plan", "tools"])
async def test_other_spellings_are_taken_in_calls_of_answers_plans_and_patterns(where: str) -> None:
    tools = Tools()
    calls: list[Json] = []

    @tools.activity("look")
    async def look(call: Any, context: Any) -> str:
        calls.append(dict(call))
        return str(context.state["who"])

    assert callable(look)
    tools.register(
        "look",
        {
            "type": "object",
            "properties": {
                "_scopes": {"type": "array", "items": {"enum": ["state"]}},
                "_output": {"type": "string"},
            },
        },
    )
    state: Json = {"type": "state", "who": "Ann"}
    written = {"_tool": "look", "_imports": ["state"], "_why": "curious"}
    if where == "answer":
        assert (await run(answer(written, output="†calls.0"), context=[state], tools=tools)).output == "Ann"
    elif where == "plan":
        plan: Json = {"type": "plan", "plan": [written], "output": "†calls.0"}
        assert (await agent(tools=tools).run([state, plan])).output == "Ann"
    else:
        assert await tools(written, context=[state]) == "Ann"
    assert calls == [{"_tool": "look", "_scopes": ["state"], "_reasoningForCall": "curious"}]


@pytest.mark.rule("T2")
def test_two_spellings_with_different_values_are_an_error_in_a_tool() -> None:
    with pytest.raises(errors.SchemaError) as caught:
        Tools().register("it", {"type": "object", "_module": "a", "_delegate": "b"})
    assert caught.value.tool == "it"
    assert "'_module' and '_delegate' are spellings of one meta-property" in str(caught.value)


@pytest.mark.rule("T2")
def test_two_spellings_with_the_same_value_are_one() -> None:
    both = schema_of({"type": "object", "_module": "anonymous", "_delegate": "anonymous"})
    assert both == schema_of({"type": "object", "_delegate": "anonymous"})


@pytest.mark.rule("T2")
async def test_two_spellings_with_different_values_are_a_structural_error_in_a_call() -> None:
    tools = tools_with(it={"type": "object", "properties": {"_output": {"type": "integer"}}})
    bad = call("it", _why="a", _reasoningForCall="b", _output=1)
    result = await run(answer(bad), answer(output=1), tools=tools)
    assert isinstance(result.errors[0], errors.CallError)
    assert "'_why' and '_reasoningForCall' are spellings of one meta-property" in str(result.errors[0])
    with pytest.raises(errors.CallError):
        await tools(bad)


MALFORMED: list[tuple[Json | Any, str]] = [
    ({"type": "object", "properties": {"a": {"type": "strng"}}}, "a"),
    ({"type": "object", "properties": {"a": {"minimum": "1"}}}, "a"),
    ({"type": "object", "properties": {"a": {"$ref": "#/$defs/None"}}}, ""),
    ({"type": "object", "properties": {"a": {"$ref": "https://example.com/x.json"}}}, ""),
    ({"type": "object", "properties": {"a": {"pattern": "("}}}, "a"),
    ({"type": "object", "properties": {"_output": {"type": "strng"}}}, "_output"),
    ({"type": "object", "properties": {"_colour": {"type": "string"}}}, "_colour"),
    ({"type": "object", "_colour": "red"}, "_colour"),
    (
        {"type": "object", "_outputPath": "†state.x", "properties": {"_outputPath": {"const": "†state.x"}}},
        "_outputPath",
    ),
    ({"type": "object", "_scopes": ["a"], "properties": {"_imports": {"const": ["a"]}}}, "_imports"),
    ({"type": "object", "properties": {"_outputPath": 5}}, "properties._outputPath"),
    ({"type": "object", "properties": {"_output": "text"}}, "properties._output"),
    ({"type": "object", "_output": False}, "_output"),
    ({"type": "object", "_outputMethod": "append"}, "_outputMethod"),
    ({"type": "object", "properties": {"_outputMethod": {"enum": ["set", "append"]}}}, "properties._outputMethod"),
    ({"type": "object", "_activity": {"enum": ["a", 5]}}, "_activity"),
    ({"type": "object", "_instance": 1}, "_instance"),
    ({"type": "object", "properties": {"_instance": {"enum": ["a", 1]}}}, "properties._instance"),
    ({"type": "object", "_reasoningForCall": True}, "_reasoningForCall"),
    ({"type": "object", "_resolution": "late"}, "_resolution"),
    ({"type": "object", "properties": {"_resolution": {"const": "late"}}}, "properties._resolution"),
    ({"type": "object", "_effects": "all"}, "_effects"),
    ({"type": "object", "properties": {"_effects": {"enum": ["none", "some"]}}}, "properties._effects"),
    ({"type": "object", "_timeout": 0}, "_timeout"),
    ({"type": "object", "_timeout": True}, "_timeout"),
    ({"type": "object", "properties": {"_timeout": {"const": "5 s"}}}, "properties._timeout"),
    ({"type": "object", "_derived": False}, "_derived"),
    ({"type": "object", "properties": {"a": {"_derived": "no"}}}, "properties.a._derived"),
    ({"type": "object", "properties": {"a": {"_colour": "red"}}}, "properties.a._colour"),
    ({"type": "object", "_outputPath": "state.x"}, "_outputPath"),
    ({"type": "object", "_outputPath": "†state..x"}, "_outputPath"),
    ({"type": "object", "_outputPath": 5}, "_outputPath"),
    ({"type": "object", "_scopes": "state"}, "_scopes"),
    ({"type": "object", "_delegate": 5}, "_delegate"),
    ({"type": "object", "properties": {"_outputMethod": {"const": "append"}}}, "_outputMethod"),
    ({"type": "object", "_tool": "another"}, "_tool"),
    ({"type": "array"}, "type"),
    ({"type": "object", "properties": []}, "properties"),
    ({"type": "object", "required": "a"}, "required"),
]


@pytest.mark.rule("T3")
@pytest.mark.parametrize(("schema", "path"), MALFORMED, ids=lambda case: json.dumps(case)[:60])
def test_what_is_no_tool_fails_at_registration_naming_tool_and_path(schema: Json, path: str) -> None:
    tools = Tools()
    with pytest.raises(errors.SchemaError) as caught:
        tools.register("it", schema)
    assert caught.value.tool == "it"
    assert path in (caught.value.path or "")
    assert "it" in str(caught.value)
    assert "\n" not in str(caught.value)
    assert caught.value.to_dict()["code"] == "schema"
    assert len(tools) == 0


@pytest.mark.rule("T3")
@pytest.mark.parametrize(
    "schema", [None, [], "x", {"type": "object", "x": {1, 2}}, {"type": "object", "default": float("inf")}]
)
def test_what_is_no_json_object_is_no_tool(schema: Any) -> None:
    with pytest.raises(errors.SchemaError) as caught:
        Tools().register("it", schema)
    assert caught.value.tool == "it"


@pytest.mark.rule("T3")
@pytest.mark.parametrize(("schema", "path"), MALFORMED, ids=lambda case: json.dumps(case)[:60])
async def test_a_malformed_tool_in_a_message_names_message_tool_and_path(schema: Json, path: str) -> None:
    runner = agent(answer(output=1))
    with pytest.raises(errors.ActumError) as caught:
        await runner.run([{"type": "text", "text": "x"}, {"type": "tool", "tool": {"it": schema}}])
    error = caught.value
    assert isinstance(error, errors.MessageError | errors.SchemaError)
    assert (error.index, error.tool) == (1, "it")
    assert path in (error.path or "")
    assert sent(runner) == []


@pytest.mark.rule("T3")
def test_what_was_registered_can_be_changed_by_its_author_without_harm() -> None:
    schema: Json = {"type": "object", "properties": {"a": {"type": "string"}}}
    tools = tools_with(it=schema)
    schema["properties"]["a"] = {"type": "integer"}
    assert call_schemas(agent(tools=tools).compose())["it"]["properties"]["a"] == {"type": "string"}


# T4


@pytest.mark.rule("T4")
def test_the_last_definition_of_a_tool_is_the_one_that_is_offered() -> None:
    def defined(note: str) -> Json:
        return {"type": "object", "description": note, "properties": {note: {"type": "string"}}}

    tools = tools_with(it=defined("registry"))
    first: Json = {"type": "tool", "tool": {"it": defined("first"), "other": {"type": "object"}}}
    last: Json = {"type": "tool", "tool": {"_tool": "it", **defined("last")}}
    for context, expected in [([], "registry"), ([first], "first"), ([first, last], "last"), ([last, first], "first")]:
        schemas = call_schemas(agent(tools=tools).compose(context))
        assert schemas["it"]["description"] == expected
        assert list(schemas["it"]["properties"]) == ["_tool", expected]
        composed = json.dumps(agent(tools=tools).compose(context))
        assert composed.count('{"const": "it"}') == 1


@pytest.mark.rule("T4")
async def test_calls_are_judged_by_the_last_definition() -> None:
    tools = tools_with(it={"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]})
    anew: Json = {"type": "tool", "tool": {"it": {"type": "object", "properties": {"_output": {"type": "integer"}}}}}
    result = await run(answer(call("it", _output=1), output="†calls.0"), context=[anew], tools=tools)
    assert result.output == 1


# T5


SUMMARY: Json = {"type": "object", "properties": {"summary": {"type": "string"}}, "required": ["summary"]}


@pytest.mark.rule("T5")
def test_without_tools_calls_can_only_be_empty() -> None:
    composed = agent().compose("go", SUMMARY)
    assert composed["properties"]["calls"] == {"type": "array", "maxItems": 0}
    assert composed["required"] == ["calls", "output"]
    assert list(composed["properties"]) == ["calls", "output"]


@pytest.mark.rule("T5")
def test_one_tool_is_the_items_and_several_are_any_of_them() -> None:
    single = agent(tools=tools_with(a={"type": "object"})).compose()
    assert single["properties"]["calls"]["items"]["properties"]["_tool"] == {"const": "a"}
    many = agent(tools=tools_with(a={"type": "object"}, b={"type": "object"}, c={"type": "object"})).compose()
    options = many["properties"]["calls"]["items"]["anyOf"]
    assert [option["properties"]["_tool"]["const"] for option in options] == ["a", "b", "c"]
    assert all(option["required"] == ["_tool"] for option in options)


VERSIONED: Json = {"type": "meta", "meta": {"path": "a/b", "version": "1.0"}}


@pytest.mark.rule("T5")
@pytest.mark.parametrize(
    ("config", "context", "is_asked"),
    [
        (None, "go", False),
        (None, [VERSIONED], True),
        (Config(meta=True), "go", True),
        (Config(meta=False), [VERSIONED], False),
    ],
)
def test_meta_is_asked_for_where_the_request_has_an_identity(config: Any, context: Any, is_asked: bool) -> None:
    composed = agent(config=config).compose(context, SUMMARY)
    names = ["calls", "output", "meta"] if is_asked else ["calls", "output"]
    assert list(composed["properties"]) == composed["required"] == names
    if is_asked:
        assert composed["properties"]["meta"]["description"].isascii()


@pytest.mark.rule("T5")
@pytest.mark.parametrize("meta", [{"version": "2"}, {"version": 7}, 7, "no", [1], None], ids=json.dumps)
async def test_a_meta_that_was_not_asked_for_is_ignored_whatever_it_is(meta: Any) -> None:
    solution: Json = {"calls": [], "output": {"summary": "s"}, "meta": meta}
    result = await run(solution, schema=SUMMARY)
    assert (result.output, result.solutions[0].meta) == ({"summary": "s"}, None)


@pytest.mark.rule("T5")
async def test_without_meta_an_answer_without_it_is_whole() -> None:
    result = await run({"calls": [], "output": {"summary": "s"}}, schema=SUMMARY, config=Config(meta=False))
    assert result.output == {"summary": "s"}


@pytest.mark.rule("T5")
@pytest.mark.parametrize(
    ("schema", "output"),
    [
        ({"type": "string"}, {"type": ["string", "null"]}),
        ({"type": ["string", "integer"]}, {"type": ["string", "integer", "null"]}),
        ({"type": ["string", "null"]}, {"type": ["string", "null"]}),
        ({"type": "string", "enum": ["a", "b"]}, {"type": ["string", "null"], "enum": ["a", "b", None]}),
        ({"const": 5}, {"anyOf": [{"const": 5}, {"type": "null"}]}),
        ({"type": "array", "items": {"type": "integer"}}, {"type": ["array", "null"], "items": {"type": "integer"}}),
    ],
)
def test_the_output_schema_is_made_nullable(schema: Json, output: Json) -> None:
    assert agent().compose("go", schema)["properties"]["output"] == output


@pytest.mark.rule("T5")
def test_objects_of_the_output_take_no_other_properties_unless_they_say_so() -> None:
    schema: Json = {
        "type": "object",
        "properties": {
            "inner": {"type": "object", "properties": {"x": {"type": "integer"}}},
            "list": {"type": "array", "items": {"type": "object", "properties": {"y": {"type": "integer"}}}},
            "open": {"type": "object", "properties": {}, "additionalProperties": True},
            "map": {"type": "object", "additionalProperties": {"type": "object", "properties": {"z": {}}}},
        },
    }
    output = agent().compose("go", schema)["properties"]["output"]
    assert output["additionalProperties"] is False
    assert output["properties"]["inner"]["additionalProperties"] is False
    assert output["properties"]["list"]["items"]["additionalProperties"] is False
    assert output["properties"]["open"]["additionalProperties"] is True
    assert output["properties"]["map"]["additionalProperties"]["additionalProperties"] is False


@pytest.mark.rule("T5")
async def test_an_output_with_a_property_too_many_is_asked_for_again() -> None:
    runner = agent(answer(output={"summary": "s", "more": 1}), answer(output={"summary": "s"}))
    result = await runner.run("go", SUMMARY)
    assert result.output == {"summary": "s"}
    assert len(sent(runner)) == 2
    assert "more" in text_of(sent(runner)[1].messages)


@pytest.mark.rule("T5")
def test_required_is_listed_in_the_order_of_properties_everywhere() -> None:
    nested: Json = {
        "type": "object",
        "properties": {"b": {"type": "string"}, "a": {"type": "string"}, "c": {"type": "string"}},
        "required": ["c", "a", "b"],
    }
    shared: Json = {"type": "object", "properties": {"n": nested, "l": {"type": "array", "items": nested}}}
    tools = tools_with(
        it={
            **shared,
            "required": ["l", "n"],
            "$defs": {"D": nested},
            "properties": {**shared["properties"], "d": {"$ref": "#/$defs/D"}},
        }
    )
    tools.register("default", {"type": "object", "properties": {"x": {"type": "object", "default": nested}}})
    composed = agent(tools=tools, config=Config(reasoning=True)).compose("go", {**shared, "required": ["l", "n"]})

    def check(schema: Any) -> int:
        if isinstance(schema, list):
            return sum(check(item) for item in schema)  # pyright: ignore[reportUnknownVariableType] -- JSON
        if not isinstance(schema, dict):
            return 0
        count = 0
        members: Json = schema  # pyright: ignore[reportUnknownVariableType] -- JSON
        if isinstance(members.get("required"), list) and "properties" in members:
            listed = [name for name in members["properties"] if name in members["required"]]
            assert members["required"] == listed
            count = 1
        return count + sum(check(member) for key, member in members.items() if key != "default")

    assert check(composed) >= 5
    assert '"required":["c","a","b"]' in json.dumps(composed, separators=(",", ":"))  # a default is a value


# T6, T7


OUTPUT: Json = {"type": "object", "properties": {"found": {"type": "string"}}}


@pytest.mark.rule("T6")
def test_only_a_latent_tool_keeps_its_output() -> None:
    tools = tools_with(
        latent={"type": "object", "properties": {"_output": OUTPUT}},
        explicit={"type": "object", "properties": {"_output": OUTPUT}},
        delegated={"type": "object", "properties": {"_output": OUTPUT}, "_delegate": "anonymous"},
    )
    tools.activity("explicit", lambda: {"found": "x"})
    schemas = call_schemas(agent(tools=tools).compose())
    assert schemas["latent"]["properties"]["_output"] == OUTPUT
    assert "_output" in schemas["latent"]["required"]
    for name in ("explicit", "delegated"):
        assert "_output" not in schemas[name]["properties"]
        assert "_output" not in schemas[name]["required"]


@pytest.mark.rule("T7")
def test_reasoning_stands_right_behind_the_tool_when_the_config_asks_for_it() -> None:
    schema: Json = {"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]}
    assert "_reasoningForCall" not in schema_of(schema)["properties"]
    reasoned = schema_of(schema, config=Config(reasoning=True))
    assert list(reasoned["properties"])[:2] == ["_tool", "_reasoningForCall"]
    assert reasoned["properties"]["_reasoningForCall"] == {"type": "string"}
    assert reasoned["required"] == ["_tool", "_reasoningForCall", "a"]
    fixed = schema_of({**schema, "_reasoningForCall": "as always"}, config=Config(reasoning=True))
    assert fixed == schema_of(schema)


@pytest.mark.rule("T7")
async def test_a_reason_reaches_nothing_but_the_record() -> None:
    tools = Tools()
    received: list[Json] = []

    @tools.tool
    async def look(**parameters: Any) -> int:
        received.append(parameters)
        return 1

    assert look.name == "look"
    result = await run(answer(call("look", _reasoningForCall="why not"), output="†calls.0"), tools=tools)
    assert received == [{}]
    assert left(result)["_call"]["_reasoningForCall"] == "why not"


# T8


FIXED: list[tuple[str, Any, Any]] = [
    ("_outputPath", "†state.x", "†state.y"),
    ("_scopes", ["state"], ["input"]),
    ("_delegate", "anonymous", "other"),
    ("_activity", "act", "other"),
    ("_outputMethod", "push", "set"),
]


@pytest.mark.rule("T8")
@pytest.mark.parametrize(("key", "value", "other"), FIXED)
async def test_a_fixed_meta_property_is_left_out_taken_when_equal_and_refused_otherwise(
    key: str, value: Any, other: Any
) -> None:
    tools = Tools()
    tools.activity("act", lambda: 1)
    properties: Json = {"_activity": {"const": "act"}, "_output": {"type": "integer"}, key: {"const": value}}
    schema = schema_of({"type": "object", "properties": properties}, tools=tools)
    assert key not in schema["properties"]
    same = await run(answer(call("it", **{key: value}), output="†calls.0"), tools=tools)
    assert same.output == 1
    different = await run(answer(call("it", **{key: other})), answer(output=0), tools=tools)
    assert isinstance(different.errors[0], errors.CallError)
    assert different.errors[0].tool == "it"
    assert types(different) == ["text", "error"]


@pytest.mark.rule("T8")
async def test_a_fixed_output_is_filled_in_by_the_runtime() -> None:
    properties: Json = {"a": {"type": "string"}, "_output": {"const": "noted"}}
    schema = schema_of({"type": "object", "properties": properties})
    assert "_output" not in schema["properties"]
    assert schema["required"] == ["_tool"]
    tools = tools_with(it={"type": "object", "properties": properties})
    assert (await run(answer(call("it", a="x"), output="†calls.0"), tools=tools)).output == "noted"


@pytest.mark.rule("T8")
def test_an_output_path_is_offered_only_where_there_is_a_result_and_none_is_fixed() -> None:
    plain: Json = {"type": "object", "properties": {"a": {"type": "string"}}}
    result: Json = {"type": "object", "properties": {"_output": {"type": "string"}}}
    assert "_outputPath" not in schema_of(plain)["properties"]
    given: list[Json] = [{"context": STATE}, {"config": Config(paths=True)}]
    for where in given:
        assert "_outputPath" not in schema_of(plain, **where)["properties"]
        offered = schema_of(result, **where)
        assert offered["properties"]["_outputPath"] == REFERENCE
        assert "_outputPath" not in offered["required"]
        assert schema_of({**plain, "_delegate": "anonymous"}, **where)["properties"]["_outputPath"] == REFERENCE
        assert "_outputPath" not in schema_of({**result, "_outputPath": "†state.x"}, **where)["properties"]


@pytest.mark.rule("T8")
async def test_without_data_an_output_path_is_not_offered_and_accepted_all_the_same() -> None:
    result: Json = {"type": "object", "properties": {"_output": {"type": "string"}}}
    text: Json = {"type": "text", "text": "go"}
    left_by_a_call: Json = {"type": "state", "state": {"x": 1}, "_call": {"_tool": "it"}, "_outputPath": "†state.x"}
    for context in ([text], [text, left_by_a_call]):
        assert "_outputPath" not in schema_of(result, context=context)["properties"]
    none = Config(paths=False)
    assert "_outputPath" not in schema_of(result, context=STATE, config=none)["properties"]
    solution = answer(call("it", _output="a", _outputPath="†state.y"), output="†state.y")
    assert (await run(solution, tools=tools_with(it=result))).output == "a"


@pytest.mark.rule("T8", "O3")
def test_an_output_path_that_the_tool_leaves_open_is_offered_as_declared() -> None:
    declared: Json = {"type": "string", "pattern": "^†state\\."}
    schema = schema_of({"type": "object", "properties": {"_outputPath": declared}, "required": ["_outputPath"]})
    assert schema["properties"]["_outputPath"] == declared
    assert "_outputPath" in schema["required"]


@pytest.mark.rule("T8", "I1")
def test_method_scopes_and_instance_are_offered_only_where_they_mean_something() -> None:
    plain: Json = {"type": "object", "properties": {"_output": {"type": "string"}}}
    assert list(schema_of(plain)["properties"]) == ["_tool", "_output"]
    declared = schema_of(
        {
            "type": "object",
            "properties": {
                "_outputMethod": {"enum": ["set", "push"]},
                "_scopes": {"type": "array", "items": {"enum": ["state", "input"]}},
                "_output": {"type": "string"},
            },
        },
        context=[{"type": "state", "x": 1, "_instance": "①"}, {"type": "input", "q": 1}],
    )
    assert declared["properties"]["_outputMethod"] == {"enum": ["set", "push"]}
    assert declared["properties"]["_scopes"] == {"type": "array", "items": {"enum": ["state", "input"]}}
    assert declared["properties"]["_instance"] == {"enum": ["①"]}


@pytest.mark.rule("S2", "T8")
def test_a_dynamic_scope_is_cut_down_to_what_exists() -> None:
    declared: Json = {
        "type": "object",
        "properties": {"_scopes": {"type": "array", "items": {"enum": ["state", "input", "text", "state.a", "other"]}}},
    }
    schema = schema_of(declared, context=[{"type": "state", "a": 1}, {"type": "text", "text": "x"}])
    assert schema["properties"]["_scopes"]["items"]["enum"] == ["state", "text", "state.a"]


# T9


NUMBERS: Json = {
    "type": "object",
    "properties": {
        "n": {"type": "integer", "minimum": 0},
        "s": {"type": "string"},
        "e": {"enum": ["a", "b"]},
        "o": {"type": "object", "properties": {"x": {"type": "integer"}}},
    },
    "required": ["n"],
}


@pytest.mark.rule("T9")
def test_wide_parameters_that_are_not_strings_take_a_reference_as_well() -> None:
    for config in (None, Config(references="wide")):
        properties = schema_of(NUMBERS, config=config, context=STATE)["properties"]
        assert properties["n"] == {"anyOf": [NUMBERS["properties"]["n"], REFERENCE]}
        assert properties["o"] == {"anyOf": [NUMBERS["properties"]["o"], REFERENCE]}
        assert properties["e"] == {"anyOf": [NUMBERS["properties"]["e"], REFERENCE]}
        assert properties["s"] == {"type": "string"}


@pytest.mark.rule("T9")
def test_aside_parameters_are_literal_and_references_stand_beside_them() -> None:
    properties = schema_of(NUMBERS, config=Config(references="aside"), context=STATE)["properties"]
    assert {name: properties[name] for name in NUMBERS["properties"]} == NUMBERS["properties"]
    assert properties["_with"]["type"] == "object"


@pytest.mark.rule("T9")
@pytest.mark.parametrize("references", ["wide", "aside", None])
@pytest.mark.parametrize(
    "written",
    [
        {"n": "†state.n", "o": {"x": "†state.n"}, "l": [1, "†state.n"]},
        {"_with": {"n": "†state.n", "o.x": "†state.n", "l[1]": "†state.n"}, "l": [1]},
        {"n": 0, "o": {"x": 0}, "l": [1, 0], "_with": {"n": "†state.n", "o.x": "†state.n", "l[1]": "†state.n"}},
    ],
    ids=["wide", "aside", "aside over literals"],
)
async def test_both_forms_are_read_back_to_the_same_call(references: Any, written: Json) -> None:
    tools = Tools()
    arguments: list[Json] = []

    @tools.tool
    async def take(n: int, o: dict[str, int], l: list[int]) -> int:  # noqa: E741 -- a parameter of a tool
        arguments.append({"n": n, "o": o, "l": l})
        return n

    assert take.name == "take"
    result = await run(
        answer(call("take", **written), output="†calls.0"),
        context=[{"type": "state", "n": 7}],
        tools=tools,
        config=Config(references=references),
    )
    assert result.output == 7
    assert arguments == [{"n": 7, "o": {"x": 7}, "l": [1, 7]}]


@pytest.mark.rule("T9", "C3", "A5")
@pytest.mark.parametrize("written", [{"n": "†state.s"}, {"_with": {"n": "†state.s"}}])
async def test_the_real_type_is_enforced_after_resolution(written: Json) -> None:
    tools = Tools()
    ran: list[int] = []

    @tools.tool
    async def take(n: int) -> int:
        ran.append(n)
        return n

    assert take.name == "take"
    given: list[Json] = [{"type": "state", "s": "no number"}]
    result = await run(answer(call("take", **written)), answer(output=1), context=given, tools=tools)
    assert isinstance(result.errors[0], errors.InvalidParameters)
    assert ran == []


@pytest.mark.rule("T9")
@pytest.mark.parametrize(
    "aside",
    [{"n": "no reference"}, {"n": 5}, ["†state.x"], {"": "†state.x"}, {"n..x": "†state.x"}, {"s.x": "†state.x"}],
    ids=json.dumps,
)
async def test_a_malformed_aside_is_a_structural_error_of_its_call(aside: Any) -> None:
    tools = Tools()

    @tools.tool
    async def take(s: str, n: int = 0) -> int:
        return n + len(s)

    assert take.name == "take"
    bad, good = call("take", s="x", _with=aside), call("take", s="abc")
    given: list[Json] = [{"type": "state", "x": 1}]
    result = await run(answer(bad, good, output=None), answer(output=1), context=given, tools=tools)
    assert isinstance(result.errors[0], errors.CallError)
    assert [message["data"] for message in result.context if message["type"] == "data"] == [3]


# T10


class Address(BaseModel):
    street: str
    number: int


class Person(BaseModel):
    name: str
    home: Address
    friends: list[Person] = []


@pytest.mark.rule("T10")
def test_a_shared_schema_is_stated_once() -> None:
    tools = Tools()

    @tools.tool
    async def marry(a: Person, b: Person) -> Person:
        return a if a.name < b.name else b

    @tools.tool
    async def visit(person: Person, where: Address) -> str:
        return f"{person.name} {where.street}"

    assert (marry.name, visit.name) == ("marry", "visit")
    composed = agent(tools=tools).compose()
    text = json.dumps(composed)
    assert text.count('"street"') == 2  # as a property and as required
    assert text.count('"friends"') == 1


@pytest.mark.rule("T10")
def test_large_parameters_of_several_tools_are_stated_once() -> None:
    big: Json = {"type": "object", "properties": {f"property{n}": {"type": "string"} for n in range(20)}}
    tools = tools_with(**{f"t{n}": {"type": "object", "properties": {"big": big}} for n in range(5)})
    assert json.dumps(agent(tools=tools).compose()).count("property7") == 1


@pytest.mark.rule("T10")
def test_optional_parameters_stay_optional_and_defaults_are_kept() -> None:
    tools = Tools()

    @tools.tool
    async def weather(city: str, *, days: int = 1, unit: Literal["C", "F"] = "C") -> str:
        """Forecast for a city."""
        return f"{city} {days} {unit}"

    assert weather.name == "weather"
    schema = call_schemas(agent(tools=tools).compose())["weather"]
    assert schema["required"] == ["_tool", "city"]
    assert schema["description"] == "Forecast for a city. Returns text."


# T11


@pytest.mark.rule("T11", "L1")
async def test_an_output_alone_ends_the_run() -> None:
    assert (await run(answer(output="x"), schema={"type": "string"})).output == "x"


@pytest.mark.rule("T11", "L1")
async def test_calls_alone_lead_to_another_request() -> None:
    tools = tools_with(it={"type": "object", "properties": {"_output": {"type": "integer"}}, "_outputPath": "†state.x"})
    runner = agent(answer(call("it", _output=1)), answer(output="x"), tools=tools)
    result = await runner.run("go", {"type": "string"})
    assert (result.output, result.context.state, len(sent(runner))) == ("x", {"x": 1}, 2)


@pytest.mark.rule("T11", "L1")
async def test_calls_and_an_output_together_are_one_round_trip() -> None:
    tools = tools_with(it={"type": "object", "properties": {"_output": {"type": "integer"}}, "_outputPath": "†state.x"})
    runner = agent(answer(call("it", _output=1), output="x"), tools=tools)
    result = await runner.run("go", {"type": "string"})
    assert (result.output, result.context.state, len(sent(runner))) == ("x", {"x": 1}, 1)


# T12


def _many(count: int) -> Tools:
    tools = Tools()
    for number in range(count):
        tools.register(
            f"tool{number}",
            {
                "type": "object",
                "description": f"Does thing {number}.\nAt length.",
                "properties": {"a": {"type": "string", "description": "x" * 200}, "_output": {"type": "integer"}},
                "required": ["a"],
            },
        )
    return tools


@pytest.mark.rule("T12")
async def test_beyond_the_budget_names_are_offered_and_schemas_are_revealed_when_asked_for() -> None:
    runner = agent(
        lambda request: answer(call(_only_tool(request.schema), names=["tool7", "tool9"])),
        answer(call("tool7", a="x", _output=3), output="†calls.0"),
        tools=_many(40),
        config=Config(tool_budget=500),
    )
    result = await runner.run("go")
    assert result.output == 3
    first, second = sent(runner)
    assert len(call_schemas(first.schema)) == 1
    prompt = text_of(first.messages)
    assert "tool7: Does thing 7." in prompt
    assert "At length" not in prompt
    assert {"tool7", "tool9"} < set(call_schemas(second.schema))
    assert "tool8" not in call_schemas(second.schema)
    assert "tool8: Does thing 8." in text_of(second.messages)


def _only_tool(composed: Json) -> str:
    (name,) = call_schemas(composed)
    return name


@pytest.mark.rule("T12")
async def test_revealing_a_tool_that_is_not_there_names_near_ones() -> None:
    runner = agent(
        lambda request: answer(call(_only_tool(request.schema), names=["tool77"])),
        answer(output=1),
        tools=_many(40),
        config=Config(tool_budget=500),
    )
    result = await runner.run("go")
    assert "tool7" in result.errors[0].message


@pytest.mark.rule("T12")
def test_within_the_budget_all_schemas_are_offered() -> None:
    assert len(call_schemas(agent(tools=_many(40), config=Config(tool_budget=100_000)).compose())) == 40


@pytest.mark.rule("T12")
def test_examples_are_rendered_beside_the_schema() -> None:
    tools = tools_with(
        it={"type": "object", "properties": {"a": {"type": "string"}}, "examples": [{"a": "an unmistakable example"}]}
    )
    runner = agent(tools=tools)
    assert "an unmistakable example" in text_of(runner.render("go"))
    assert "an unmistakable example" not in json.dumps(runner.compose("go"))


# T17


def choosing(**schema: Any) -> tuple[Tools, list[Any]]:
    """A tool with these meta-properties, and what its calls were handed."""
    tools, handed = Tools(), list[Any]()

    def look(context: Context) -> str:
        handed.append(list(context.data))
        return "looked"

    tools.register("s", {"_output": {"type": "string"}, **schema})
    tools.activity("look", look)
    if "_activity" not in schema:
        tools.activity("s", look)
    return tools, handed


ARRAY: Json = {"type": "array"}


@pytest.mark.rule("T17", "S2")
@pytest.mark.parametrize(
    ("schema", "offered"),
    [
        ({**ARRAY, "items": {"const": "state"}}, {**ARRAY, "items": {"enum": ["state"]}}),
        ({**ARRAY, "items": {"enum": ["state", "absent"]}}, {**ARRAY, "items": {"enum": ["state"]}}),
        (
            {**ARRAY, "items": {"anyOf": [{"const": "state"}, {"enum": ["absent"]}]}},
            {**ARRAY, "items": {"enum": ["state"]}},
        ),
        ({**ARRAY, "items": {"type": "string"}}, {**ARRAY, "items": {"type": "string"}}),
        ({"enum": [["state"], ["absent"]]}, {"enum": [["state"]]}),
        ({"oneOf": [{"const": ["state"]}, {"const": ["absent"]}]}, {"enum": [["state"]]}),
    ],
    ids=str,
)
async def test_each_form_of_scopes_is_offered_and_honoured(schema: Json, offered: Json) -> None:
    tools, handed = choosing(_scopes=schema)
    runner = agent(answer(call("s", _scopes=["state"]), output="†calls.0"), tools=tools)
    assert call_schemas(runner.compose([{"type": "state", "a": 1}]))["s"]["properties"]["_scopes"] == offered
    assert (await runner.run([{"type": "state", "a": 1}])).output == "looked"
    assert handed == [["state"]]


@pytest.mark.rule("T17", "A1")
async def test_a_choice_of_activities_by_any_of_is_one() -> None:
    tools, handed = choosing(_activity={"anyOf": [{"const": "look"}, {"const": "other"}]})
    tools.activity("other", lambda: "by another")
    calls = [call("s", _activity="look"), call("s", _activity="other")]
    runner = agent(answer(*calls, output=["†calls.0", "†calls.1"]), tools=tools)
    assert (await runner.run("go")).output == ["looked", "by another"]
    assert len(handed) == 1


@pytest.mark.rule("T17", "T3")
@pytest.mark.parametrize(
    ("key", "schema", "message"),
    [
        ("_activity", {"type": "string"}, "must be fixed, or an enum to choose from"),
        ("_activity", {}, "must be fixed, or an enum to choose from"),
        ("_activity", {"enum": []}, "must be fixed, or an enum to choose from"),
        ("_activity", {"enum": ["look", ""]}, "can't be empty among others"),
        ("_activity", {"anyOf": [{"const": "look"}, {"type": "string"}]}, "must be fixed"),
        ("_delegate", {"type": "string"}, "must be fixed, or an enum to choose from"),
        ("_scopes", {"type": "string"}, "an array of which the items are a const, an enum or any string"),
        ("_scopes", {"anyOf": [{"type": "array"}]}, "an array of which the items"),
    ],
    ids=str,
)
def test_a_form_that_can_not_be_honoured_is_refused_at_registration(key: str, schema: Json, message: str) -> None:
    with pytest.raises(errors.SchemaError, match=message) as caught:
        Tools().register("s", {key: schema})
    assert (caught.value.tool, caught.value.path) == ("s", key)


@pytest.mark.rule("T17", "D8")
async def test_upfront_is_never_silently_off() -> None:
    takes: Json = {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]}
    delegates: dict[str, Json] = {
        name: {"context": [{"type": "input", "schema": takes}], "schema": {}} for name in "DE"
    }
    config = Config(upfront=True)
    tools = Tools()
    tools.register("fixed", {"_delegate": "D"})
    tools.register("free", {"_output": {}})
    with pytest.raises(errors.InvalidParameters, match="required"):
        await tools(call("fixed"), delegates=delegates, config=config)
    with pytest.raises(errors.InvalidParameters, match="its tool must declare the '_delegate'"):
        await tools(call("free", _delegate="D"), delegates=delegates, config=config)
    tools.register("open", {"_delegate": {"enum": ["D", "E"]}})
    with pytest.raises(errors.SchemaError, match="tool 'open', at _delegate: it can't be resolved upfront"):
        await tools(call("open", _delegate="D"), delegates=delegates, config=config)
    with pytest.raises(errors.SchemaError, match="tool 'open', at _delegate: it can't be resolved upfront"):
        await agent(answer(output=1), tools=tools, delegates=delegates, config=config).run("go")
    tools.register("open", {"_delegate": {"enum": ["D", "E"]}, "_resolution": "execution"}, replace=True)
    assert (await agent(answer(output=1), tools=tools, delegates=delegates, config=config).run("go")).output == 1
