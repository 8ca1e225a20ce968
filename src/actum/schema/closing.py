"""Objects that list their properties take no others, unless their schema says otherwise (T5)."""

from __future__ import annotations

from typing import Any

from .json import JsonObject, is_object
from .walk import DEFINITIONS, IN_PLACE, Schema, Slot, held, named, pointer, rooted_in

_SAYS_OTHERWISE = {"additionalProperties", "unevaluatedProperties", "patternProperties", "propertyNames"}
_BY_BRANCH = {"allOf", "anyOf", "oneOf", "if", "$ref", "$dynamicRef", "dependentSchemas"}
_OPTIONS = {"anyOf", "oneOf"}
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
                waiting.append((inner, _reference_to(inner) not in together))
            elif inner.keyword in _OPTIONS:
                waiting.append((inner, alone and not _judges_properties(one)))
            elif inner.keyword in _ALONE:
                waiting.append((inner, True))
    return root[""]


def _reference_to(definition: Slot) -> str:
    keyword, name = definition.steps
    return f"#/{keyword}/{pointer(str(name))}"


def _judges_properties(schema: JsonObject) -> bool:
    """Whether a schema says of an object's properties more than its `anyOf` or its `oneOf` does."""
    own = _SAYS_OTHERWISE | _BY_BRANCH | {"properties", "required"}
    return len(own & schema.keys() - _OPTIONS) > 0 or schema.keys() >= _OPTIONS


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
            target = _at(root, reference)
            waiting.extend([(target, True)] if is_object(target) else [])
        waiting += [
            (slot.schema, slot.keyword in IN_PLACE and (shares or slot.keyword not in _OPTIONS))
            for slot in held(schema)
        ]
    return found


def _at(root: JsonObject, reference: str) -> Any:
    """What a reference to a definition at the root leads to."""
    keyword, _, name = reference.removeprefix("#/").partition("/")
    definitions = root.get(keyword)
    return definitions.get(named(name)) if is_object(definitions) and "/" not in name else None
