"""What a JSON Schema says of a value's type, read when it is asked for.

A type takes every value that its schema takes, and may take more: what several keywords say together is told only as
far as it is certain. So nothing that fails for the type could have worked.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import product, repeat
from types import MappingProxyType
from typing import Any

from .json import JsonObject, is_list, is_object
from .quoting import quoted
from .types import (
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
    in_words,
    lazy_union,
    values_text,
)
from .walk import OPTIONS, target_of

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
        return Object(MappingProxyType({key: DeclaredField(type_of_value(member)) for key, member in value.items()}))
    items = tuple(type_of_value(item) for item in value)
    return List(lazy_union(*items), items if len(items) <= _LONGEST_ROW else None)


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
            # The schema is kept beside its type, so that its id can't be reused.
            self._types[id(schema)] = schema, Type(lambda: self._alternatives(schema))
        return self._types[id(schema)][1]

    def _alternatives(self, schema: JsonObject) -> list[Declared] | None:
        """What the value may be; None if that isn't known. Schemas that lead in a circle say nothing."""
        alternatives: list[Declared] = []
        waiting: list[Any] = [schema]
        met: set[int] = set()
        while waiting:
            part = waiting.pop()
            if part is False or id(part) in met:
                continue
            met.add(id(part))
            if not is_object(part) or self._is_opaque(part):
                return None
            if (branches := self._followed(part)) is not None:
                waiting += reversed(branches)
            elif (declared := self._of_keywords(part)) is not None:
                alternatives += declared
            else:
                return None
        return alternatives or None

    def _is_opaque(self, schema: JsonObject) -> bool:
        """Whether it refers to something that this reader doesn't follow."""
        return not _ELSEWHERE.isdisjoint(schema) or ("$id" in schema and schema is not self._root)

    def _followed(self, schema: JsonObject) -> list[Any] | None:
        """The schemas to read instead of one that only combines them; None if it says something itself."""
        if "const" in schema or "enum" in schema or _is_scalar(schema) or not _SHAPING.isdisjoint(schema):
            return None
        judges = self._judges(schema)
        return judges[0] if len(judges) == 1 and judges[0] != [True] else None

    def _judges(self, schema: JsonObject) -> list[list[Any]]:
        """The alternatives of each keyword that refers to or combines schemas."""
        judges: list[list[Any]] = []
        if "$ref" in schema:
            target = target_of(schema["$ref"], self._root)
            judges.append([True if target is None else target])
        for keyword in (*OPTIONS, "allOf"):
            if is_list(branches := schema.get(keyword)) and branches:
                judges += [[branch] for branch in branches] if keyword == "allOf" else [branches]
        if "if" in schema and ("then" in schema or "else" in schema):
            judges.append([True])
        if "dependentSchemas" in schema or "dependencies" in schema:
            judges.append([True])
        return judges

    def _of_keywords(self, schema: JsonObject) -> list[Declared] | None:
        """What the schema's own keywords say."""
        if "const" in schema or "enum" in schema:
            values: Any = schema["enum"] if "enum" in schema else [schema["const"]]
            return [_of_value(value) for value in values] if is_list(values) else None
        kinds = schema.get("type")
        if kinds is None:
            return None if self._judges(schema) else self._of_no_kind(schema)
        alternatives: list[Declared] = []
        for kind in [kinds] if isinstance(kinds, str) else kinds:
            if (alternative := self._of_kind(kind, schema)) is None:
                return None
            alternatives.append(alternative)
        return alternatives

    def _of_no_kind(self, schema: JsonObject) -> list[Declared] | None:
        """Without a `type`: declared properties mean an object, but the schema takes a text, too."""
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
            return List(lazy_union(*types, self.type_of(rest)))
        is_row = schema.get("minItems") == len(types) <= _LONGEST_ROW
        return List(lazy_union(*types), types if is_row else None)

    def _object(self, schema: JsonObject) -> Object:
        properties: JsonObject = schema.get("properties", {})
        required = dict.fromkeys(schema.get("required", ()))
        rest = self._rest(schema)
        fields = {
            key: DeclaredField(self.type_of(inner), key in required, is_object(inner) and "default" in inner)
            for key, inner in properties.items()
        }
        # A required key is there, declared or not.
        fields |= {key: DeclaredField(rest or ANYTHING) for key in required if key not in fields}
        return Object(MappingProxyType(fields), rest, str(schema.get("title", "")), schema)

    def _rest(self, schema: JsonObject) -> Type | None:
        """What undeclared keys hold; None if there are none."""
        patterns = [self.type_of(pattern) for pattern in schema.get("patternProperties", {}).values()]
        is_judged = bool(self._judges(schema))
        if "additionalProperties" in schema or is_judged:
            extra = schema.get("additionalProperties")
        else:
            extra = schema.get("unevaluatedProperties")
        if extra is False:
            return lazy_union(*patterns) if patterns else None
        if extra is not None:
            return lazy_union(*patterns, self.type_of(extra))
        is_told = "properties" in schema and len(schema["properties"]) > 0
        return ANYTHING if patterns or is_judged or self._is_open or not is_told else None


def _is_scalar(schema: JsonObject) -> bool:
    """Whether its `type` alone says everything, since it names only scalars."""
    kinds: Any = schema.get("type")
    return kinds is not None and {"object", "array"}.isdisjoint([kinds] if isinstance(kinds, str) else kinds)


_DEEPEST = 16


def misfit_between(type: Type, wanted: Type) -> str | None:
    """None, or why no value of a type can be one of the wanted type; that a list may be empty doesn't count."""
    return _Fitting().misfit(type, wanted, 0)


class _Fitting:
    """One comparison; a pair that is being compared counts as fitting, so that types may hold themselves."""

    def __init__(self) -> None:
        self._met: dict[tuple[Type, Type], str | None] = {}

    def misfit(self, type: Type, wanted: Type, depth: int) -> str | None:
        if depth > _DEEPEST or type is wanted or type.alternatives is None or wanted.alternatives is None:
            return None
        pair = type, wanted
        if pair not in self._met:
            self._met[pair] = None
            self._met[pair] = self._of_all(type, wanted, depth)
        return self._met[pair]

    def _of_all(self, type: Type, wanted: Type, depth: int) -> str | None:
        """Why none of the alternatives fits, in terms of a pair of the same kind if there is one."""
        inner = ""
        for kind, wanted_kind in product(type.alternatives or (), wanted.alternatives or ()):
            if not _same_kind(kind, wanted_kind):
                continue
            if (why := self._inside(kind, wanted_kind, depth)) is None:
                return None
            inner = inner or why
        return inner or f"{in_words(type)} where {in_words(wanted)} is needed{'' if depth else _bridge(type, wanted)}"

    def _inside(self, kind: Alternative, wanted: Alternative, depth: int) -> str | None:
        """Why two alternatives of one kind have no value in common."""
        match kind, wanted:
            case Text(), Text() if kind.values is not None and wanted.values is not None:
                return f"one of {values_text(wanted)} is needed" if set(kind.values).isdisjoint(wanted.values) else None
            case List(), List():
                return self._of_lists(kind, wanted, depth)
            case Object(), Object():
                return self._of_objects(kind, wanted, depth)
            case _:
                return None

    def _of_lists(self, kind: List, wanted: List, depth: int) -> str | None:
        if kind.row is not None and wanted.row is not None and len(kind.row) != len(wanted.row):
            return f"{len(kind.row)} items where {len(wanted.row)} are needed"
        others = wanted.row or repeat(wanted.item)
        pairs = [(kind.item, wanted.item)] if kind.row is None else zip(kind.row, others, strict=False)
        whys = (self.misfit(*pair, depth + 1) for pair in pairs)
        return next((f"in a list: {why}" for why in whys if why), None)

    def _of_objects(self, kind: Object, wanted: Object, depth: int) -> str | None:
        for key in {**kind.fields, **wanted.fields}:
            field, wanted_field = kind.fields.get(key), wanted.fields.get(key)
            is_there = field is not None and field.is_required
            if not is_there and (wanted_field is None or not wanted_field.is_required):
                continue
            value, needed = field.type if field else kind.rest, wanted_field.type if wanted_field else wanted.rest
            if value is None:
                return f"the key {quoted(key, 60)} is missing"
            if needed is None:
                return f"the key {quoted(key, 60)} is not taken"
            if why := self.misfit(value, needed, depth + 1):
                return f"at {quoted(key, 60)}: {why}"
        if not kind.fields and not wanted.fields and kind.rest is not None and wanted.rest is not None:
            why = self.misfit(kind.rest, wanted.rest, depth + 1)
            return f"in a map: {why}" if why else None
        return None


def _bridge(type: Type, wanted: Type) -> str:
    """A hint at the expression that converts a value of one kind to another."""
    kinds = {kind.__class__ for kind in type.alternatives or ()} - {Null}
    needed = {kind.__class__ for kind in wanted.alternatives or ()} - {Null}
    if List in needed and kinds:
        return "; [x] makes one"
    if kinds == {List}:
        return "; one(x for x in … if …) picks one"
    if Text in needed and kinds <= {Number, Whole, Boolean}:
        return "; {str(x)} makes one" if kinds else "; {x or '…'} says what to write instead"
    if kinds == {Text} and needed & {Number, Whole}:
        return "; {float(x)} reads one" if Number in needed else "; {int(x)} reads one"
    return ""


def _same_kind(kind: Alternative, wanted: Alternative) -> bool:
    if isinstance(kind, Number | Whole):
        return isinstance(wanted, Number | Whole)
    return kind.__class__ is wanted.__class__
