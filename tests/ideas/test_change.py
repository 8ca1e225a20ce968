"""What a change means: a table of pairs of schemas, each verified by values that are made under one of them (X3)."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from actum.ideas.file import IdeaText
from actum.ideas.library import change_between
from actum.schema.gathering import closed
from actum.schema.json import JsonObject as Json
from actum.schema.validator import Validator, admits

from ..effort import trials

pytestmark = pytest.mark.rule("X3")
S: Json = {"type": "string"}
I: Json = {"type": "integer"}  # noqa: E741 -- as in the table
N: Json = {"type": "number"}


def members(required: list[str] | None = None, **properties: Any) -> Json:
    return {"type": "object", "properties": properties, "required": required or []}


# old, new, kind as an input, kind as an output
TABLE: list[tuple[str, Json, Json, str, str]] = [
    ("nothing", members(a=S), members(a=S), "solution", "solution"),
    ("optional member added", members(a=S), members(a=S, b=I), "compatible", "compatible"),
    ("required member added", members(["a"], a=S), members(["a", "b"], a=S, b=I), "breaking", "compatible"),
    ("optional member removed", members(["a"], a=S, b=I), members(["a"], a=S), "compatible", "breaking"),
    ("required member removed", members(["a", "b"], a=S, b=I), members(["a"], a=S), "compatible", "breaking"),
    ("required now", members(a=S), members(["a"], a=S), "breaking", "compatible"),
    ("optional now", members(["a"], a=S), members(a=S), "compatible", "breaking"),
    ("retyped", members(["a"], a=S), members(["a"], a=I), "breaking", "breaking"),
    ("wider type", members(["a"], a=S), members(["a"], a={"type": ["string", "null"]}), "compatible", "breaking"),
    ("narrower type", members(["a"], a={"type": ["string", "null"]}), members(["a"], a=S), "breaking", "compatible"),
    ("integer to number", members(["a"], a=I), members(["a"], a=N), "compatible", "breaking"),
    ("number to integer", members(["a"], a=N), members(["a"], a=I), "breaking", "compatible"),
    ("choice added", members(["a"], a={"enum": [1]}), members(["a"], a={"enum": [1, 2]}), "compatible", "breaking"),
    ("choice removed", members(["a"], a={"enum": [1, 2]}), members(["a"], a={"enum": [1]}), "breaking", "compatible"),
    (
        "longer",
        members(["a"], a={"type": "string", "maxLength": 3}),
        members(["a"], a={"type": "string", "maxLength": 5}),
        "compatible",
        "breaking",
    ),
    (
        "shorter",
        members(["a"], a={"type": "string", "maxLength": 5}),
        members(["a"], a={"type": "string", "maxLength": 3}),
        "breaking",
        "compatible",
    ),
    (
        "bound lifted",
        members(["a"], a={"type": "integer", "minimum": 0}),
        members(["a"], a=I),
        "compatible",
        "breaking",
    ),
    ("bound set", members(["a"], a=I), members(["a"], a={"type": "integer", "minimum": 0}), "breaking", "compatible"),
    ("item type wider", {"type": "array", "items": I}, {"type": "array", "items": N}, "compatible", "breaking"),
    ("item type narrower", {"type": "array", "items": N}, {"type": "array", "items": I}, "breaking", "compatible"),
    (
        "fewer items",
        {"type": "array", "items": S, "maxItems": 5},
        {"type": "array", "items": S, "maxItems": 2},
        "breaking",
        "compatible",
    ),
    ("same in other words", {"anyOf": [S, I]}, {"type": ["integer", "string"]}, "compatible", "compatible"),
    ("union grows", {"anyOf": [S, I]}, {"anyOf": [S, I, {"type": "null"}]}, "compatible", "breaking"),
    ("described otherwise", members(a=S), members(a={**S, "description": "x"}), "compatible", "compatible"),
    (
        "nested optional added",
        members(["a"], a=members(b=S)),
        members(["a"], a=members(b=S, c=S)),
        "compatible",
        "compatible",
    ),
    (
        "nested required added",
        members(["a"], a=members(b=S)),
        members(["a"], a=members(["c"], b=S, c=S)),
        "breaking",
        "compatible",
    ),
    (
        "closed, then a member",
        {**members(a=S), "additionalProperties": False},
        {**members(a=S, b=S), "additionalProperties": False},
        "compatible",
        "breaking",
    ),
    ("opened", {**members(a=S), "additionalProperties": False}, members(a=S), "compatible", "breaking"),
    ("anything to something", {}, members(a=S), "breaking", "compatible"),
    ("something to anything", members(["a"], a=S), {}, "compatible", "breaking"),
    ("by reference", {"$ref": "#/$defs/x", "$defs": {"x": S}}, S, "compatible", "compatible"),
]
IDS = [row[0] for row in TABLE]


def as_input(schema: Json) -> IdeaText:
    return IdeaText(context=[{"type": "input", "schema": schema}, {"type": "text", "text": str(schema)}], schema=S)


def as_output(schema: Json) -> IdeaText:
    return IdeaText(context=[{"type": "text", "text": str(schema)}], schema=schema)


@pytest.mark.parametrize(("name", "old", "new", "input_kind", "output_kind"), TABLE, ids=IDS)
def test_the_kind_of_a_change(name: str, old: Json, new: Json, input_kind: str, output_kind: str) -> None:
    other = {"type": "text", "text": "changed"}
    for make, kind in ((as_input, input_kind), (as_output, output_kind)):
        before, after = make(old), make(new)
        after.context.append(other)
        change = change_between(before, after)
        assert (change.kind, name) == (kind, name)
        assert change.reasons
        if kind == "breaking":
            party = "callers" if make is as_input else "readers"
            assert all(f"breaks {party}" in reason for reason in change.reasons)


VALUES = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(-3, 8), st.sampled_from([0.5, 1.5]), st.text("ab", max_size=6)),
    lambda inner: st.lists(inner, max_size=6) | st.dictionaries(st.sampled_from("abc"), inner, max_size=3),
    max_leaves=8,
)


@pytest.mark.parametrize(("name", "old", "new", "input_kind", "output_kind"), TABLE, ids=IDS)
@settings(max_examples=trials(150))
@given(data=st.data())
def test_no_value_says_otherwise(
    name: str, old: Json, new: Json, input_kind: str, output_kind: str, data: st.DataObject
) -> None:
    """What is called compatible holds for every value that is made; callers give what the schema names."""
    value = data.draw(VALUES)
    if input_kind != "breaking" and Validator(closed(old)).accepts(value):
        assert Validator(new).accepts(value), name
    if output_kind != "breaking" and Validator(new).accepts(value):
        assert Validator(old).accepts(value), name


@st.composite
def schemas(draw: st.DrawFn, depth: int = 2) -> Json:
    kinds = ["string", "integer", "number", "enum", "types"] + (["object", "array", "anyOf"] if depth else [])
    match draw(st.sampled_from(kinds)):
        case "string":
            return {"type": "string", **draw(st.sampled_from([{}, {"maxLength": 2}, {"minLength": 1}]))}
        case "integer":
            return {"type": "integer", **draw(st.sampled_from([{}, {"minimum": 0}, {"maximum": 3}]))}
        case "number":
            return {"type": "number", **draw(st.sampled_from([{}, {"minimum": 0.5}]))}
        case "enum":
            return {
                "enum": draw(st.lists(st.sampled_from([1, "a", None, True]), min_size=1, max_size=3, unique_by=str))
            }
        case "types":
            return {
                "type": draw(
                    st.lists(st.sampled_from(["string", "null", "boolean"]), min_size=1, max_size=2, unique=True)
                )
            }
        case "array":
            return {"type": "array", "items": draw(schemas(depth - 1)), **draw(st.sampled_from([{}, {"maxItems": 2}]))}
        case "anyOf":
            return {"anyOf": draw(st.lists(schemas(depth - 1), min_size=1, max_size=2))}
        case _:
            properties = draw(st.dictionaries(st.sampled_from("abc"), schemas(depth - 1), max_size=2))
            required = draw(st.lists(st.sampled_from("abc"), max_size=1))
            return {"type": "object", "properties": properties, "required": required}


@settings(max_examples=trials(600))
@given(schemas(), schemas(), st.lists(VALUES, min_size=5, max_size=12))
def test_whatever_is_proven_no_value_contradicts(wide: Json, narrow: Json, values: list[Any]) -> None:
    if admits(wide, narrow) is True:
        of_wide, of_narrow = Validator(wide), Validator(narrow)
        assert all(of_wide.accepts(value) for value in values if of_narrow.accepts(value))


def test_what_can_not_be_told_counts_as_breaking_and_says_so() -> None:
    old, new = {"type": "string", "pattern": "^(a|b)*$"}, {"type": "string", "pattern": "^(b|a)*$"}
    change = change_between(as_output(old), as_output(new))
    assert change.kind == "breaking"
    assert "could not be proven" in change.reasons[0]


def test_the_same_idea_is_no_change_and_another_answer_is_a_solution() -> None:
    idea = IdeaText(context=[], schema=S)
    assert change_between(idea, IdeaText(context=[], schema=S)).kind == "none"
    answered = change_between(idea, IdeaText(context=[], schema=S, solution={"output": "x"}))
    assert (answered.kind, answered.reasons) == ("solution", ("the solution changes",))
