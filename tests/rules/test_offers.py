"""What a request offers besides tools: references, templates, order, conditions (T9, T16), in what words and forms."""

from __future__ import annotations

import json
from typing import Any

import pytest

from actum import Agent, Config, Tools, models
from actum.schema.lowering import DIALECTS, Dialect
from actum.schema.validator import Validator

from .scripts import agent, call_schemas, text_of

Json = dict[str, Any]
REFERENCE: Json = {"type": "string", "pattern": "^†"}
TEMPLATE: Json = {"type": "string", "pattern": "^[†{]"}
NUMBER: Json = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
STATE: list[Json] = [{"type": "state", "x": 1}]
FLAT = Config(flow=False)


def latent(**more: Json) -> Json:
    return {"type": "object", "properties": {"n": {"type": "integer"}, **more}, "required": ["n"]}


def explicit(count: int = 1, *, has_output: bool = False) -> Tools:
    """Tools with an Activity and no `_output`: nothing but the Activity makes them worth referring to."""
    tools = Tools()
    for number in range(count):
        tools.register(f"t{number}", latent(_output={}) if has_output else latent())
        tools.activity(f"t{number}", lambda: 1)
    return tools


def one(schema: Json) -> Tools:
    tools = Tools()
    tools.register("t0", schema)
    return tools


REFERABLE: dict[str, tuple[Tools, list[Json], bool]] = {
    "latent without a result": (one(latent()), [], False),
    "latent with a result": (one(latent(_output={"type": "string"})), [], True),
    "explicit": (explicit(), [], True),
    "delegated": (one({**latent(), "_delegate": "anonymous"}), [], True),
    "data": (one(latent()), STATE, True),
    "what a call has left": (one(latent()), [{"type": "data", "kind": "result", "data": 1, "_call": {}}], False),
}


@pytest.mark.rule("T9")
@pytest.mark.parametrize("which", REFERABLE)
@pytest.mark.parametrize("form", ["wide", "aside"])
def test_parameters_and_places_of_the_output_take_references_only_where_there_is_something_to_refer_to(
    which: str, form: Any
) -> None:
    tools, context, refers = REFERABLE[which]
    composed = agent(tools=tools, config=Config(flow=False, references=form)).compose(context, NUMBER)
    properties = call_schemas(composed)["t0"]["properties"]
    assert (properties["n"] == {"anyOf": [{"type": "integer"}, REFERENCE]}) is (refers and form == "wide")
    assert (properties.get("_with") == {"type": "object", "additionalProperties": REFERENCE}) is (
        refers and form == "aside"
    )
    assert ("†" in json.dumps(composed["properties"]["output"], ensure_ascii=False)) is (refers and form == "wide")


@pytest.mark.rule("T9")
def test_every_place_of_the_output_that_a_text_would_not_fit_takes_a_reference() -> None:
    schema: Json = {
        "type": "object",
        "properties": {
            "text": {"type": "string"},
            "kind": {"const": "a"},
            "number": {"type": "number"},
            "maybe": {"anyOf": [{"type": "integer"}, {"type": "null"}]},
            "list": {"type": "array", "items": {"type": "object", "properties": {"x": {"type": "boolean"}}}},
            "map": {"type": "object", "additionalProperties": {"$ref": "#/$defs/D"}},
            "pair": {"type": "array", "prefixItems": [{"type": "integer"}, {"type": "string"}]},
        },
        "required": ["number"],
        "$defs": {"D": {"type": "object", "properties": {"y": {"enum": ["a", "b"]}}, "required": ["y"]}},
    }
    composed = agent(tools=explicit(), config=FLAT).compose("go", schema)
    judge = Validator(composed)

    def accepts(output: Any) -> bool:
        return judge.accepts({"calls": [], "output": output})

    reference = "†calls.0"
    for place in (
        reference,
        {"number": reference},
        {"number": 1, "maybe": reference},
        {"number": 1, "list": reference},
        {"number": 1, "list": [reference]},
        {"number": 1, "list": [{"x": reference}]},
        {"number": 1, "map": reference},
        {"number": 1, "map": {"k": reference}},
        {"number": 1, "map": {"k": {"y": reference}}},
        {"number": 1, "pair": [reference, reference]},
    ):
        assert accepts(place), place
        assert not accepts(json.loads(json.dumps(place, ensure_ascii=False).replace(reference, "no"))), place
    assert not accepts({"number": 1, "kind": reference})
    assert composed["properties"]["output"]["anyOf"][0]["properties"]["text"] == {"type": "string"}


@pytest.mark.rule("T9", "T16")
def test_where_templates_are_offered_they_stand_wherever_a_reference_does() -> None:
    composed = agent(tools=explicit()).compose("go", NUMBER)
    assert call_schemas(composed)["t0"]["properties"]["n"] == {"anyOf": [{"type": "integer"}, TEMPLATE]}
    output = composed["properties"]["output"]["anyOf"]
    assert output[1:] == [TEMPLATE, {"type": "null"}]
    assert output[0]["properties"]["n"] == {"anyOf": [{"type": "integer"}, TEMPLATE]}
    aside = agent(tools=explicit(), config=Config(references="aside")).compose("go", NUMBER)
    assert call_schemas(aside)["t0"]["properties"]["_with"]["additionalProperties"] == TEMPLATE


def offered(composed: Json) -> set[str]:
    """Which parts of the flow a composed schema offers."""
    text = json.dumps(composed)
    return {name for name in ("_each", "_when", "_then", "_value") if f'"{name}"' in text}


FLOW = {"_each", "_when", "_then", "_value"}


@pytest.mark.rule("T16")
@pytest.mark.parametrize(
    ("tools", "config", "expected"),
    [
        (explicit(), None, FLOW),
        (one({**latent(), "_delegate": "anonymous"}), None, FLOW),
        (one(latent(_output={"type": "string"})), None, set[str]()),
        (Tools(), None, set[str]()),
        (explicit(), FLAT, set[str]()),
    ],
    ids=["explicit", "delegated", "latent", "none", "switched off"],
)
def test_the_flow_is_offered_together_or_not_at_all(tools: Tools, config: Any, expected: set[str]) -> None:
    for context in ("go", STATE):
        runner = agent(tools=tools, config=config)
        assert offered(runner.compose(context, NUMBER)) == expected
        shown = text_of(runner.render(context))
        assert {name for name in FLOW if name in shown} == expected
        assert ("{…}" in shown) is bool(expected)


@pytest.mark.rule("T16")
def test_a_latent_tool_beside_an_explicit_one_is_not_offered_what_its_calls_do_not_take() -> None:
    tools = explicit()
    tools.register("latent", latent(_output={"type": "string"}))
    schemas = call_schemas(agent(tools=tools).compose())
    assert {"_each", "_when"} <= schemas["t0"]["properties"].keys()
    assert not {"_each", "_when"} & schemas["latent"]["properties"].keys()


@pytest.mark.rule("T16", "T12")
async def test_that_tools_must_be_asked_for_offers_nothing_by_itself() -> None:
    tools = Tools()
    for number in range(40):
        tools.register(f"t{number}", latent(_output={"type": "string", "description": "x" * 99}))
    assert offered(agent(tools=tools, config=Config(tool_budget=100)).compose()) == set()


every_dialect = pytest.mark.parametrize("dialect", DIALECTS.values(), ids=lambda one: one.name)
WRITTEN: list[Json] = [
    {"_tool": "t0", "n": 1},
    {"_tool": "t0", "n": "{†calls.0 + 1}"},
    {"_tool": "t0", "n": "†each", "_each": "†calls.0"},
    {"_tool": "t0", "n": "†each", "_each": ["a", 2]},
    {"_tool": "t0", "n": 1, "_when": "{†calls.0 > 1}"},
    {"_tool": "t0", "n": "†each", "_each": "†calls.0", "_when": "{†each > 1}", "_outputPath": "†state.y"},
    {"_then": True},
    {"_value": "{max(†calls.0)}"},
]


@pytest.mark.rule("T16", "T10")
@every_dialect
@pytest.mark.parametrize("count", [1, 9])
@pytest.mark.parametrize("written", WRITTEN, ids=json.dumps)
async def test_on_every_wire_an_element_has_a_form_that_is_read_back_to_itself(
    dialect: Dialect, count: int, written: Json
) -> None:
    model = models.Scripted([], dialect=dialect)
    lowered = (await Agent(model, tools=explicit(count, has_output=True)).frame(STATE, NUMBER)).lowered
    judge = Validator(lowered.schema)
    forms = [form for form in _forms(written) if judge.accepts({"calls": [form], "output": None})]
    assert forms
    assert [lowered.restore_call(form) for form in forms] == [written] * len(forms)
    if not SAID & written.keys():
        assert written in forms, "of what nothing is said costs nothing"


SAID = {"_each", "_when", "_outputPath"}


def _forms(written: Json) -> list[Json]:
    """An element as it is, and as a call inside the object that says more of it."""
    said = {key: one for key, one in written.items() if key in SAID}
    whole = {"_call": {key: one for key, one in written.items() if key not in said}}
    return [written, {**said, **whole}, {**dict.fromkeys(SAID), **said, **whole}]
