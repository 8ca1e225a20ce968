"""The one composed schema of a request: `{calls, output, meta}` (T5, T9, T10). Knows call schemas, not tools."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import count
from typing import Any, Literal, TypeAlias

from .gathering import Gathering, closed, or_reference, with_references
from .json import JsonObject, copy, encode, is_list, is_object
from .walk import properties_of, reference_to

References: TypeAlias = Literal["wide", "aside"]

META_SCHEMA: JsonObject = {
    "type": "object",
    "description": "The identity of this Idea, its version raised.",
    "properties": {"path": {"type": "string"}, "version": {"type": "string"}},
}


def compose(
    output: JsonObject,
    calls: Sequence[JsonObject],
    *,
    meta: bool = True,
    reference: JsonObject | None = None,
    is_referred: bool = True,
    elements: Sequence[JsonObject] = (),
    is_last: bool = False,
) -> JsonObject:
    """Compose an output schema and the schemas of the offered calls into the schema of an answer (T5).

    `reference` is what may stand at places of the output instead of values, None for nothing (T9), and instead of all
    of it where it `is_referred`; `elements` are what `calls` may hold besides calls (T16). Unless the request is the
    last one, the output may be null (L5). Definitions of all parts move to one `$defs`, under other names where two
    differ, and object schemas that occur in it more than once are stated once if that is shorter (T10).
    """
    shared = Gathering()
    items = [*(shared.adopt(call) for call in calls), *map(copy, elements)]
    answer = closed(output)
    answer = shared.adopt(answer if reference is None else with_references(answer, reference))
    if reference is not None and is_referred:
        answer = or_reference(answer, reference)
    properties: JsonObject = {"calls": _calls(items), "output": answer if is_last else nullable(answer)}
    if meta:
        properties["meta"] = copy(META_SCHEMA)
    composed: JsonObject = {"type": "object", "properties": properties, "required": list(properties)}
    definitions = shared.found
    _state_once(composed, definitions)
    if definitions:
        composed["$defs"] = definitions
    return composed


def _calls(items: list[JsonObject]) -> JsonObject:
    if not items:
        return {"type": "array", "maxItems": 0}
    return {"type": "array", "items": items[0] if len(items) == 1 else {"anyOf": items}}


def nullable(schema: JsonObject) -> JsonObject:
    """A schema that takes null as well."""
    kind = schema.get("type")
    if kind is None and not schema:
        return schema
    if schema.keys() == {"anyOf"}:
        return {"anyOf": [*schema["anyOf"], {"type": "null"}]}
    if kind is None or {"const", "anyOf", "oneOf", "allOf", "$ref", "not", "if"} & schema.keys():
        return {"anyOf": [schema, {"type": "null"}]}
    kinds: list[Any] = kind if is_list(kind) else [kind]
    changed = {**schema, "type": kinds if "null" in kinds else [*kinds, "null"]}
    values: Any = schema.get("enum")
    if is_list(values) and None not in values:  # of a schema that nobody has judged yet it may be anything
        changed["enum"] = [*values, None]
    return changed


_SMALLEST_SHARED = 80
"""Shorter schemas are easier to read where they are used than by a reference."""


def _state_once(composed: JsonObject, definitions: JsonObject) -> None:
    """Move parameters' schemas that occur more than once to `$defs` if that saves text (T10)."""
    names_by_text = {encode(definition): name for name, definition in definitions.items()}
    for holder, key in _sharable(composed):
        holder[key] = _by_name(holder[key], names_by_text)
        if "anyOf" in holder[key]:
            holder[key]["anyOf"] = [_by_name(option, names_by_text) for option in holder[key]["anyOf"]]
    holders = [(holder, key, encode(holder[key])) for holder, key in _sharable(composed)]
    counts = Counter(text for _, _, text in holders)
    names: dict[str, str] = {}
    for text, times in counts.items():
        name = next(name for name in (f"shared{number}" for number in count(len(names) + 1)) if name not in definitions)
        # The text saved, against a reference wherever it is used and the definition's name.
        if times > 1 and (times - 1) * len(text) > times * (len(name) + 19) + len(name) + 4:
            names[text] = name
    for holder, key, text in holders:
        if text in names:
            definitions.setdefault(names[text], holder[key])
            holder[key] = {"$ref": f"#/$defs/{names[text]}"}


def _by_name(schema: Any, names_by_text: Mapping[str, str]) -> Any:
    name = names_by_text.get(encode(schema))
    return schema if name is None else {"$ref": reference_to(name)}


_COMPOSITE = {"properties", "items", "enum", "anyOf"}


def _sharable(composed: JsonObject) -> Iterator[tuple[JsonObject, str]]:
    items: JsonObject = properties_of(composed)["calls"].get("items", {})
    for call in items.get("anyOf", [items]):
        properties = properties_of(call)
        for key, schema in properties.items():
            is_composite = is_object(schema) and not _COMPOSITE.isdisjoint(schema)
            if is_composite and len(encode(schema)) > _SMALLEST_SHARED:
                yield properties, key
