"""Where a reference may stand in place of a value, and how a schema says so in the *wide* form (T9)."""

from __future__ import annotations

from typing import Any

from .json import JsonObject, is_list, is_object
from .walk import DEFINITIONS, Schema, Slot, held, rooted_in

REFERENCE_SCHEMA: JsonObject = {"type": "string", "pattern": "^†"}
"""The schema of a reference, as the protocol writes it."""
TEMPLATE_SCHEMA: JsonObject = {"type": "string", "pattern": "^[†{]"}
"""The schema of a reference or a template (E1)."""

_SHORTEST_REFERENCE = 2
"""The † and a kind of one letter."""


def takes_references(schema: Any) -> bool:
    """Whether a reference is valid already: the schema takes strings and asks nothing more of them."""
    if not is_object(schema):
        return schema is True
    if {"const", "enum", "pattern", "format", "maxLength", "$ref", "allOf", "not", "if"} & schema.keys():
        return False
    if schema.get("minLength", 0) > _SHORTEST_REFERENCE:
        return False
    for keyword in ("anyOf", "oneOf"):
        if keyword in schema:
            return any(takes_references(option) for option in schema[keyword])
    kind = schema.get("type")
    return kind is None or kind == "string" or (is_list(kind) and "string" in kind)


def or_reference(schema: Any, reference: JsonObject = REFERENCE_SCHEMA) -> Any:
    """A schema that takes a reference in place of its value."""
    if takes_references(schema):
        return schema
    if is_object(schema) and schema.keys() == {"anyOf"}:
        return {"anyOf": [*schema["anyOf"], dict(reference)]}
    return {"anyOf": [schema, dict(reference)]}


_PLACES = frozenset({"properties", "items", "prefixItems", "additionalProperties"})
_AROUND = frozenset({"anyOf", "oneOf", *DEFINITIONS})


def with_references(schema: Schema, reference: JsonObject) -> Schema:
    """A schema in which every place inside a value takes a reference; the value as a whole does not yet.

    What an author has fixed (a `const`, null) needs none. What several schemas judge together (`allOf`, `if`) stays
    as it is inside.
    """
    root: dict[str, Any] = {"": schema}
    waiting = rooted_in(root)
    places: list[Slot] = []
    while waiting:
        inner = held(waiting.pop().unshared())
        places += [slot for slot in inner if slot.keyword in _PLACES]
        waiting += [slot for slot in inner if slot.keyword in _PLACES or slot.keyword in _AROUND]
    for place in reversed(places):
        if not _is_fixed(place.schema):
            place.put(or_reference(place.schema, reference))
    return root[""]


def _is_fixed(schema: JsonObject) -> bool:
    return "const" in schema or schema.get("type") == "null"
