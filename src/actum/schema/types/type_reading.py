"""What a JSON Schema says of a value's type, read when it is asked for.

A type takes every value that its schema takes, and may take more: what several keywords say together is told only as
far as it is certain. So nothing that fails for the type could have worked.
"""

from __future__ import annotations

from dataclasses import replace
from types import MappingProxyType
from typing import Any

from ..json import JsonObject, is_list, is_object
from ..walk import OPTIONS, target_of
from .kinds import (
    ANYTHING,
    Alternative,
    Boolean,
    Declared,
    DeclaredField,
    List,
    Null,
    Number,
    Object,
    Text,
    Type,
    Undeclared,
    Whole,
    later,
)

_LONGEST_ROW = 32
"""A list with more items than this is told by the type of all its items."""

_SHAPING = {
    *("properties", "patternProperties", "additionalProperties", "unevaluatedProperties"),
    *("prefixItems", "items", "additionalItems", "unevaluatedItems"),
}
_ELSEWHERE = {"$dynamicRef", "$recursiveRef"}


def type_of(schema: Any, *, root: JsonObject | None = None, is_open: bool = False) -> Type:
    """The type of the values that a schema takes.

    `root` is the document that its `$ref`s lead into, the schema itself unless it is given. The declared properties of
    an object are all that there are, unless the schema says otherwise, as of results (O11); in an open type only
    `additionalProperties: false` says so, as of data kinds and parameters.
    """
    document = root if root is not None else schema
    return _Reader(document if is_object(document) else {}, is_open).type_of(schema)


def type_of_value(value: Any) -> Type:
    """The type of a literal that its author wrote: its texts and keys are told in messages (E6)."""
    return Type(lambda: (_of_value(value),))


def _of_value(value: Any) -> Alternative:
    if value is None:
        return Null()
    if isinstance(value, bool):
        return Boolean()
    if isinstance(value, int | float):
        return Whole() if isinstance(value, int) else Number()
    if isinstance(value, str):
        return Text((value,))
    if is_object(value):
        return Object(MappingProxyType({key: DeclaredField(type_of_value(one)) for key, one in value.items()}))
    items = tuple(type_of_value(one) for one in value)
    return List(later(*items), items if len(items) <= _LONGEST_ROW else None)


class _Reader:
    """One document; each of its schemas has one type, so that a type that holds itself is finite."""

    def __init__(self, root: JsonObject, is_open: bool) -> None:
        self._root = root
        self._is_open = is_open
        self._types: dict[int, tuple[JsonObject, Type]] = {}

    def type_of(self, schema: Any) -> Type:
        if not is_object(schema) or not schema:
            return ANYTHING
        if id(schema) not in self._types:
            # The schema is kept beside its type: as long as it is there, nothing else can have its id.
            self._types[id(schema)] = schema, Type(lambda: self._alternatives(schema))
        return self._types[id(schema)][1]

    def _alternatives(self, schema: JsonObject) -> list[Declared] | None:
        """What the value may be; None if that isn't known. Schemas that lead in a circle say nothing."""
        found: list[Declared] = []
        waiting: list[Any] = [schema]
        seen: set[int] = set()
        while waiting:
            one = waiting.pop()
            if one is False or id(one) in seen:
                continue
            seen.add(id(one))
            if not is_object(one) or self._is_opaque(one):
                return None
            if (branches := self._followed(one)) is not None:
                waiting += reversed(branches)
            elif (own := self._own(one)) is not None:
                found += own
            else:
                return None
        return found or None

    def _is_opaque(self, schema: JsonObject) -> bool:
        """Whether it leads to where this reader doesn't follow."""
        return not _ELSEWHERE.isdisjoint(schema) or ("$id" in schema and schema is not self._root)

    def _followed(self, schema: JsonObject) -> list[Any] | None:
        """The schemas one of which says all that this one says of the kinds of a value; None if it says them itself."""
        if "const" in schema or "enum" in schema or _is_scalar(schema) or not _SHAPING.isdisjoint(schema):
            return None
        judges = self._judges(schema)
        return judges[0] if len(judges) == 1 and judges[0] != [True] else None

    def _judges(self, schema: JsonObject) -> list[list[Any]]:
        """The alternatives that each keyword beside the schema's own offers."""
        judges: list[list[Any]] = []
        if "$ref" in schema:
            found = target_of(schema["$ref"], self._root)
            judges.append([True if found is None else found])
        for keyword in (*OPTIONS, "allOf"):
            if is_list(branches := schema.get(keyword)) and branches:
                judges += [[one] for one in branches] if keyword == "allOf" else [branches]
        if "if" in schema and ("then" in schema or "else" in schema):
            judges.append([True])
        if "dependentSchemas" in schema or "dependencies" in schema:
            judges.append([True])
        return judges

    def _own(self, schema: JsonObject) -> list[Declared] | None:
        """What the schema's own keywords say."""
        if "const" in schema or "enum" in schema:
            values: Any = schema["enum"] if "enum" in schema else [schema["const"]]
            return [_of_value(one) for one in values] if is_list(values) else None
        kinds = schema.get("type")
        if kinds is None:
            return None if self._judges(schema) else self._of_no_kind(schema)
        found: list[Declared] = []
        for kind in [kinds] if isinstance(kinds, str) else kinds:
            if (one := self._of_kind(kind, schema)) is None:
                return None
            found.append(one)
        return found

    def _of_no_kind(self, schema: JsonObject) -> list[Declared] | None:
        """Whoever declares properties means an object; but the schema takes a text, too."""
        object_, list_ = self._object(schema), self._list(schema)
        if object_.is_any and list_.is_any:
            return None
        return [replace(object_, is_implied=object_.is_any), replace(list_, is_implied=list_.is_any), Undeclared()]

    def _of_kind(self, kind: Any, schema: JsonObject) -> Alternative | None:
        match kind:
            case "string":
                return Text(format=str(schema.get("format", "")))
            case "number":
                return Number()
            case "integer":
                return Whole()
            case "boolean":
                return Boolean()
            case "null":
                return Null()
            case "array":
                return self._list(schema)
            case "object":
                return self._object(schema)
            case _:
                return None

    def _list(self, schema: JsonObject) -> List:
        first: Any = schema.get("prefixItems", schema.get("items"))
        if not is_list(first):
            return List(self.type_of(schema.get("items")))
        types = tuple(map(self.type_of, first))
        rest = schema.get("items" if "prefixItems" in schema else "additionalItems")
        if rest is not False and schema.get("maxItems") != len(types):
            return List(later(*types, self.type_of(rest)))
        is_row = schema.get("minItems") == len(types) <= _LONGEST_ROW
        return List(later(*types), types if is_row else None)

    def _object(self, schema: JsonObject) -> Object:
        properties: JsonObject = schema.get("properties", {})
        required = dict.fromkeys(schema.get("required", ()))
        rest = self._rest(schema)
        fields = {
            key: DeclaredField(self.type_of(one), key in required, is_object(one) and "default" in one)
            for key, one in properties.items()
        }
        # A key that has to be there is there, declared or not.
        fields |= {key: DeclaredField(rest or ANYTHING) for key in required if key not in fields}
        return Object(MappingProxyType(fields), rest, str(schema.get("title", "")), schema)

    def _rest(self, schema: JsonObject) -> Type | None:
        """What undeclared keys hold; None if there are none."""
        patterns = [self.type_of(one) for one in schema.get("patternProperties", {}).values()]
        is_judged = bool(self._judges(schema))
        if "additionalProperties" in schema or is_judged:
            others = schema.get("additionalProperties")
        else:
            others = schema.get("unevaluatedProperties")
        if others is False:
            return later(*patterns) if patterns else None
        if others is not None:
            return later(*patterns, self.type_of(others))
        is_told = "properties" in schema and len(schema["properties"]) > 0
        return ANYTHING if patterns or is_judged or self._is_open or not is_told else None


def _is_scalar(schema: JsonObject) -> bool:
    """Whether its own `type` says all that a type tells."""
    kinds: Any = schema.get("type")
    return kinds is not None and {"object", "array"}.isdisjoint([kinds] if isinstance(kinds, str) else kinds)
