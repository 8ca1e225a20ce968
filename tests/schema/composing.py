"""The composer's part for tests of lowering: calls of tools, and what a model would write for a value."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import islice, product
from typing import Any, Literal

import jsonschema_rs

from .json_values import is_list, is_object

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
    rest = {
        key: value for key, value in schema.items() if key not in {"properties", "required", "$defs", "definitions"}
    }
    return {
        **rest,
        "type": "object",
        "properties": {"_tool": {"const": name}, **offered, **more},
        "required": ["_tool", *schema.get("required", [])],
    }


def _or_reference(schema: Json) -> Json:
    plain = is_object(schema) and schema.get("type") == "string"
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
    if is_list(value):
        return [moved(item, name) for item in value]
    if not is_object(value):
        return value
    return {
        key: f"#/$defs/{name}{inner[1:]}" if key == "$ref" and isinstance(inner, str) else moved(inner, name)
        for key, inner in value.items()
    }


def _refers(value: Json) -> bool:
    if is_object(value):
        return "$ref" in value or any(map(_refers, value.values()))
    return is_list(value) and any(map(_refers, value))


def accepts(schema: Json, value: Json, definitions: Json = None) -> bool:
    """Whether a value is valid."""
    whole = {**schema, "$defs": definitions} if definitions and is_object(schema) else schema
    return jsonschema_rs.is_valid(whole, value, offline=True, pattern_options=jsonschema_rs.RegexOptions())


def closed(schema: Json) -> Json:
    """The schema without room for properties that it does not list: those are not written by a strict decoder."""
    if is_list(schema):
        return [closed(inner) for inner in schema]
    if not is_object(schema):
        return schema
    result = {key: inner if key in {"enum", "const"} else closed(inner) for key, inner in schema.items()}
    if "allOf" in schema:
        parts = [
            {key: inner for key, inner in part.items() if key != "additionalProperties"} for part in result["allOf"]
        ]
        return {**result, "allOf": parts, "unevaluatedProperties": False}
    if is_object(schema.get("properties")) and "type" in schema:
        result.setdefault("additionalProperties", False)
    return result


def forms(value: Json, wire: Json, definitions: dict[str, Json]) -> Iterator[Json]:
    """What a model could write for a value under the wire's schema: the way back of restoring, read off the schema."""
    if not is_object(wire):
        yield value
    elif "$ref" in wire:
        yield from forms(value, definitions[wire["$ref"].removeprefix("#/$defs/")], definitions)
    elif "anyOf" in wire:
        for branch in wire["anyOf"]:
            yield from (form for form in forms(value, branch, definitions) if accepts(branch, form, definitions))
    elif is_object(value) and wire.get("type") == "array":
        yield from _entries(value, wire["items"].get("properties", {}), definitions)
    elif is_object(value):
        yield from _members(value, wire, definitions)
    elif is_list(value):
        yield from map(list, _product([forms(item, wire.get("items"), definitions) for item in value]))
    else:
        yield value


def _entries(value: dict[str, Json], properties: dict[str, Json], definitions: dict[str, Json]) -> Iterator[Json]:
    if set(properties) in ({"key", "value"}, {"parameter", "reference"}):
        key, inner = properties
        parts = _product([forms(member, properties[inner], definitions) for member in value.values()])
        yield from ([{key: name, inner: form} for name, form in zip(value, part, strict=True)] for part in parts)


def _members(value: dict[str, Json], wire: dict[str, Json], definitions: dict[str, Json]) -> Iterator[Json]:
    properties = wire.get("properties", {})
    absent: dict[str, Json] = {
        name: [] if name == "_with" else None for name in wire.get("required", []) if name not in value
    }
    schemas = {name: properties.get(name, wire.get("additionalProperties")) for name in value}
    names = [*(name for name in properties if name in value), *(name for name in value if name not in properties)]
    for part in _product([forms(value[name], schemas[name], definitions) for name in names]):
        yield dict(zip(names, part, strict=True)) | absent


def _product(parts: list[Iterator[Json]]) -> Iterator[tuple[Json, ...]]:
    # All combinations of all forms would be too many.
    distinct = [{repr(form): form for form in islice(part, 32)}.values() for part in parts]
    return islice(product(*(islice(forms, 4) for forms in distinct)), 256)
