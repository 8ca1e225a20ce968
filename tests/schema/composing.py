"""The composer's part for tests of lowering: calls of tools, and what a model would write for a value."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal

import jsonschema_rs

Json = Any
References = Literal["wide", "aside"]

REFERENCE = {"type": "string", "pattern": "^†"}
OUTPUT = {"anyOf": [{"type": "string"}, {"type": "null"}]}
META = {"type": "object", "properties": {"path": {"type": "string"}, "version": {"type": "string"}}}


def call(name: str, schema: dict[str, Json], references: References = "wide", **more: Json) -> dict[str, Json]:
    """The call schema of a tool, as T5, T8 and T9 have it; `more` are its meta-properties."""
    parameters = schema.get("properties", {})
    if references == "wide":
        offered = {key: _or_reference(inner) for key, inner in parameters.items()}
    else:
        aside = {"_with": {"type": "object", "additionalProperties": REFERENCE}} if parameters else {}
        offered = {**parameters, **aside}
    rest = {key: value for key, value in schema.items() if key not in {"properties", "required", "$defs", "definitions"}}
    return {
        **rest,
        "type": "object",
        "properties": {"_tool": {"const": name}, **offered, **more},
        "required": ["_tool", *schema.get("required", [])],
    }


def _or_reference(schema: Json) -> Json:
    plain = isinstance(schema, dict) and schema.get("type") == "string"
    return schema if plain else {"anyOf": [schema, REFERENCE]}


def compose(calls: Sequence[dict[str, Json]], output: Json = OUTPUT, definitions: Json = None) -> dict[str, Json]:
    """The composed schema of some calls."""
    items = {"anyOf": list(calls)} if len(calls) > 1 else calls[0] if calls else None
    answer = {"type": "array", "maxItems": 0} if items is None else {"type": "array", "items": items}
    composed = {
        "type": "object",
        "properties": {"calls": answer, "output": output, "meta": META},
        "required": ["calls", "output", "meta"],
    }
    return composed | ({"$defs": definitions} if definitions else {})


def composer(tools: Sequence[tuple[str, dict[str, Json]]]) -> Callable[[References], dict[str, Json]]:
    """Compose tools that may have definitions of their own: each is a document for its own references."""
    definitions = {name: schema for name, schema in tools if _refers(schema)}

    def composed(references: References) -> dict[str, Json]:
        calls = [call(name, moved(schema, name), references) for name, schema in tools]
        return compose(calls, definitions={name: moved(schema, name) for name, schema in definitions.items()})

    return composed


def moved(value: Json, name: str) -> Json:
    """A tool's schema with its references led to the place of its document."""
    if isinstance(value, list):
        return [moved(item, name) for item in value]
    if not isinstance(value, dict):
        return value
    return {
        key: f"#/$defs/{name}{inner[1:]}" if key == "$ref" and isinstance(inner, str) else moved(inner, name)
        for key, inner in value.items()
    }


def _refers(value: Json) -> bool:
    if isinstance(value, dict):
        return "$ref" in value or any(map(_refers, value.values()))
    return isinstance(value, list) and any(map(_refers, value))


def accepts(schema: Json, value: Json, definitions: Json = None) -> bool:
    """Whether a value is valid."""
    whole = {**schema, "$defs": definitions} if definitions and isinstance(schema, dict) else schema
    return jsonschema_rs.is_valid(whole, value, offline=True, pattern_options=jsonschema_rs.RegexOptions())


def to_wire(value: Json, wire: Json, definitions: dict[str, Json]) -> Json:
    """What a model would write for a value under the wire's schema: the way back of restoring, read off the schema."""
    if not isinstance(wire, dict):
        return value
    if "$ref" in wire:
        return to_wire(value, definitions[wire["$ref"].removeprefix("#/$defs/")], definitions)
    if "anyOf" in wire:
        forms = [(to_wire(value, branch, definitions), branch) for branch in wire["anyOf"]]
        return next((form for form, branch in forms if accepts(branch, form, definitions)), value)
    if isinstance(value, dict) and wire.get("type") == "array":
        key, inner = wire["items"]["properties"] if "properties" in wire["items"] else ("", "")
        schema = wire["items"].get("properties", {}).get(inner)
        return [{key: name, inner: to_wire(one, schema, definitions)} for name, one in value.items()]
    if isinstance(value, dict):
        return _object_to_wire(value, wire, definitions)
    if isinstance(value, list):
        return [to_wire(item, wire.get("items"), definitions) for item in value]
    return value


def _object_to_wire(value: dict[str, Json], wire: dict[str, Json], definitions: dict[str, Json]) -> Json:
    properties = wire.get("properties", {})
    result: dict[str, Json] = {}
    for name, schema in properties.items():
        if name in value:
            result[name] = to_wire(value[name], schema, definitions)
        elif name in wire.get("required", []):
            result[name] = [] if name == "_with" else None
    rest = wire.get("additionalProperties")
    others = {name: to_wire(inner, rest, definitions) for name, inner in value.items() if name not in properties}
    return result | others
