"""Parameters and `_output` may be schemas by themselves, with definitions of their own (T1, T13)."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import BaseModel
from tests.rules.scripts import agent, answer, call

from actum import Tools, errors, models


class Item(BaseModel):
    name: str


class Order(BaseModel):
    items: list[Item]


@pytest.mark.rule("T1", "T13")
@pytest.mark.parametrize("is_top", [True, False])
async def test_schemas_of_models_are_parts_of_a_tool(is_top: bool) -> None:
    tools = Tools()
    output: dict[str, Any] = Order.model_json_schema()
    given = {"order": Order.model_json_schema(), "first": Item.model_json_schema()}
    schema: dict[str, Any] = {"type": "object", "properties": given, "required": ["order"]}
    if is_top:
        schema["_output"] = output
    else:
        schema["properties"] = {**given, "_output": output}
    tool = tools.register("send", schema)

    @tools.activity("send")
    async def send(order: dict[str, Any]) -> dict[str, Any]:
        return order

    assert send.name == "send"
    assert set(tool.schema["$defs"]) == {"Item"}
    order = {"items": [{"name": "lamp"}]}
    runner = agent(answer(call("send", order=order), output="{[i.name for i in †calls.0.items]}"), tools=tools)
    assert (await runner.run("go")).output == ["lamp"]
    assert isinstance(runner.model, models.Scripted)
    assert "#/$defs/Item" in runner.model.requests[0].schema_text
    wrong = agent(answer(call("send", order={"items": [{}]})), answer(output=0), tools=tools)
    assert "name" in (await wrong.run("go")).errors[0].message


NONE: list[tuple[dict[str, Any], str]] = [
    ({"$defs": 3}, "$defs"),
    ({"definitions": [], "$ref": "#/definitions/a"}, "definitions"),
    ({"$defs": {"a": {}}, "definitions": "x"}, "definitions"),
    ({"$defs": {"a": {}}, "properties": {}, "required": [[]]}, "required[0]"),
    ({"$ref": "#/$defs/a", "$defs": {"a": {"properties": {}, "required": [{}]}}}, ""),
]


@pytest.mark.rule("T3")
@pytest.mark.parametrize(("part", "path"), NONE)
def test_definitions_that_are_none_are_an_error_of_the_schema(part: dict[str, Any], path: str) -> None:
    for key in ("value", "_output"):
        with pytest.raises(errors.SchemaError, match="not a valid JSON Schema") as caught:
            Tools().register("send", {"type": "object", "properties": {key: part}})
        assert path in (caught.value.path or "")
    with pytest.raises(errors.SchemaError, match="not a valid JSON Schema"):
        Tools().register("send", {"type": "object", "properties": {"value": {"$defs": {}}}, "$defs": 3})


def test_definitions_of_one_name_in_parameters_and_result_stay_apart() -> None:
    def whole(kind: str) -> dict[str, Any]:
        return {"$ref": "#/$defs/T", "$defs": {"T": {"type": kind}}}

    tool = Tools().register("t", {"properties": {"a": whole("integer")}, "_output": whole("string")})
    assert tool.output_validator is not None
    assert tool.output_validator.accepts("x")
    assert not tool.output_validator.accepts(1)
    assert tool.validator.accepts({"a": 1})
    assert not tool.validator.accepts({"a": "x"})
