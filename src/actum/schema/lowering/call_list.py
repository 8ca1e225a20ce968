"""The list of calls in a composed schema, lowered: calls by rules of their own (C4), and what is said of them (T8)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ..json import JsonObject, encode, is_object, without_keys
from ..walk import properties_of, required_of, unused
from .definitions import null, or_null
from .dialects import Dialect
from .restoring import AROUND, EACH, ELSE, WHOLE, Shape
from .strict import Strict
from .verbatim import Verbatim

_FEW = 3
"""Up to so many calls, what may be said of one costs less in each of them than in an object around any of them.

Not where all of it must be written, nor where optional properties and unions are counted.
"""


@dataclass(slots=True)
class _Group:
    """The calls of which the same may be said: their indices, and the schemas of what may be said."""

    members: JsonObject
    calls: list[int] = field(default_factory=list[int])


class Wrapped:
    """What may be said of a call besides its parameters, where that is shorter around the call than in each (T8, T16).

    A call that is made under a condition, for every item of a list or at a path travels inside another object, so that
    one of which nothing is said costs nothing, also where whatever may be written must be (T10).
    """

    def __init__(self, calls: list[JsonObject], walk: Strict | Verbatim, dialect: Dialect) -> None:
        is_strict = isinstance(walk, Strict)
        self._all_required = is_strict and dialect.all_required
        self._texts = {ELSE, EACH} if is_strict and dialect.shows_schema else {ELSE} if is_strict else set[str]()
        groups: dict[str, _Group] = {}
        for index, call in enumerate(calls):
            if members := _wrappable(call, walk):
                groups.setdefault(encode(members), _Group(members)).calls.append(index)
        is_counted = is_strict and dialect.limits.optional is not None
        few = 0 if self._all_required or is_counted else _FEW
        self._groups = [group for group in groups.values() if len(group.calls) > few]
        self._wrapped: dict[int, _Group] = {index: group for group in self._groups for index in group.calls}
        self._members = [self._lowered(group, walk) for group in self._groups]

    def __bool__(self) -> bool:
        return bool(self._groups)

    def without(self, call: JsonObject, index: int) -> JsonObject:
        """A call without what is said of it by the object around it."""
        group = self._wrapped.get(index)
        if group is None:
            return call
        return {**call, "properties": without_keys(properties_of(call), {*group.members})}

    def offer(self, wires: list[Any], definitions: JsonObject) -> list[Any]:
        """The calls, each group under a name of its own, beside an object that holds one of the group."""
        offered: list[Any] = []
        for group, members in zip(self._groups, self._members, strict=True):
            inner = [wires[index] for index in group.calls]
            name = unused("call", definitions, "")
            definitions[name] = inner[0] if len(inner) == 1 else {"anyOf": inner}
            offered += [{"$ref": f"#/$defs/{name}"}, self._around(members, name)]
        return [*offered, *(wire for index, wire in enumerate(wires) if index not in self._wrapped)]

    def _lowered(self, group: _Group, walk: Strict | Verbatim) -> JsonObject:
        path = "#/properties/calls/items/properties"
        nodes = {key: walk.node(self._typed(key, schema), f"{path}/{key}") for key, schema in group.members.items()}
        if self._all_required and len(nodes) > 1:
            nodes = {key: or_null(node) for key, node in nodes.items()}
        return {key: wire for key, (wire, _) in nodes.items()}

    def _typed(self, key: str, schema: Any) -> Any:
        """What may be said under a key: a text where values need a type, and a list written out where it is shown."""
        return {"type": "string"} if key in self._texts else schema

    def _around(self, members: JsonObject, name: str) -> JsonObject:
        properties = members | {WHOLE: {"$ref": f"#/$defs/{name}"}}
        required = [*properties] if self._all_required or len(members) == 1 else [WHOLE]
        return {"type": "object", "properties": properties, "required": required, "additionalProperties": False}


def _wrappable(call: JsonObject, walk: Strict | Verbatim) -> JsonObject:
    """The optional members of a call that may stand around it."""
    needed = set(required_of(call))
    members = {key: schema for key, schema in properties_of(call).items() if key in AROUND and key not in needed}
    # Stated once for all calls, it is stated once around them without a definition.
    for key, schema in members.items():
        if is_object(schema) and "$ref" in schema:
            members[key] = walk.definitions.at(schema["$ref"])
    return {key: schema for key, schema in members.items() if is_object(schema) and "const" not in schema}


@dataclass(frozen=True, slots=True)
class CallList:
    """The list of calls on the wire but for its items, these one by one, and the shapes of calls by tool."""

    head: JsonObject
    items: list[Any]
    shapes: Mapping[str, Shape]
    is_union: bool = True

    def wire(self, items: list[Any]) -> JsonObject:
        """The list with these items."""
        if not items:
            return self.head
        return self.head | {"items": {"anyOf": items} if self.is_union or len(items) > 1 else items[0]}


def offered_calls(schema: Any) -> list[JsonObject]:
    """The schemas of what a list of calls may hold."""
    node: JsonObject = schema or {}
    items: JsonObject = node.get("items") or {}
    if not items:
        return []
    return items["anyOf"] if _is_union(items) else [items]


def lowered_calls(schema: Any, walk: Strict | Verbatim, wrapped: Wrapped) -> CallList:
    """The list of calls, each by the rules of calls."""
    node: JsonObject = schema or {}
    head = {key: value for key, value in node.items() if key in {"type", "description"}}
    options = offered_calls(schema)
    if not options:
        # Every provider wants the type of items, also of none at all, and not all take a `maxItems`.
        return CallList(walk.node({**head, "items": null()[0], "maxItems": 0}, "#/properties/calls")[0], [], {})
    is_union = _is_union(node["items"])
    path = "#/properties/calls/items"
    wires: list[Any] = []
    shapes: dict[str, Shape] = {}
    for at, option in enumerate(options):
        item_path = f"{path}/anyOf/{at}" if is_union else path
        name = _tool(option)
        bare = wrapped.without(option, at)
        wire, shape = walk.node(bare, item_path) if name is None else walk.call(bare, item_path)
        wires.append(wire)
        if name is not None:
            shapes[name] = shape
    return CallList(head, wires, shapes, is_union)


def _is_union(items: JsonObject) -> bool:
    # A single tool may have an `anyOf` of its own, beside its properties.
    return "anyOf" in items and "properties" not in items


def _tool(call: JsonObject) -> str | None:
    """The tool that a call names; None for an element that isn't a call."""
    tool = properties_of(call).get("_tool")
    if not is_object(tool):
        return None
    return str(tool["const"] if "const" in tool else tool.get("enum", [""])[0])
