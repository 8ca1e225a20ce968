"""What the input and results looked like in all examples: a plan is left where they look otherwise (R22)."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import Any

from ..protocol.call import EXPECT
from ..schema.json import Json, JsonObject, encode, is_list, is_object
from .author import Author, declared_at
from .shapes import SharedCall

_LONGEST = 1_000
"""How many characters the shape of a result has, about; of a longer one only the outermost keys are expected."""
_DEEPEST = 3


def guard_of_input(inputs: Sequence[JsonObject], author: Author) -> Iterator[JsonObject]:
    """What is expected of the input where its schema admits what no example had: keys, types or null."""
    declared = declared_at(author.given, ())
    own = seen(inputs, is_whole=True, declared=frozenset(declared.get("properties", {})))
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
    values: Sequence[Json], *, is_whole: bool = False, declared: Collection[str] = (), depth: int = _DEEPEST
) -> JsonObject:
    """The schema of what values have in common, without any of their contents: a key that not all have may be data.

    Args:
        values: what was seen.
        is_whole: whether other keys than these aren't expected, but for those `declared` that were seen.
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
        parts = {key: seen([one[key] for one in objects if key in one], depth=depth - 1) for key in names}
        own: JsonObject = {"type": "object", "properties": parts, "required": sorted(common)}
        return {**own, "additionalProperties": False} if is_whole else own
    if len(lists) == len(values):
        items = seen([item for one in lists for item in one], depth=depth - 1)
        return {"type": "array"} | ({"items": items} if items else {})
    kinds = sorted(set(map(_kind, values)))
    return {"type": kinds if len(kinds) > 1 else kinds[0]}


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
    more = set(declared.get("properties", {})) - set(own.get("properties", {}))
    optional = set(own.get("required", ())) - set(declared.get("required", ()))
    return own["type"] == "object" and bool(more | optional)


def _kind(value: Any) -> str:
    if value is None or isinstance(value, bool):
        return "null" if value is None else "boolean"
    if is_object(value) or is_list(value):
        return "object" if is_object(value) else "array"
    return "string" if isinstance(value, str) else "number"
