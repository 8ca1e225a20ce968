"""Definitions of several schemas under one roof: what is the same is there once, what differs stays apart (T5)."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from actum.schema.gathering import gathered
from actum.schema.json import JsonObject as Json
from actum.schema.json import encode
from actum.schema.walk import references

from ..effort import trials

NAMES = ["a", "b", "c", "d"]


def schema(refers: list[str], mark: bool) -> Json:
    return {"anyOf": [{"$ref": f"#/$defs/{name}"} for name in refers]} | ({"minLength": 1} if mark else {})


def part(schema: Json, defined: Json) -> Json:
    return {**schema, "$defs": defined}


SCHEMAS = st.builds(schema, st.lists(st.sampled_from(NAMES), max_size=2), st.booleans())
DEFINED = st.dictionaries(st.sampled_from(NAMES), SCHEMAS, min_size=len(NAMES))
PARTS: st.SearchStrategy[Json] = st.builds(part, SCHEMAS, DEFINED)


def used(part: Json) -> set[str]:
    """The names of the definitions that a part uses."""
    direct = {named.rpartition("/")[2] for named in references({**part, "$defs": {}})}
    return {each for name in direct for each in reached(part, name)}


def reached(part: Json, name: str) -> set[str]:
    names, waiting = {name}, [name]
    while waiting:
        beyond = {reference.rpartition("/")[2] for reference in references(part["$defs"][waiting.pop()])} - names
        names |= beyond
        waiting += beyond
    return names


def unfolded(schema: Json, definitions: Json, depth: int) -> Json:
    """A schema with what it refers to in its place."""
    if depth == 0:
        return {}
    inner = [definitions[each["$ref"].rpartition("/")[2]] for each in schema["anyOf"]]
    return {**schema, "anyOf": [unfolded(each, definitions, depth - 1) for each in inner]}


@pytest.mark.rule("T5")
@settings(max_examples=trials(2_000))
@given(st.lists(PARTS, min_size=1, max_size=3))
def test_two_definitions_become_one_if_they_and_all_that_they_refer_to_are_the_same(several: list[Json]) -> None:
    parts = {str(number): part for number, part in enumerate(several)}
    schemas, shared = gathered(parts)
    distinct = {
        encode([name, {each: part["$defs"][each] for each in reached(part, name)}], sort_keys=True)
        for part in several
        for name in used(part)
    }
    assert len(shared) == len(distinct)
    for number, part in parts.items():
        schema = {key: value for key, value in part.items() if key != "$defs"}
        assert unfolded(schemas[number], shared, 5) == unfolded(schema, part["$defs"], 5)
