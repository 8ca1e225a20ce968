"""`$ref`s from schemas to other Ideas: closed before anything is composed, circles printed."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from actum import Agent, Context, Idea, Tools, errors, models
from actum.app.agent import assembled
from actum.execution.delegation.caller import SavedRequest
from actum.ideas.file import IdeaText
from actum.ideas.library import Library
from actum.ideas.store import parse_address
from actum.protocol.tool import Tool
from actum.schema.gathering import links_of, with_links, without_links
from actum.schema.json import JsonObject as Json
from actum.schema.validator import Validator
from actum.storage.open import open_store

pytestmark = pytest.mark.rule("X4")
TEXT: Json = {"type": "string"}
PERSON: Json = {
    "type": "object",
    "properties": {"name": {"$ref": "#/$defs/name"}, "boss": {"$ref": "#"}},
    "required": ["name"],
    "additionalProperties": False,
    "$defs": {"name": {"type": "string", "minLength": 2}},
}
TEAM: Json = {"type": "array", "items": {"$ref": "idea:person"}}


def ref(address: str) -> Json:
    return {"$ref": address}


def stored(folder: Path, **schemas: Any) -> Agent:
    """An agent whose store holds an Idea for each schema."""

    async def save() -> None:
        store = open_store(folder / "ideas.db")
        for name, schema in schemas.items():
            await Library(store=store).save(IdeaText(context=[], schema=schema), parse_address(f"idea:{name}"))
        await store.aclose()

    asyncio.run(save())
    return Agent(None, tools=Tools(), store=folder / "ideas.db")


def closed(agent: Agent, schema: Any, context: Any = ()) -> Any:
    return asyncio.run(assembled(agent).prepared(context, schema))[1]


def test_what_an_address_stands_for_is_judged_by_exactly_that_schema(tmp_path: Path) -> None:
    agent = stored(tmp_path, person=PERSON, team=TEAM)
    schema = {"type": "object", "properties": {"all": ref("idea:team?1"), "name": ref("idea:person#/properties/name")}}
    whole = closed(agent, schema)
    assert links_of(whole) == []
    validator = Validator(whole)
    assert validator.accepts({"all": [{"name": "Ana", "boss": {"name": "Bo"}}], "name": "Cy"})
    bad: list[Json] = [
        {"all": [{"name": "A"}]},
        {"all": [{"name": "Ana", "boss": {}}]},
        {"all": [{"x": 1}]},
        {"name": "C"},
    ]
    for wrong in bad:
        assert not validator.accepts(wrong)


def test_what_only_a_tool_refers_to_is_closed_too(tmp_path: Path) -> None:
    agent = stored(tmp_path, person=PERSON)
    context: list[Json] = [{"type": "tool", "tool": {"greet": {"properties": {"who": ref("idea:person")}}}}]
    messages, _ = asyncio.run(assembled(agent).prepared(context, None))
    (message,) = (message for message in messages if message["type"] == "tool")
    assert links_of(message["tool"]["greet"]) == []


def test_definitions_of_the_same_name_stay_apart() -> None:
    targets = {
        "idea:a": {"$defs": {"x": TEXT}, "$ref": "#/$defs/x"},
        "idea:b": {"$defs": {"x": {"type": "integer"}}, "$ref": "#/$defs/x"},
    }
    schema: Json = {"$defs": {"x": {"type": "boolean"}, "a": {"type": "null"}}, "properties": {}}
    schema["properties"] = {"o": ref("#/$defs/x"), "n": ref("#/$defs/a"), "a": ref("idea:a"), "b": ref("idea:b")}
    validator = Validator(with_links(schema, targets))
    assert validator.accepts({"o": True, "n": None, "a": "t", "b": 1})
    for wrong in ({"o": 1}, {"n": 1}, {"a": 1}, {"b": "t"}):
        assert not validator.accepts(wrong)


def test_data_that_looks_like_a_reference_is_data_and_a_member_may_be_called_so() -> None:
    schema: Json = {
        "const": ref("idea:a"),
        "default": ref("idea:b"),
        "examples": [ref("idea:c")],
        "enum": [ref("idea:d")],
    }
    assert links_of(schema) == []
    assert links_of({"properties": {"$ref": ref("idea:e"), "const": ref("idea:f")}}) == ["idea:e", "idea:f"]
    assert without_links({"properties": {"$ref": ref("idea:e#/x")}}) == {"properties": {"$ref": {}}}


@pytest.mark.parametrize(
    ("schemas", "circle"),
    [
        ({"a": ref("idea:a")}, "idea:a → idea:a"),
        (
            {"a": ref("idea:b"), "b": {"items": ref("idea:c")}, "c": {"properties": {"x": ref("idea:b")}}},
            "idea:b → idea:c → idea:b",
        ),
        ({"a": ref("idea:b?1"), "b": ref("idea:a")}, "idea:a → idea:b?1 → idea:a"),
    ],
)
def test_a_circle_is_an_error_that_prints_it(tmp_path: Path, schemas: Json, circle: str) -> None:
    with pytest.raises(errors.IdeaError, match=f"in a circle: {circle.replace('?', '.')}$"):
        closed(stored(tmp_path, **schemas), ref("idea:a"))


def test_a_chain_without_an_end_is_cut() -> None:
    async def resolve(reference: str, tool: Tool) -> SavedRequest:
        number = int(reference.removeprefix("idea:n"))
        return SavedRequest(schema=ref(f"idea:n{number + 1}"))

    with pytest.raises(errors.IdeaError, match="deeper than 8: idea:n0 → idea:n1"):
        closed(Agent(None, tools=Tools(), resolver=resolve), ref("idea:n0"))


@pytest.mark.parametrize(
    ("address", "message"),
    [
        ("idea:nobody", "nobody"),
        ("idea:person?2", "nobody|no such|that version|there"),
        ("idea:none", "has no schema to refer to"),
        ("idea:../x", "is not a name"),
    ],
)
def test_what_can_not_be_had_is_named(tmp_path: Path, address: str, message: str) -> None:
    with pytest.raises(errors.IdeaError, match=message) as raised:
        closed(stored(tmp_path, person=PERSON, none=None), ref(address))
    assert address in raised.value.message


def test_tools_inputs_and_outputs_refer_and_the_model_is_given_one_closed_schema(tmp_path: Path) -> None:
    agent = stored(tmp_path, person=PERSON, team=TEAM)
    tool: Json = {"hire": {"properties": {"who": ref("idea:person"), "_output": ref("idea:team")}, "required": ["who"]}}
    context: list[Json] = [
        {"type": "tool", "tool": tool},
        {"type": "input", "input": {"name": "Ana"}, "schema": ref("idea:person")},
    ]
    call = {"_tool": "hire", "who": {"name": "Bo"}, "_output": [{"name": "Bo"}]}
    wrong: Json = {"_tool": "hire", "who": {"name": "B"}, "_output": []}
    model = models.Scripted([{"calls": [call, wrong], "output": "†calls.0"}, {"calls": [], "output": "†results.0"}])
    runner = Agent(model, tools=Tools(), store=tmp_path / "ideas.db")
    assert "idea:" not in json.dumps(runner.compose(context, ref("idea:team")))
    assert "idea:" not in json.dumps(runner.render(context, ref("idea:team")))
    result = asyncio.run(runner.run(context, ref("idea:team")))
    assert result.output == [{"name": "Bo"}]
    assert ["shorter than 2" in error.message for error in result.errors] == [True]
    assert "idea:" not in json.dumps(model.requests[0].schema)
    with pytest.raises(errors.MessageError, match="the input doesn't fit its schema"):
        asyncio.run(agent.run(context, {}, input={"name": "x"}))


def test_a_delegates_schemas_refer_from_where_the_delegate_stands(tmp_path: Path) -> None:
    (tmp_path / "person.json").write_text(json.dumps({"context": [], "schema": PERSON}), encoding="utf-8")
    (tmp_path / "asker.json").write_text(json.dumps({"context": [], "schema": ref("idea:person")}), encoding="utf-8")
    tool: Json = {"type": "tool", "tool": {"ask": {"_delegate": "asker.json", "_outputPath": {"const": "†state.a"}}}}
    answers: list[Json] = [
        {"calls": [{"_tool": "ask"}], "output": "†state.a"},
        {"calls": [], "output": {"name": "Ana"}},
    ]
    agent = Agent(models.Scripted(list(answers)), tools=Tools(), roots=[tmp_path])
    assert asyncio.run(agent.run([tool], {})).output == {"name": "Ana"}


def test_from_outside_nothing_local_is_referred_to(tmp_path: Path) -> None:
    """Neither by the Idea that is run nor by a delegate; what was asked for is not told to the parent's model."""
    agent = stored(tmp_path, person=PERSON)
    outside = Context([], origin="https://example.com/idea.json")
    with pytest.raises(errors.IdeaError, match="a delegate from outside can't reach 'idea:person'"):
        closed(agent, ref("idea:person"), outside)

    async def resolve(reference: str, tool: Tool) -> SavedRequest:
        if reference == "far":
            return SavedRequest(context=outside, schema=ref("idea:person#SECRET-WORDS"), is_foreign=True)
        raise errors.DelegateForbidden("a delegate from outside can't reach it: SECRET-WORDS")

    tool: Json = {"type": "tool", "tool": {"ask": {"_delegate": "far", "properties": {"_output": TEXT}}}}
    model = models.Scripted([{"calls": [{"_tool": "ask"}], "output": None}, {"calls": [], "output": 1}])
    result = asyncio.run(Agent(model, tools=Tools(), resolver=resolve).run([tool], {}))
    assert "what 'far' refers to is not available" in result.errors[0].message
    assert "SECRET" not in json.dumps(model.requests[1].messages)


def test_reading_an_idea_looks_nothing_up_and_writing_keeps_the_address(tmp_path: Path) -> None:
    path = tmp_path / "idea.json"
    path.write_text(json.dumps({"context": [], "schema": {"items": ref("idea:nobody")}}), encoding="utf-8")
    idea = Idea.load(path)
    idea.save(path)
    assert Idea.load(path).schema == {"items": ref("idea:nobody")}
    path.write_text(json.dumps({"context": [], "schema": {"items": ref("idea:x") | {"type": 3}}}), encoding="utf-8")
    with pytest.raises(errors.IdeaError, match="not a valid JSON Schema"):
        Idea.load(path)
