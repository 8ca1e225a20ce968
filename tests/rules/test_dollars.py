"""`$` for † in what people write: plans and tools, in Python, YAML and JSON; nowhere else (O12)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from actum import Agent, Context, Idea, Tools, errors, kept, models

pytestmark = pytest.mark.rule("O12")
INPUT = {"type": "input", "input": {"city": "Lisbon", "cities": ["Rome", "Oslo"], "raw": "$input.city"}}


def tools() -> Tools:
    registry = Tools()

    @registry.tool(effects="none", _outputPath="$state.last")
    def look(city: str) -> dict[str, str]:
        """Look a city up."""
        return {"city": city}

    @registry.tool(effects="none")
    def fail() -> str:
        """Fail."""
        raise ValueError

    assert (look.name, fail.name) == ("look", "fail")
    return registry


def came_to(output: Any, *calls: Any, more: Any = ()) -> Any:
    plan = {"type": "plan", "plan": [*calls], "output": output}
    return Agent(None, tools=tools()).run_sync([INPUT, *more, plan]).output


LOOK = {"_tool": "look", "city": "$input.city"}


@pytest.mark.parametrize(
    ("output", "expected"),
    [
        ("$calls.0.city", "Lisbon"),
        ("$calls[0].city", "Lisbon"),
        ("$state.last.city", "Lisbon"),
        ("It is {$calls.0.city}.", "It is Lisbon."),
        ("{len($calls.0.city)-len($input.city)}", 0),
        ("{[c.upper() for c in $input.cities if c != '$input']}", ["ROME", "OSLO"]),
        ("{f'{$calls.0.city}!' + \"$input.city\"}", "Lisbon!$input.city"),
        ("{$calls.0.city}: $$input.city, $5, {$input.city}", "Lisbon: $input.city, $5, Lisbon"),
        ("{$calls.0.city} '$$input.city'", "Lisbon '$input.city'"),  # no quotes of a group
        ("} {{'a': $calls.0.city}.a} '$$input.city'", "} Lisbon '$input.city'"),
        ("$state.none <|> $calls.0.city", "Lisbon"),
        ({"a": ["$input.city", {"b": "†input.city"}]}, {"a": ["Lisbon", {"b": "Lisbon"}]}),
        ("$$calls.0.city", "$calls.0.city"),
        ("For $$input.city, {$calls.0.city}", "For $input.city, Lisbon"),
        ("$5, $HOME, US$input, $inputs, $input-file, $$, $", "$5, $HOME, US$input, $inputs, $input-file, $$, $"),
        ("$error.code", "$error.code"),
        ("$input.raw", "$input.city"),  # values are no plans
    ],
)
def test_a_plan_may_say_it_in_ascii(output: Any, expected: Any) -> None:
    assert came_to(output, LOOK) == expected


def test_a_plan_whose_output_alone_refers_by_it_may_too() -> None:
    assert came_to("$calls.0.city", {"_tool": "look", "city": "Rome"}) == "Rome"
    assert came_to("$input.city") == "Lisbon"


def test_all_that_a_call_refers_by_may() -> None:
    each = {"_value": "{$each.upper()}", "_each": "$input.cities", "_when": "{$each != 'Rome'}"}
    failing = {"_tool": "fail", "_else": {"kind": "$error", "of": "$input.city"}}
    expected = {"_expect": "{len($calls.0) == 2}"}
    writing = {"_tool": "look", "city": "x", "_outputPath": "$notes.first"}
    schema = {
        "properties": {"city": {}, "_output": {}, "_activity": {"const": "look"}, "_outputPath": {"type": "string"}}
    }
    tool = {"type": "tool", "tool": {"note": schema}}
    output = ["$calls.0", "$calls.1.of", "$calls.1.kind", "$notes.first.city"]
    result = came_to(output, each, failing, expected, {**writing, "_tool": "note"}, more=[tool])
    assert result == [[None, "OSLO"], "Lisbon", "activity", "x"]


def test_what_looks_like_a_reference_and_is_none_is_judged_as_with_the_sign() -> None:
    for text in ("Hello $input.city", "Hello †input.city"):
        with pytest.raises(errors.ActumError, match=r"\{†input.city\}"):
            came_to("$calls.0", {"_tool": "look", "city": text})


def test_tools_may_say_where_they_write_in_ascii() -> None:
    registry = tools()
    schema = {"properties": {"_output": {}, "_outputPath": {"enum": ["$state.a", "$state.b <|> $state.c"]}}}
    meta = registry.register("write", schema).meta
    assert meta["_outputPath"]["enum"] == ["†state.a", "†state.b <|> †state.c"]
    assert registry.register("plain", {"_outputPath": "$state.a", "_output": {}}).fixed("_outputPath") == "†state.a"


def test_ideas_may_in_yaml_and_json(tmp_path: Path) -> None:
    idea = tmp_path / "idea.yaml"
    idea.write_text(
        "context:\n- {type: input, input: {city: Lisbon}}\n- type: plan\n  plan:\n  - {_value: $input.city}\n"
        "  output: 'In {$calls.0}, $$calls'\n"
    )
    Idea.load(idea).save(tmp_path / "idea.json")
    for file in (idea, tmp_path / "idea.json", tmp_path / "again.json"):
        read = Idea.load(file)
        assert Agent(None).run_sync(read.context).output == "In Lisbon, $calls"
        read.save(tmp_path / "again.json")


def test_what_models_write_is_left_as_it_is() -> None:
    answer = {"calls": [{"_tool": "look", "city": "$input.city"}], "output": "$calls.0"}
    result = Agent(models.Scripted([answer]), tools=tools()).run_sync([INPUT, "Where?"], str)
    assert result.output == "$calls.0"
    assert result.context.state["last"] == {"city": "$input.city"}
    kept_plan: dict[str, Any] = {
        "type": "plan",
        "plan": [],
        "output": "$input.city",
        "_by": "model",
        "_of": "0",
        "_run": "x",
    }
    assert Agent(None).run_sync([INPUT, kept_plan]).output == "$input.city"
    idea = Idea(context=[INPUT], solution={"calls": [], "output": "$input.city"})
    assert Agent(None).run_sync(idea.without_model()).output == "$input.city"


async def test_a_kept_context_is_read_once(tmp_path: Path) -> None:
    late = {"_tool": "note", "city": "x", "_outputPath": "†late.x"}
    schema = {
        "properties": {"city": {}, "_output": {}, "_activity": {"const": "look"}, "_outputPath": {"type": "string"}}
    }
    gate = {"_value": "$state.approvals.go"}
    output = ["$$calls.0", "$calls.0.city", "$$late.x", "$other"]
    plan = {"type": "plan", "plan": [late, gate], "output": output}
    context = [INPUT, {"type": "tool", "tool": {"note": schema}}, plan]
    file = tmp_path / "run.json"
    result = await kept.start(file, Idea(context=context), Agent(None, tools=tools()))
    assert result.waiting == ["†state.approvals.go"]
    messages = json.loads(file.read_text())["context"]
    for left in (result.context, Context(messages), Context(json.loads(json.dumps(Context(messages).messages)))):
        opened = left.extended([{"type": "state", "state": {"approvals": {"go": True}}}])
        assert (await Agent(None, tools=tools()).run(opened)).output == ["$calls.0", "x", "$late.x", "$other"]
