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


def part(own: Json, defined: Json) -> Json:
    return {**own, "$defs": defined}


SCHEMAS = st.builds(schema, st.lists(st.sampled_from(NAMES), max_size=2), st.booleans())
DEFINED = st.dictionaries(st.sampled_from(NAMES), SCHEMAS, min_size=len(NAMES))
PARTS: st.SearchStrategy[Json] = st.builds(part, SCHEMAS, DEFINED)


def used(part: Json) -> set[str]:
    """The names of the definitions that a part uses."""
    direct = {named.rpartition("/")[2] for named in references({**part, "$defs": {}})}
    return {one for name in direct for one in reached(part, name)}


def reached(part: Json, name: str) -> set[str]:
    found, waiting = {name}, [name]
    while waiting:
        beyond = {one.rpartition("/")[2] for one in references(part["$defs"][waiting.pop()])} - found
        found |= beyond
        waiting += beyond
    return found


def unfolded(one: Json, definitions: Json, depth: int) -> Json:
    """A schema with what it refers to in its place."""
    if depth == 0:
        return {}
    inner = [definitions[each["$ref"].rpartition("/")[2]] for each in one["anyOf"]]
    return {**one, "anyOf": [unfolded(each, definitions, depth - 1) for each in inner]}


@pytest.mark.rule("T5")
@settings(max_examples=trials(2_000))
@given(st.lists(PARTS, min_size=1, max_size=3))
def test_two_definitions_become_one_if_they_and_all_that_they_refer_to_are_the_same(several: list[Json]) -> None:
    parts = {str(number): part for number, part in enumerate(several)}
    found, shared = gathered(parts)
    distinct = {
        encode([name, {one: part["$defs"][one] for one in reached(part, name)}], sort_keys=True)
        for part in several
        for name in used(part)
    }
    assert len(shared) == len(distinct)
    for number, part in parts.items():
        own = {key: value for key, value in part.items() if key != "$defs"}
        assert unfolded(found[number], shared, 5) == unfolded(own, part["$defs"], 5)
