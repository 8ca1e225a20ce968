"""Objects that list their properties take no others, unless their schema says otherwise (T5)."""

from __future__ import annotations

from typing import Any

from .json import JsonObject, is_object
from .walk import DEFINITIONS, IN_PLACE, OPTIONS, REFERRING, Schema, held, pointer, rooted_in, target_of

_SAYS_OTHERWISE = {"additionalProperties", "unevaluatedProperties", "patternProperties", "propertyNames"}
_BY_BRANCH = IN_PLACE.union(REFERRING) - {"not"}
_NAMED = {"properties", *DEFINITIONS}
_ALONE = {"items", "additionalProperties", "prefixItems"}


def closed(schema: Schema) -> Schema:
    """A schema in which objects that list their properties and don't say otherwise take no others.

    An object that lists none is meant as a map, and one that several schemas judge together (`allOf`, `properties`
    beside `anyOf` or a `$ref`) can't be closed by any of them: both stay as they are.
    """
    together = _judged_together(schema)
    root: dict[str, Any] = {"": schema}
    # Beside each slot: whether nothing else judges the properties of the same object.
    waiting = [(slot, True) for slot in rooted_in(root)]
    while waiting:
        slot, alone = waiting.pop()
        one = slot.unshared()
        if alone and "properties" in one and not (_SAYS_OTHERWISE | _BY_BRANCH) & one.keys():
            one["additionalProperties"] = False
        for inner in held(one):
            if inner.keyword in _NAMED:
                waiting.append((inner, f"#{pointer(inner.steps)}" not in together))
            elif inner.keyword in OPTIONS:
                waiting.append((inner, alone and not _judges_properties(one)))
            elif inner.keyword in _ALONE:
                waiting.append((inner, True))
    return root[""]


def _judges_properties(schema: JsonObject) -> bool:
    """Whether a schema says of an object's properties more than its `anyOf` or its `oneOf` does."""
    own = _SAYS_OTHERWISE | _BY_BRANCH | {"properties", "required"}
    return not own.isdisjoint(schema.keys() - OPTIONS) or schema.keys() >= {*OPTIONS}


def _judged_together(root: object) -> set[str]:
    """The references to definitions that judge an object's properties together with other schemas."""
    if not is_object(root):
        return set()
    found: set[str] = set()
    waiting = [(root, False)]
    while waiting:
        schema, is_together = waiting.pop()
        shares = is_together or _judges_properties({key: one for key, one in schema.items() if key != "$ref"})
        reference = schema.get("$ref")
        if shares and isinstance(reference, str) and reference not in found:
            found.add(reference)
            target = target_of(reference, root)
            waiting.extend([(target, True)] if is_object(target) else [])
        waiting += [
            (slot.schema, slot.keyword in IN_PLACE and (shares or slot.keyword not in OPTIONS)) for slot in held(schema)
        ]
    return found
