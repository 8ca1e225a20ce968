"""Schemas put together and taken apart: `allOf` into one, a list of types into a union, the types a schema takes."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, TypeAlias

from ..json import JsonObject, is_list, is_object
from ..walk import IN_PLACE, properties_of, required_of
from .restoring import json_types

TYPES = ("object", "array", "string", "number", "integer", "boolean", "null")

ASSERTIONS: dict[str, frozenset[str]] = {
    "object": frozenset(
        {"properties", "required", "additionalProperties", "patternProperties", "propertyNames", "minProperties"}
        | {"maxProperties", "dependentRequired", "dependentSchemas", "dependencies", "unevaluatedProperties"}
    ),
    "array": frozenset(
        {"items", "prefixItems", "additionalItems", "minItems", "maxItems", "uniqueItems", "contains", "minContains"}
        | {"maxContains", "unevaluatedItems"}
    ),
    "string": frozenset({"minLength", "maxLength", "pattern", "format"}),
    "number": frozenset({"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"}),
}
"""The keywords that judge values of one type only; integers are judged as numbers."""

_JUDGING = (
    IN_PLACE
    | {"type", "enum", "const", "$ref", "$dynamicRef", "$recursiveRef"}
    | frozenset(word for group in ASSERTIONS.values() for word in group)
)

_LONGEST_CHAIN = 8

Target: TypeAlias = Callable[[Any], Any]
"""What a `$ref` points at; None if nothing."""


def judges(keyword: str) -> bool:
    """Whether a keyword makes values invalid; all others only say something about them."""
    return keyword in _JUDGING


def kinds(schema: JsonObject) -> tuple[str, ...]:
    """The types that a schema names, or that its keywords leave no doubt of; none where the type is open."""
    named = schema.get("type")
    if isinstance(named, str):
        return (named,)
    if is_list(named):
        return tuple(dict.fromkeys(kind for kind in named if kind in TYPES))
    implied = [kind for kind, words in ASSERTIONS.items() if not words.isdisjoint(schema)]
    return tuple(implied) if len(implied) == 1 else ()


def of_kind(schema: JsonObject, kind: str) -> JsonObject:
    """The part of a schema that judges values of one of its types."""
    others = {name: words for name, words in ASSERTIONS.items() if name != ("number" if kind == "integer" else kind)}
    left_out = frozenset(word for words in others.values() for word in words) | {"description", "default", "title"}
    part: JsonObject = {"type": kind} | {
        key: value for key, value in schema.items() if key not in left_out and key != "type"
    }
    if "enum" in part:
        part["enum"] = [value for value in part["enum"] if fits(value, kind)]
    return part


def fits(value: Any, kind: str) -> bool:
    """Whether a literal is of a type."""
    return kind in json_types(value)


def takes_null(schema: Any, target: Target, depth: int = 0) -> bool:
    """Whether null is valid; if that is hard to say, it is assumed to be."""
    if not is_object(schema) or depth > _LONGEST_CHAIN:
        return schema is not False
    named = schema.get("type")
    if isinstance(named, str | list) and "null" not in ([named] if isinstance(named, str) else named):
        return False
    if ("enum" in schema and None not in schema["enum"]) or ("const" in schema and schema["const"] is not None):
        return False
    if "$ref" in schema and not takes_null(target(schema["$ref"]), target, depth + 1):
        return False
    for keyword, some in (("anyOf", any), ("oneOf", _one), ("allOf", all)):
        options = schema.get(keyword)
        if is_list(options) and not some(takes_null(inner, target, depth) for inner in options):
            return False
    return True


def _one(answers: Iterable[bool]) -> bool:
    return sum(answers) == 1


def parts_in(schema: Any) -> int:
    """How many values a schema is made of."""
    if is_object(schema):
        return 1 + sum(parts_in(inner) for inner in schema.values())
    if is_list(schema):
        return 1 + sum(parts_in(inner) for inner in schema)
    return 1


def merged(left: JsonObject, right: JsonObject) -> JsonObject | None:
    """The schema of what both take; None if one schema can't say it simply."""
    result = dict(left)
    for key, value in right.items():
        if key not in result:
            result[key] = value
        elif result[key] != value and judges(key):
            one = _both(key, result[key], value)
            if one is None:
                return None
            result[key] = one
    return None if _closes_what_the_other_opens(left, right) else result


def _both(key: str, left: Any, right: Any) -> Any:
    match key:
        case "required":
            return list(dict.fromkeys([*left, *right]))
        case "properties":
            return _both_properties(left, right)
        case "enum":
            return [value for value in left if value in right] or None
        case "minimum" | "exclusiveMinimum" | "minLength" | "minItems" | "minProperties":
            return max(left, right)
        case "maximum" | "exclusiveMaximum" | "maxLength" | "maxItems" | "maxProperties":
            return min(left, right)
        case "type":
            return _both_types(left, right)
        case _:
            return None


def _both_properties(left: JsonObject, right: JsonObject) -> JsonObject | None:
    result = dict(left)
    for name, schema in right.items():
        mine = result.get(name, schema)
        if mine != schema:
            mine = merged(mine, schema) if is_object(mine) and is_object(schema) else None
        if mine is None:
            return None
        result[name] = mine
    return result


def _both_types(left: Any, right: Any) -> Any:
    mine = [left] if isinstance(left, str) else left
    theirs = [right] if isinstance(right, str) else right
    both = [kind for kind in mine if kind in theirs]
    return both[0] if len(both) == 1 else both or None


def _closes_what_the_other_opens(left: JsonObject, right: JsonObject) -> bool:
    """`additionalProperties: false` on one side judges the other side's properties too."""
    return any(
        one.get("additionalProperties", True) is not True
        and not properties_of(other).keys() <= properties_of(one).keys()
        for one, other in ((left, right), (right, left))
    )


def fits_beside(base: JsonObject, options: list[Any]) -> bool:
    """Whether options only narrow what the keywords beside them say, so that these say enough alone."""
    if kinds(base) and "properties" not in base:
        scalar = {"string", "number", "integer", "boolean", "null"}
        return set(kinds(base)) <= scalar and not any(_is_structural(option, {}) for option in options)
    listed = properties_of(base)
    return "properties" in base and not any(_is_structural(option, listed) for option in options)


_STRUCTURAL = {"$ref", "anyOf", "oneOf", "allOf", "enum", "const", "items", "prefixItems", "patternProperties"}


def _is_structural(option: Any, listed: JsonObject) -> bool:
    """Whether an option says more than the properties that are listed anyway."""
    if not is_object(option):
        return option is not True
    named = {*properties_of(option), *required_of(option)}
    return not _STRUCTURAL.isdisjoint(option) or not named <= listed.keys()
