"""A tool of a server as a delegate: its whole interface, and held as it is under its own name (D8, D13, L6)."""

from __future__ import annotations

from typing import Any

import pytest

from actum import Agent, Tools, connections, errors, models
from actum.schema.json import JsonObject as Json

from ..rules.scripts import call_schemas
from .starting import stdio


def asking(name: str, **more: Any) -> Json:
    return {"type": "tool", "tool": {"ask": {"type": "object", "_delegate": name, **more}}}


def planned(**parameters: Any) -> Json:
    return {"type": "plan", "plan": [{"_tool": "ask", **parameters}], "output": "†calls.0"}


@pytest.mark.rule("D8", "D13")
async def test_a_servers_tool_is_a_delegates_whole_interface() -> None:
    async with connections.open([stdio(trusted=True)]) as servers:
        tools = Tools()
        servers.register(tools)
        bare = asking("s/add", _resolution="upfront")
        model = models.Scripted([{"calls": [{"_tool": "ask", "a": 1, "b": 2}], "output": "{†calls.0.sum * 2}"}])
        result = await Agent(model, tools=tools).run([bare, {"type": "text", "text": "go"}], int)
        assert result.output == 6  # `sum` is known from the server's outputSchema, so what refers to it is no error
        schema = call_schemas(Agent(model, tools=tools).compose([bare]))["ask"]
        assert {"a", "b"} <= schema["properties"].keys()
        assert schema["description"].startswith("Adds.")
        with pytest.raises(errors.InvalidParameters):
            await tools({"_tool": "ask", "a": "x", "b": 2}, context=[bare])
        other = asking("s/add", _resolution="upfront", properties={"a": {"type": "string"}}, required=["a"])
        with pytest.raises(errors.SchemaError, match="contradict"):
            await tools({"_tool": "ask"}, context=[other])


@pytest.mark.rule("D6", "D13")
async def test_what_the_server_would_not_take_is_refused_before_it_is_asked() -> None:
    async with connections.open([stdio(trusted=True)]) as servers:
        tools = Tools()
        servers.register(tools)
        loose = asking("s/add", properties={"a": {}, "b": {}})
        assert await tools({"_tool": "ask", "a": 1, "b": 2}, context=[loose]) == {"sum": 3}
        with pytest.raises(errors.InvalidParameters, match=r"its delegate 's/add' takes other parameters"):
            await tools({"_tool": "ask", "a": "one", "b": 2}, context=[loose])


@pytest.mark.rule("L6")
@pytest.mark.parametrize(
    "alias",
    [
        {"ask": {"type": "object", "_delegate": "s/send", "properties": {"text": {}}}},
        {"ask": {"type": "object", "_delegate": "s/send", "_resolution": "upfront"}},
        {"ask": {"type": "object", "_activity": "s/send", "properties": {"text": {}}}},
        {"ask": {"type": "object", "properties": {"text": {}, "_activity": {"enum": ["s/echo", "s/send"]}}}},
        {"s/send": {"type": "object", "properties": {"text": {}}}},
    ],
)
async def test_no_other_name_makes_a_held_tool_run(alias: Json) -> None:
    [name] = alias
    chosen = {"_activity": "s/send"} if "enum" in str(alias) else {}
    async with connections.open([stdio()]) as servers:
        tools = Tools()
        servers.register(tools)
        call = {"_tool": name, "text": "x", **chosen}
        plan = {"type": "plan", "plan": [call], "output": "†calls.0"}
        result = await Agent(None, tools=tools).run([{"type": "tool", "tool": alias}, plan], str)
        assert (result.output, result.waiting) == (None, ["approval 0.0"])
        assert await tools(call, context=[{"type": "tool", "tool": alias}]) == "sent"  # its own author has decided


@pytest.mark.rule("S9", "L6")
async def test_a_call_that_names_it_itself_is_held_too() -> None:
    async with connections.open([stdio()]) as servers:
        tools = Tools()
        servers.register(tools)
        tools.register("ask", {"properties": {"text": {}}})
        for key in ("_activity", "_delegate"):
            plan = {"type": "plan", "plan": [{"_tool": "ask", "text": "x", key: "s/send"}], "output": "†calls.0"}
            assert (await Agent(None, tools=tools).run([plan], str)).waiting == ["approval 0.0"]
        assert (await servers.call("s/noted", {})).value["notes"] == []
