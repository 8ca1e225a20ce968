"""One table of how keywords hold schemas: what is walked, what is data, and in which order."""

from __future__ import annotations

from typing import Any

import pytest

from actum.schema.json import JsonObject as Json
from actum.schema.json import copy
from actum.schema.walk import HOLDS, mapped, reference_to, references, retargeted, subschemas, target_of

LEAF: Json = {"$ref": "#/$defs/leaf"}


def held_by(keyword: str, schema: Json) -> Json:
    """A schema that holds another under a keyword, in the form that the keyword takes."""
    forms: dict[str, Any] = {"schema": schema, "list": [True, schema], "map": {"const": schema}, "data": schema}
    return {keyword: forms[HOLDS[keyword]]}


def marked(schema: Any) -> Any:
    return mapped(schema, lambda inner: {**inner, "seen": True})


@pytest.mark.parametrize("keyword", [word for word, holding in HOLDS.items() if holding != "data"])
def test_a_schema_is_found_and_changed_under_every_keyword_that_holds_one(keyword: str) -> None:
    schema = held_by(keyword, LEAF)
    assert list(references(schema)) == ["#/$defs/leaf"]
    assert [subschema.keyword for subschema in subschemas(schema)] == ["", keyword]
    assert marked(schema) == {**held_by(keyword, {**LEAF, "seen": True}), "seen": True}


@pytest.mark.parametrize("keyword", [word for word, holding in HOLDS.items() if holding == "data"])
def test_what_looks_like_a_schema_in_data_is_a_value(keyword: str) -> None:
    schema = held_by(keyword, {**LEAF, "properties": {"a": LEAF}})
    assert list(references(schema)) == []
    assert marked(schema) == {**schema, "seen": True}


@pytest.mark.parametrize("name", ["const", "enum", "default", "examples", "$ref", "properties"])
def test_a_property_may_be_named_as_a_keyword(name: str) -> None:
    assert [subschema.path for subschema in subschemas({"properties": {name: LEAF}})] == [(), ("properties", name)]


def test_items_may_be_a_list_as_in_draft_7_and_a_keyword_that_nobody_knows_may_hold_schemas() -> None:
    schema = {"items": [LEAF, False], "components": {"schemas": {"Pet": LEAF}}}
    paths = [subschema.path for subschema in subschemas(schema) if subschema.schema == LEAF]
    assert paths == [("items", 0), ("components", "schemas", "Pet")]


def test_schemas_come_in_the_order_of_the_document_and_each_before_what_it_holds() -> None:
    schema = {"anyOf": [{"not": {"title": "1"}}, {"title": "2"}], "$defs": {"b": {"title": "3"}, "a": {"title": "4"}}}
    assert [subschema.schema["title"] for subschema in subschemas(schema) if "title" in subschema.schema] == [
        "1",
        "2",
        "3",
        "4",
    ]
    assert [subschema.path for subschema in subschemas(schema)][:3] == [(), ("anyOf", 0), ("anyOf", 0, "not")]


def test_a_change_sees_the_inner_schemas_changed_and_leaves_the_original_alone() -> None:
    schema: Json = {"properties": {"a": {"items": {}}}, "anyOf": [{}, True]}
    before = copy(schema)

    def change(whole: Json) -> Json:
        whole["size"] = 1 + sum(inner.schema.get("size", 0) for inner in subschemas(whole) if len(inner.path) in {1, 2})
        return whole

    assert mapped(schema, change)["size"] == 4
    assert schema == before


def test_a_reference_may_be_led_elsewhere_or_left_out() -> None:
    schema = {"items": {"$ref": "a", "title": "kept"}, "not": {"$ref": "b"}, "properties": {"$ref": {"$ref": "a"}}}
    led = retargeted(schema, {"a": "c", "b": None}.get)
    assert led == {"items": {"$ref": "c", "title": "kept"}, "not": {}, "properties": {"$ref": {"$ref": "c"}}}


@pytest.mark.parametrize("schema", [True, False, None])
def test_what_holds_nothing_is_walked_without_a_step(schema: Any) -> None:
    assert list(subschemas(schema)) == []
    assert list(references(schema)) == []
    assert marked(schema) is schema


@pytest.mark.parametrize("keyword", ["anyOf", "not", "properties"])
def test_a_schema_may_nest_far_deeper_than_python_recurses(keyword: str) -> None:
    schema: Json = dict(LEAF)
    for _ in range(20_000):
        schema = held_by(keyword, schema)
    led = retargeted(schema, str.upper)
    assert list(references(led)) == ["#/$DEFS/LEAF"]


@pytest.mark.parametrize("name", ["plain", "a/b", "a~b", "a~1b", "ü", "0"])
def test_a_reference_to_a_definition_leads_to_it(name: str) -> None:
    assert target_of(reference_to(name), {"$defs": {name: LEAF}}) is LEAF
    assert target_of(reference_to(name, "definitions"), {"definitions": {name: LEAF}}) is LEAF


def test_a_reference_may_lead_anywhere_in_its_document_and_nowhere_else() -> None:
    root: Json = {"anyOf": [True, LEAF], "properties": {"a b": False}}
    assert target_of("#", root) is root
    assert target_of("#/anyOf/1", root) is LEAF
    assert target_of("#/properties/a%20b", root) is False
    elsewhere = ["#/anyOf/2", "#/anyOf/-1", "#/anyOf/x", "#/nothing/a", "#anchor", "idea:a", "anyOf/0", None, 3]
    assert [target_of(reference, root) for reference in elsewhere] == [None] * len(elsewhere)
