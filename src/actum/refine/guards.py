"""The shapes of the input and of results in all examples: a plan is left where they differ (R22)."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import chain
from typing import Any

from ..protocol.call import EXPECT
from ..schema.json import Json, JsonObject, encode, is_list, is_object
from .author import Author, declared_at
from .shapes import SharedCall

_LONGEST = 1_000
"""About how many characters the shape of a result may have; a longer one is cut to its outermost keys."""
_DEEPEST = 3
_TIMES = 10
"""How many times longer a text or a list of the input may be than any that was seen."""
_ANY = float("inf")
_KINDS: Mapping[type, str] = {type(None): "null", bool: "boolean", str: "string", list: "array", dict: "object"}
_FORMATS = (
    r"^\d{4}-\d{2}-\d{2}$",  # a day
    r"^\d{4}-\d{2}-\d{2}[T ]\d{2}:\d{2}.*$",  # a time
    r"^[^@\s]+@[^@\s]+$",  # an address of mail
    r"^https?://\S+$",
    r"^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$",
)


def guard_of_input(inputs: Sequence[JsonObject], author: Author) -> Iterator[JsonObject]:
    """What is expected of the input where its schema admits what no example had: keys, types, lengths, formats."""
    declared = declared_at(author.given, ())
    shape = common_schema(inputs, is_input=True, declared=frozenset(declared.get("properties", {})))
    if any(_is_narrower(part, declared_at(declared, path)) for path, part in _parts(shape)):
        yield {EXPECT: {"of": "†input", "as": shape}}


def guards_of_results(slots: Sequence[SharedCall], author: Author) -> Iterator[JsonObject]:
    """What is expected of results that no schema describes."""
    for number, slot in enumerate(slots):
        tool = author.tools.get(slot.first.tool)
        if slot.how != "once" or tool is None or tool.result:
            continue
        values = [calls[0].value for calls in slot.calls]
        shape = common_schema(values)
        if len(encode(shape)) > _LONGEST:
            shape = common_schema(values, depth=1)
        if is_object(values[0]) or is_list(values[0]):
            yield {EXPECT: {"of": f"†calls.{number}", "as": shape}}


def common_schema(
    values: Sequence[Json], *, is_input: bool = False, declared: Collection[str] = (), depth: int = _DEEPEST
) -> JsonObject:
    """The schema of what values have in common, without their contents; a key that not all have may be data.

    Args:
        values: what was seen.
        is_input: whether to refuse keys that weren't seen, much longer texts and lists, and other formats.
        declared: keys that a schema names: they are taken even if not all values have them.
        depth: how many levels are described.
    """
    objects = [value for value in values if is_object(value)]
    lists = [value for value in values if is_list(value)]
    if not values or not depth:
        return {}
    if len(objects) == len(values):
        common = set(objects[0]).intersection(*objects[1:])
        names = sorted(common | {key for item in objects for key in item if key in declared})
        values_by_key = {key: [item[key] for item in objects if key in item] for key in names}
        parts = {key: common_schema(held, is_input=is_input, depth=depth - 1) for key, held in values_by_key.items()}
        schema: JsonObject = {"type": "object", "properties": parts, "required": sorted(common)}
        return {**schema, "additionalProperties": False} if is_input and depth == _DEEPEST else schema
    if len(lists) == len(values):
        items = common_schema([*chain(*lists)], is_input=is_input, depth=depth - 1)
        most: JsonObject = {"maxItems": _TIMES * max(map(len, lists))} if is_input else {}
        return {"type": "array"} | most | ({"items": items} if items else {})
    anything: Sequence[object] = values
    kinds = sorted({_KINDS.get(type(value), "number") for value in anything})
    texts = [value for value in values if isinstance(value, str)] if is_input else []
    return {"type": kinds if len(kinds) > 1 else kinds[0]} | (_of_texts(texts) if texts else {})


def _of_texts(texts: Sequence[str]) -> JsonObject:
    """The length that texts may have, and the format that all have."""
    schema: JsonObject = {"maxLength": _TIMES * max(map(len, texts))}
    pattern = next((form for form in _FORMATS if all(re.search(form, text) for text in texts)), None)
    return schema if pattern is None else {**schema, "pattern": pattern}


def _parts(schema: JsonObject, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], JsonObject]]:
    yield path, schema
    for key, part in schema.get("properties", {}).items():
        yield from _parts(part, (*path, key))


def _is_narrower(shape: JsonObject, declared: JsonObject) -> bool:
    """Whether a schema admits something that no example had."""
    if not shape or {"const", "enum"} & declared.keys():
        return False
    kind: Any = declared.get("type")
    if kind != shape["type"] and not (shape["type"] == "number" and kind == "integer"):
        return True
    if any(shape.get(key, _ANY) < declared.get(key, _ANY) for key in ("maxLength", "maxItems")) or (
        "pattern" in shape and not {"pattern", "format"} & declared.keys()
    ):
        return True
    unseen = set(declared.get("properties", {})) - set(shape.get("properties", {}))
    optional = set(shape.get("required", ())) - set(declared.get("required", ()))
    return shape["type"] == "object" and bool(unseen | optional)
