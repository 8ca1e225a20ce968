"""What the input and results looked like in all examples: a plan is left where they look otherwise (R22)."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from typing import Any

from ..protocol.call import EXPECT
from ..schema.json import Json, JsonObject, encode, is_list, is_object
from .author import Author, declared_at
from .shapes import SharedCall

_LONGEST = 1_000
"""How many characters the shape of a result has, about; of a longer one only the outermost keys are expected."""
_DEEPEST = 3
_TIMES = 10
"""How much longer a text or a list of the input may be than any that was seen."""
_ANY = float("inf")
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
    own = seen(inputs, is_input=True, declared=frozenset(declared.get("properties", {})))
    if any(_is_narrower(one, declared_at(declared, path)) for path, one in _parts(own)):
        yield {EXPECT: {"of": "†input", "as": own}}


def guards_of_results(slots: Sequence[SharedCall], author: Author) -> Iterator[JsonObject]:
    """What is expected of results of which no schema says how they look."""
    for number, slot in enumerate(slots):
        tool = author.tools.get(slot.first.tool)
        if slot.how != "once" or tool is None or tool.result:
            continue
        values = [calls[0].value for calls in slot.calls]
        shape = seen(values)
        if len(encode(shape)) > _LONGEST:
            shape = seen(values, depth=1)
        if is_object(values[0]) or is_list(values[0]):
            yield {EXPECT: {"of": f"†calls.{number}", "as": shape}}


def seen(
    values: Sequence[Json], *, is_input: bool = False, declared: Collection[str] = (), depth: int = _DEEPEST
) -> JsonObject:
    """The schema of what values have in common, without any of their contents: a key that not all have may be data.

    Args:
        values: what was seen.
        is_input: whether other keys than these aren't expected, but for those `declared` that were seen, nor texts and
            lists that are much longer, nor texts in another format.
        declared: keys that a schema names.
        depth: how many levels are told.
    """
    objects = [one for one in values if is_object(one)]
    lists = [one for one in values if is_list(one)]
    if not values or not depth:
        return {}
    if len(objects) == len(values):
        common = set(objects[0]).intersection(*objects[1:])
        names = sorted(common | {key for one in objects for key in one if key in declared})
        held = {key: [one[key] for one in objects if key in one] for key in names}
        parts = {key: seen(found, is_input=is_input, depth=depth - 1) for key, found in held.items()}
        own: JsonObject = {"type": "object", "properties": parts, "required": sorted(common)}
        return {**own, "additionalProperties": False} if is_input and depth == _DEEPEST else own
    if len(lists) == len(values):
        items = seen([item for one in lists for item in one], is_input=is_input, depth=depth - 1)
        most: JsonObject = {"maxItems": _TIMES * max(map(len, lists))} if is_input else {}
        return {"type": "array"} | most | ({"items": items} if items else {})
    kinds = sorted(set(map(_kind, values)))
    texts = [one for one in values if isinstance(one, str)] if is_input else []
    return {"type": kinds if len(kinds) > 1 else kinds[0]} | (_of_texts(texts) if texts else {})


def _of_texts(texts: Sequence[str]) -> JsonObject:
    """How long texts may be, and the format that all have."""
    own: JsonObject = {"maxLength": _TIMES * max(map(len, texts))}
    found = next((one for one in _FORMATS if all(re.search(one, text) for text in texts)), None)
    return own if found is None else {**own, "pattern": found}


def _parts(schema: JsonObject, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], JsonObject]]:
    yield path, schema
    for key, one in schema.get("properties", {}).items():
        yield from _parts(one, (*path, key))


def _is_narrower(own: JsonObject, declared: JsonObject) -> bool:
    """Whether a schema admits something that no example had."""
    if not own:
        return False
    if {"const", "enum"} & declared.keys():
        return False
    said: Any = declared.get("type")
    if said != own["type"] and not (own["type"] == "number" and said == "integer"):
        return True
    if any(own.get(key, _ANY) < declared.get(key, _ANY) for key in ("maxLength", "maxItems")) or (
        "pattern" in own and not {"pattern", "format"} & declared.keys()
    ):
        return True
    more = set(declared.get("properties", {})) - set(own.get("properties", {}))
    optional = set(own.get("required", ())) - set(declared.get("required", ()))
    return own["type"] == "object" and bool(more | optional)


def _kind(value: Any) -> str:
    if value is None or isinstance(value, bool):
        return "null" if value is None else "boolean"
    if is_object(value) or is_list(value):
        return "object" if is_object(value) else "array"
    return "string" if isinstance(value, str) else "number"
