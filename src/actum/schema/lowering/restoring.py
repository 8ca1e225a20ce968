"""Undoing on an answer what lowering did to its schema. Never raises: what it does not understand it leaves alone."""

from __future__ import annotations

import json
import re
from ast import literal_eval
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain, repeat
from math import inf
from typing import Any, Literal, TypeAlias

import jsonschema_rs

from ..json import MAX_DEPTH, JsonObject, is_list, is_object, without_keys

_LONGEST_CHAIN = 64
"""How many names and unions are followed to one schema: a cycle of names ends here."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Property:
    """One property. `dropped`: the value by which the wire says that an optional one is absent."""

    shape: Shape = None
    dropped: Literal["null", "empty"] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Members:
    """An object, by the properties that need restoring; `rest` is the shape of all others."""

    named: Mapping[str, Property] = field(default_factory=dict[str, Property])
    rest: Shape = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ListItems:
    """A list: its first items by position, then the rest."""

    first: tuple[Shape, ...] = ()
    rest: Shape = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Entries:
    """A map that travels as the list of its entries, objects of `key` and `value`."""

    key: str
    value: str
    shape: Shape = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Branch:
    """One option of a union: its JSON types (None: any), its schema on the wire, the shape of its values."""

    types: frozenset[str] | None
    wire: Any
    shape: Shape


@dataclass(frozen=True, slots=True, kw_only=True)
class AnyOf:
    """A union: the first branch that takes the value."""

    branches: tuple[Branch, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedShape:
    """A definition's shape, by its name."""

    name: str


WHOLE = "_call"
"""The member of an object around a call that holds it."""
ELSE = "_else"
"""What a call gives where it fails: any value (C14). Where values need a type, a text, in which null is written out."""
EACH = "_each"
"""The list for whose items a call is made: a reference, or written out, in a text where lists need not be taken."""
AROUND = (EACH, "_when", ELSE, "_outputPath")
"""The members of an object around a call that say how it is made, null where nothing is said."""
ALONE = ("_value", "_expect")
"""The members of an element that isn't a call, one of which it has."""

_ENDLESS = (inf, -inf)
_SPELT = re.compile(r"null|true|false|-?(?:0|[1-9]\d{0,15})(?:\.\d{1,15})?")

Shape: TypeAlias = "Members | ListItems | Entries | AnyOf | NamedShape | None"
"""How values of a schema are restored; None if the wire holds them as they are."""


@dataclass(frozen=True, kw_only=True)
class AnswerShapes:
    """The shapes of an answer's parts; `wires` are the wire's definitions, for the schemas of branches.

    `wrapped`: a call of which more is said travels as `_call` beside that. `spelled`: an `_else` travels as a text.
    """

    calls: Mapping[str, Shape] = field(default_factory=dict[str, Shape])
    output: Shape = None
    meta: Shape = None
    named: Mapping[str, Shape] = field(default_factory=dict[str, Shape])
    wires: JsonObject = field(default_factory=dict[str, Any])
    wrapped: bool = False
    spelled: bool = False

    @cached_property
    def moves_output(self) -> bool:
        """Whether there may be a map in the output that travels as a list."""
        waiting, met = [self.output], set[str]()
        while waiting:
            match waiting.pop():
                case Entries():
                    return True
                case Members(named=named, rest=rest):
                    waiting += [*(member.shape for member in named.values()), rest]
                case ListItems(first=first, rest=rest):
                    waiting += [*first, rest]
                case AnyOf(branches=branches):
                    waiting += [branch.shape for branch in branches]
                case NamedShape(name=name) if name not in met:
                    met.add(name)
                    waiting.append(self.named.get(name))
                case _:
                    pass
        return False

    def call(self, value: Any) -> Any:
        """Restore a call by the shape of the tool it names."""
        if not is_object(value):
            return value
        if self.wrapped and WHOLE in value:
            inner = self.call(value[WHOLE])
            absent = {key for key in AROUND if value.get(key) is None}
            members = without_keys(value, {WHOLE, *absent})
            if not self.spelled and ELSE in value:
                members[ELSE] = value[ELSE]  # null is a value of it
            return self._spelled({**inner, **members}) if is_object(inner) else inner
        name = value.get("_tool")
        if not isinstance(name, str):
            is_element = any(value.get(key) is not None for key in ALONE)
            return {key: member for key, member in value.items() if member is not None} if is_element else value
        shape = self.calls.get(name)
        restored = self.restore(value, shape) if shape is not None else value
        return self._spelled(restored) if {ELSE, EACH} & value.keys() else restored

    def _spelled(self, call: JsonObject) -> JsonObject:
        """A call with the value that its `_else` spells out, and the list that its `_each` does."""
        if not self.spelled:
            return call
        otherwise, items = call.get(ELSE), call.get(EACH)
        if isinstance(otherwise, str) and _SPELT.fullmatch(otherwise.strip()) is not None:
            call = {**call, ELSE: json.loads(otherwise)}
        return call if (listed := _listed(items)) is None else {**call, EACH: listed}

    def restore(self, value: Any, shape: Shape, depth: int = 0) -> Any:
        """Undo on a value what lowering did to its schema; the value itself is not changed."""
        match self._settled(value, shape):
            case Members() as members if is_object(value) and depth < MAX_DEPTH:
                return self._members(value, members, depth + 1)
            case ListItems() as items if is_list(value) and depth < MAX_DEPTH:
                return self._items(value, items, depth + 1)
            case Entries() as entries if is_list(value) and depth < MAX_DEPTH:
                return self._entries(value, entries, depth + 1)
            case _:
                return value

    def _settled(self, value: Any, shape: Shape) -> Shape:
        """A shape that is neither a name nor a choice; only lists and objects have anything to restore."""
        if not (is_object(value) or is_list(value)):
            return None
        for _ in range(_LONGEST_CHAIN):
            match shape:
                case NamedShape(name=name):
                    shape = self.named.get(name)
                case AnyOf(branches=branches):
                    shape = self._chosen(value, branches)
                case _:
                    return shape
        return None

    def _chosen(self, value: Any, branches: tuple[Branch, ...]) -> Shape:
        kinds = json_types(value)
        fitting = [branch for branch in branches if branch.types is None or branch.types & kinds]
        if len(fitting) < 2 or all(branch.shape == fitting[0].shape for branch in fitting):
            return fitting[0].shape if fitting else None
        return next((branch.shape for branch in fitting if self._takes(branch, value)), None)

    def _takes(self, branch: Branch, value: Any) -> bool:
        if not is_object(branch.wire):
            return branch.wire is not False
        schema = branch.wire | ({"$defs": self.wires} if self.wires else {})
        try:
            return jsonschema_rs.is_valid(schema, value, offline=True, pattern_options=jsonschema_rs.RegexOptions())
        except (ValueError, jsonschema_rs.ReferencingError):
            # A value with what JSON has no words for, or a pattern that the linear engine has none for.
            return False

    def _members(self, value: JsonObject, shape: Members, depth: int) -> JsonObject:
        result: JsonObject = {}
        for key, inner in value.items():
            member = shape.named.get(key)
            if member is None:
                result[key] = self.restore(inner, shape.rest, depth)
            elif not _is_dropped(inner, member):
                result[key] = self.restore(inner, member.shape, depth)
        return result

    def _items(self, value: list[Any], shape: ListItems, depth: int) -> list[Any]:
        shapes = chain(shape.first, repeat(shape.rest))
        return [self.restore(item, its, depth) for item, its in zip(value, shapes, strict=False)]

    def _entries(self, value: list[Any], shape: Entries, depth: int) -> Any:
        entries = [entry for entry in value if is_object(entry)]
        readable = len(entries) == len(value) and all(
            isinstance(entry.get(shape.key), str) and shape.value in entry for entry in entries
        )
        if not readable:
            return value
        return {entry[shape.key]: self.restore(entry[shape.value], shape.shape, depth) for entry in entries}


def _listed(text: Any) -> list[Any] | None:
    """The texts and numbers of a list that a text spells out, in JSON or as Python does; None for any other."""
    if not isinstance(text, str) or not text.lstrip().startswith("["):
        return None
    try:
        listed = literal_eval(text.strip())
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return None
    is_plain = is_list(listed) and all(isinstance(item, str | int | float) and item not in _ENDLESS for item in listed)
    return listed if is_plain else None


def json_types(value: Any) -> frozenset[str]:
    """The names that JSON Schema has for a value's type."""
    match value:
        case None:
            return frozenset({"null"})
        case bool():
            return frozenset({"boolean"})
        case int():
            return frozenset({"integer", "number"})
        case float():
            return frozenset({"number", "integer"} if value.is_integer() else {"number"})
        case str():
            return frozenset({"string"})
        case list():
            return frozenset({"array"})
        case _:
            return frozenset({"object"})


def _is_dropped(value: Any, member: Property) -> bool:
    match member.dropped:
        case "null":
            return value is None
        case "empty":
            return value is None or value == []
        case None:
            return False
