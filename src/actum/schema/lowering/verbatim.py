"""A schema for a model that is only asked to follow it (`loose`, `prompted`): as it was written, but for its frame.

References lead into one flat `$defs`, draft-07's spellings are today's, and what names a dialect of JSON Schema is
left out. The shapes undo the one thing that models do unasked: null for an optional property that takes none.
"""

from __future__ import annotations

from typing import Any

from ..json import JsonObject, is_list, is_object
from ..walk import HOLDS, OF_DOCUMENT, OPTIONS, properties_of, required_in_order, required_of
from .definitions import Definitions, Node, kinds, null, takes_null
from .remarks import Remarks
from .restoring import AnyOf, Branch, ListItems, Members, NamedShape, Property, Shape
from .scalars import REFERENCES

_LEFT_OUT = {"additionalItems", *OF_DOCUMENT}


class Verbatim:
    """The translation of one composed schema, keyword by keyword."""

    def __init__(self, document: JsonObject) -> None:
        self.remarks = Remarks()
        self.definitions = Definitions(document)

    def defined(self) -> dict[str, Node]:
        """All definitions that were referred to, and those they refer to."""
        result: dict[str, Node] = {}
        while (following := self.definitions.next()) is not None:
            name, schema = following
            result[name] = self.node(schema, f"#/$defs/{name}")
        return result

    def node(self, schema: Any, path: str) -> Node:
        """One schema."""
        if not is_object(schema):
            return schema, None
        node = _current(schema)
        wire: JsonObject = {}
        shapes: dict[str, Any] = {}
        for key, value in node.items():
            wire[key], shapes[key] = self._keyword(key, value, f"{path}/{key}")
        if wire.get("$ref", "") is None:
            self.remarks.note(path, f"`$ref` to {node['$ref']!r} left out, which does not exist")
            del wire["$ref"]
        if node.get("type") == "array" and "items" not in node and "prefixItems" not in node:
            # OpenAI refuses a list without `items` even where it enforces nothing.
            wire["items"] = {}
        return wire, self._shape(node, wire, shapes)

    def call(self, schema: JsonObject, path: str) -> Node:
        """The schema of a call: `_output` may be owed, and is then null (C4)."""
        wire, shape = self.node(schema, path)
        output = properties_of(schema).get("_output")
        if isinstance(shape, Members) and "_output" in shape.named:
            named = {**shape.named, "_output": Property(shape=shape.named["_output"].shape)}
            shape = Members(named=named, rest=shape.rest)
        if output is not None and not takes_null(output, self.definitions.at):
            wire["properties"]["_output"] = {"anyOf": [wire["properties"]["_output"], null()[0]]}
        return wire, shape

    def _keyword(self, key: str, value: Any, path: str) -> tuple[Any, Any]:
        holding = HOLDS.get(key)
        if holding == "map" and is_object(value):
            nodes = {name: self.node(inner, f"{path}/{name}") for name, inner in value.items()}
            return {name: node[0] for name, node in nodes.items()}, {name: node[1] for name, node in nodes.items()}
        if holding == "list" and is_list(value):
            listed = [self.node(inner, f"{path}/{index}") for index, inner in enumerate(value)]
            return [node[0] for node in listed], [node[1] for node in listed]
        if holding == "schema":
            return self.node(value, path)
        if key == "$ref":
            name = self.definitions.name(value)
            if name is None:
                return None, None
            self.definitions.refer("", name, firm=True)
            return f"#/$defs/{name}", NamedShape(name=name)
        return (REFERENCES.get(value, value) if key == "pattern" else value), None

    def _shape(self, node: JsonObject, wire: JsonObject, shapes: dict[str, Any]) -> Shape:
        if "properties" in node:
            return self._members(node, shapes)
        for keyword in OPTIONS:
            if any(shape is not None for shape in shapes.get(keyword) or ()):
                pairs = zip(wire[keyword], shapes[keyword], strict=True)
                return AnyOf(branches=tuple(_branch(inner, shape) for inner, shape in pairs))
        first: tuple[Shape, ...] = tuple(shapes.get("prefixItems") or ())
        if any(first) or shapes.get("items") is not None:
            return ListItems(first=first, rest=shapes.get("items"))
        if shapes.get("additionalProperties") is not None:
            return Members(rest=shapes["additionalProperties"])
        return shapes.get("$ref")

    def _members(self, node: JsonObject, shapes: dict[str, Any]) -> Shape:
        required = set(required_of(node))
        members = {
            name: Property(
                shape=shapes["properties"][name],
                dropped=None if name in required or takes_null(inner, self.definitions.at) else "null",
            )
            for name, inner in properties_of(node).items()
        }
        return Members(named=members, rest=shapes.get("additionalProperties"))


def _branch(wire: Any, shape: Shape) -> Branch:
    types = frozenset(kinds(wire)) if is_object(wire) else frozenset[str]()
    return Branch(types=types or None, wire=wire, shape=shape)


def _current(schema: JsonObject) -> JsonObject:
    """A node in today's spelling, its `required` in the order of its `properties`."""
    node = {key: value for key, value in schema.items() if key not in _LEFT_OUT}
    if isinstance(node.get("items"), list):
        node["prefixItems"] = node.pop("items")
        if "additionalItems" in schema:
            node["items"] = schema["additionalItems"]
    return required_in_order(node)
