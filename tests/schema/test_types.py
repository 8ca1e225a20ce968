"""What a JSON Schema says of a value's type, what a key of it holds, and what fits where (O11, E5)."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings

from actum.schema.type_reading import misfit_between, type_of, type_of_value
from actum.schema.types import ANYTHING, Misfit, in_words, is_optional, member
from actum.schema.validator import Validator

from ..effort import trials
from .typed_values import schemas_with_values

TEXT: dict[str, Any] = {"type": "string"}
EVENT: dict[str, Any] = {
    "type": "object",
    "properties": {"id": {"type": "integer"}, "title": TEXT, "place": TEXT, "guests": {"type": "array", "items": TEXT}},
    "required": ["id", "title", "guests"],
}
NODE: dict[str, Any] = {
    "$ref": "#/$defs/Node",
    "$defs": {
        "Node": {
            "type": "object",
            "properties": {"value": TEXT, "next": {"anyOf": [{"$ref": "#/$defs/Node"}, {"type": "null"}]}},
            "required": ["value", "next"],
        }
    },
}


@pytest.mark.parametrize(
    ("schema", "words"),
    [
        (TEXT, "a text"),
        ({"type": ["integer", "null"]}, "a whole number or null"),
        ({"anyOf": [{"type": "array"}, {"type": "boolean"}]}, "a list or true or false"),
        ({"enum": ["a", 1, None]}, "a text or a whole number or null"),
        ({"const": {"a": 1}}, "an object"),
        (EVENT, "an object"),
        (NODE, "an object"),
        ({"allOf": [TEXT]}, "a text"),
        ({"allOf": [TEXT, {"minLength": 1}]}, "anything"),
        ({"type": "string", "anyOf": [{"format": "date"}, {"format": "time"}]}, "a text"),
        ({"type": "object", "oneOf": [EVENT]}, "an object"),
        ({"if": TEXT, "then": TEXT}, "anything"),
        ({"not": TEXT}, "anything"),
        ({}, "anything"),
        (True, "anything"),
        (False, "anything"),
        ({"type": "any"}, "anything"),
        ({"description": "whatever"}, "anything"),
        ({"$ref": "https://example.org/schema"}, "anything"),
        ({"$ref": "#/$defs/none"}, "anything"),
        ({"$ref": "#/$defs/a", "$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"$ref": "#/$defs/a"}}}, "anything"),
        ({"$dynamicRef": "#node"}, "anything"),
        ({"properties": {"a": TEXT}}, "anything"),
    ],
)
def test_a_schema_says_what_a_value_may_be(schema: Any, words: str) -> None:
    assert in_words(type_of(schema)) == words


def test_a_schema_that_holds_itself_is_read_as_far_as_it_is_asked() -> None:
    node = type_of(NODE)
    for _ in range(100):
        node = member(node, "next")
    assert in_words(member(node, "value")) == "a text"
    assert misfit_between(node, type_of(NODE)) is None


def test_a_long_chain_of_references_needs_no_recursion() -> None:
    length = 5_000
    definitions: dict[str, Any] = {
        str(n): {"anyOf": [{"$ref": f"#/$defs/{n + 1}"}, {"type": "null"}]} for n in range(length)
    }
    schema = {"$ref": "#/$defs/0", "$defs": {**definitions, str(length): TEXT}}
    assert in_words(type_of(schema)) == "a text or null"


def test_the_properties_of_a_result_are_all_there_are_unless_it_says_otherwise() -> None:
    with pytest.raises(Misfit):
        member(type_of(EVENT), "name")
    for additional in (True, {}, TEXT):
        assert member(type_of({**EVENT, "additionalProperties": additional}), "name") is not None
    assert member(type_of({**EVENT, "patternProperties": {"^n": TEXT}}), "name").alternatives is None
    assert in_words(member(type_of({"type": "object", "additionalProperties": TEXT}), "name")) == "a text"
    assert member(type_of({"type": "object", "properties": {}}), "name") is ANYTHING


def test_the_properties_of_a_kind_are_not_all_there_are_unless_it_says_so() -> None:
    assert member(type_of(EVENT, is_open=True), "name") is ANYTHING
    with pytest.raises(Misfit):
        member(type_of({**EVENT, "additionalProperties": False}, is_open=True), "name")


def test_a_required_key_is_there_though_it_is_not_declared() -> None:
    assert member(type_of({**EVENT, "required": ["name"]}), "name") is ANYTHING


@pytest.mark.parametrize("also", ["anyOf", "allOf", "oneOf"])
def test_properties_that_other_schemas_add_to_are_not_all_there_are(also: str) -> None:
    schema = {**EVENT, also: [{"properties": {"name": TEXT}}]}
    assert member(type_of(schema), "name").alternatives is None
    assert in_words(member(type_of(schema), "title")) == "a text"


def test_a_missing_key_is_told_with_the_nearest_and_the_declared_ones() -> None:
    with pytest.raises(Misfit, match=r"^no 'titel' \(did you mean 'title'\?\), it has id, title, place, guests$"):
        member(type_of(EVENT), "titel")


@pytest.mark.parametrize(
    ("schema", "segment", "why"),
    [
        (
            {"type": "array", "items": EVENT},
            "title",
            "a list has no 'title'; use one(x for x in … if …), an index or a ",
        ),
        (TEXT, "title", "a text has no 'title'"),
        ({"type": "null"}, "title", "null has no 'title'"),
        ({"type": ["integer", "null"]}, 0, "a whole number has no 0"),
        ({"type": "array", "prefixItems": [TEXT], "items": False, "minItems": 1}, 1, "no item 1, it has 1"),
        (EVENT, 0, "no '0', it has id"),
        ({"properties": {"a": TEXT}}, "b", "no 'b', it has a"),
        ({"properties": {"a\n†b": TEXT}, "type": "object"}, "b", r"no 'b', it has 'a\u{a}\u{2020}b'"),
    ],
)
def test_what_has_no_such_part_says_what_is_there(schema: Any, segment: str | int, why: str) -> None:
    with pytest.raises(Misfit) as error:
        member(type_of(schema), segment)
    assert str(error.value).startswith(why)


def test_a_part_is_there_if_one_alternative_has_it() -> None:
    either = type_of({"anyOf": [TEXT, EVENT, {"type": "null"}]})
    assert in_words(member(either, "title")) == "a text"


def test_an_optional_key_may_hold_null() -> None:
    event = type_of(EVENT)
    assert in_words(member(event, "place")) == "a text or null"
    assert (is_optional(event, "place"), is_optional(event, "title"), is_optional(event, "name")) == (
        True,
        False,
        False,
    )


@pytest.mark.parametrize("segment", [0, "0", -1])
def test_an_index_is_of_lists_and_texts(segment: str | int) -> None:
    row: dict[str, Any] = {"type": "array", "prefixItems": [TEXT, TEXT], "minItems": 2, "maxItems": 2}
    assert in_words(member(type_of(row), segment)) == "a text"
    assert in_words(member(type_of({"type": "array", "items": {"type": "integer"}}), segment)) == "a whole number"


@pytest.mark.parametrize(
    ("given_", "needed", "why"),
    [
        (TEXT, {"type": "integer"}, "a text where a whole number is needed; {int(x)} reads one"),
        (
            {"type": ["string", "null"]},
            {"type": "integer"},
            "a text or null where a whole number is needed; {int(x)} reads one",
        ),
        ({"type": "boolean"}, {"type": "number"}, "true or false where a number is needed"),
        ({"const": "x"}, {"enum": ["a", "b"]}, "one of 'a', 'b' is needed"),
        (
            {"type": "array", "items": EVENT},
            {"type": "array", "items": TEXT},
            "in a list: an object where a text is needed",
        ),
        (EVENT, {"required": ["email"], "additionalProperties": False, "type": "object"}, "the key 'id' is not taken"),
        (EVENT, {"properties": {"mail": TEXT}, "required": ["mail"], "type": "object"}, "the key 'mail' is missing"),
        (EVENT, {"properties": {"id": TEXT}, "type": "object"}, "at 'id': a whole number where a text is needed"),
    ],
)
def test_what_can_never_fit_says_why(given_: Any, needed: Any, why: str) -> None:
    assert misfit_between(type_of(given_), type_of(needed, is_open=True)) == why


@pytest.mark.parametrize(
    ("given_", "needed"),
    [
        ({}, TEXT),
        (TEXT, {}),
        (TEXT, {"enum": ["a"]}),
        ({"type": "number"}, {"type": "integer"}),
        ({"type": ["string", "integer"]}, {"type": "integer"}),
        ({"const": []}, {"type": "array", "items": TEXT}),
        (EVENT, {"type": "object"}),
        (EVENT, {"properties": {"place": {"type": "integer"}}}),
        ({"type": "object"}, EVENT),
        ({"type": ["string", "null"]}, {"type": ["integer", "null"]}),
    ],
)
def test_what_may_fit_is_no_misfit(given_: Any, needed: Any) -> None:
    assert misfit_between(type_of(given_), type_of(needed, is_open=True)) is None


def test_digits_may_be_a_key() -> None:
    assert in_words(member(type_of({"type": "object", "properties": {"0": TEXT}, "required": ["0"]}), 0)) == "a text"


def test_too_many_alternatives_are_anything() -> None:
    many = {"anyOf": [{"const": [n]} for n in range(100)]}
    assert type_of(many).alternatives is None


@given(schemas_with_values())
@settings(max_examples=trials(2_000, least=200))
def test_a_value_that_a_schema_takes_is_of_its_type(drawn: tuple[dict[str, Any], Any]) -> None:
    schema, value = drawn
    assert Validator(schema).accepts(value)
    for is_open in (False, True):
        assert misfit_between(type_of_value(value), type_of(schema, is_open=is_open)) is None
