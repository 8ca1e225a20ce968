"""A schema as one provider's strict mode takes it (T9): one translation, which also keeps how answers are read back.

What a dialect can't say is dropped with a note where values are still judged afterwards, and is a problem where the
model could then write less than the schema allows.
"""

from __future__ import annotations

from typing import Any, Literal

from ..json import JsonObject, is_list, is_object
from ..walk import OPTIONS, properties_of, required_of
from .definitions import (
    Combining,
    Node,
    any_of,
    branches,
    fits_beside,
    judges,
    kinds,
    null,
    of_kind,
    or_null,
    takes_null,
)
from .dialects import Dialect
from .remarks import Remarks
from .restoring import ELSE, Entries, ListItems, Members, NamedShape, Property, Shape
from .scalars import accepted, literals


class Strict:
    """The translation of one composed schema, by the types of its values."""

    def __init__(self, document: JsonObject, dialect: Dialect) -> None:
        self.remarks = Remarks()
        self._combining = Combining(document)
        self.definitions = self._combining.definitions
        self._dialect = dialect
        self._source = ""
        self._optional = 0

    def defined(self) -> dict[str, Node]:
        """All definitions that were referred to, and those they refer to."""
        result: dict[str, Node] = {}
        while (following := self.definitions.next()) is not None:
            name, schema = following
            self._source = name
            result[name] = self.node(schema, f"#/$defs/{name}")
        recursion = self._dialect.recursion
        if recursion != "taken":
            where = "refused" if recursion == "refused" else "taken in optional properties only"
            for name in self.definitions.cycles(firm=recursion == "optional"):
                self.remarks.problem(f"#/$defs/{name}", f"refers to itself, recursion is {where}")
        return result

    def node(self, schema: Any, path: str) -> Node:
        """One schema."""
        if schema is False:
            return self._problem(path, "no value is valid")
        node = self._without_all_of(schema if is_object(schema) else {}, path)
        if "$ref" in node:
            return self._reference(node, path)
        for keyword in OPTIONS:
            if isinstance(node.get(keyword), list):
                return self._union(node, keyword, path)
        if "enum" in node or "const" in node:
            return self._literals(node, path)
        types = kinds(node)
        if len(types) > 1:
            head = self.remarks.head(None, node, path, frozenset(node) - {"default"})
            return self._any_of([self._typed(kind, of_kind(node, kind), path) for kind in types], head, path)
        if not types:
            return self._untyped(node, path)
        return self._typed(types[0], node, path)

    def call(self, schema: JsonObject, path: str) -> Node:
        """The schema of a call: `_output` may be owed, and is then null (C4); references go into `_with` (T9)."""
        node = self._without_all_of(schema, path)
        for keyword in OPTIONS:
            if keyword in node:
                options: list[Any] = node[keyword]
                node = {key: value for key, value in node.items() if key != keyword}
                if not fits_beside(node, options):
                    self._problem(path, f"`{keyword}` of whole calls can't be expressed")
                self.remarks.note(path, f"`{keyword}` moved to the local check")
        return self._object(node, path, is_call=True)

    def _typed(self, kind: str, schema: JsonObject, path: str) -> Node:
        match kind:
            case "object":
                return self._object(schema, path)
            case "array":
                return self._array(schema, path)
            case _:
                assertions, whole = accepted(kind, schema, self._dialect)
                return self.remarks.head(kind, schema, path, whole) | assertions, None

    def _untyped(self, schema: JsonObject, path: str) -> Node:
        if not self._dialect.untyped:
            return self._problem(path, "has no type")
        return self.remarks.head(None, schema, path), None

    def _problem(self, path: str, reason: str) -> Node:
        self.remarks.problem(path, reason)
        return {}, None

    def _object(self, schema: JsonObject, path: str, *, is_call: bool = False) -> Node:
        required = dict.fromkeys(required_of(schema))
        listed = properties_of(schema)
        # What is required and not listed may be anything.
        properties = listed | {name: True for name in required if name not in listed}
        extra = schema.get("additionalProperties")
        if not properties and extra is not False:
            return self._map(schema, path, "key", "value")
        wire = self.remarks.head("object", schema, path)
        rest, rest_shape = self._rest(schema, path)
        wires: JsonObject = {}
        firm: list[str] = []
        members: dict[str, Property] = {}
        for name, inner in properties.items():
            inner_path = f"{path}/properties/{name}"
            wires[name], members[name], is_firm = self._property(name, inner, inner_path, name in required, is_call)
            firm.extend([name] if is_firm else [])
        wire |= {"properties": wires, "required": firm, "additionalProperties": rest}
        telling = any(member != Property() for member in members.values()) or rest_shape is not None
        return wire, Members(named=members, rest=rest_shape) if telling else None

    def _property(
        self, name: str, schema: Any, path: str, required: bool, is_call: bool
    ) -> tuple[JsonObject, Property, bool]:
        if is_call and name == "_with" and self._dialect.closed:
            wire, shape = self._map(schema, path, "parameter", "reference")
            return wire, Property(shape=shape, dropped="empty"), True
        if is_call and name == ELSE:
            schema = {"type": "string"}
        self._optional += not required
        node = self.node(schema, path)
        self._optional -= not required
        if is_call and name == "_output":
            wire, shape = or_null(node)
            return wire, Property(shape=shape), required or self._dialect.all_required
        leaves_out = not required and not takes_null(schema, self.definitions.at)
        firm = required or self._dialect.all_required
        wire, shape = or_null(node) if firm and not required else node
        return wire, Property(shape=shape, dropped="null" if leaves_out else None), firm

    def _rest(self, schema: JsonObject, path: str) -> tuple[Any, Shape]:
        extra = schema.get("additionalProperties")
        if "patternProperties" in schema and (self._dialect.closed or extra is False):
            self._problem(path, "properties by pattern (`patternProperties`) can't be listed")
        if extra is False or (extra is None and "patternProperties" not in schema):
            # Without a word it is open by the letter of the standard; one that lists its properties means those.
            return False, None
        if "patternProperties" in schema:
            self.remarks.note(path, "`patternProperties` moved to the local check")
        if self._dialect.closed:
            self._problem(path, "further properties (`additionalProperties`) can't be listed")
            return False, None
        return self._values(extra, f"{path}/additionalProperties")

    def _values(self, schema: Any, path: str) -> tuple[Any, Shape]:
        """The schema of a map's values."""
        return self.node(schema, path) if isinstance(schema, dict) and schema else (True, None)

    def _map(self, schema: JsonObject, path: str, key: str, value: str) -> Node:
        extra = schema.get("additionalProperties")
        by_pattern: list[Any] = [*schema.get("patternProperties", {}).values()]
        if by_pattern:
            self.remarks.note(path, "the names of `patternProperties` moved to the local check")
        if len(by_pattern) > 1 or (by_pattern and isinstance(extra, dict)):
            return self._problem(path, "properties by pattern (`patternProperties`) can't be listed")
        inner = by_pattern[0] if by_pattern else extra
        wire = self.remarks.head("object", schema, path)
        if not self._dialect.closed:
            values, shape = self._values(inner, f"{path}/additionalProperties")
            return wire | {"additionalProperties": values}, Members(rest=shape) if shape is not None else None
        if not isinstance(inner, dict) or not inner:
            return self._problem(path, "an open object (`additionalProperties`) can't be closed")
        values, shape = self.node(inner, f"{path}/additionalProperties")
        self.remarks.note(path, "sent as the list of its entries")
        entry: JsonObject = {
            "type": "object",
            "properties": {key: {"type": "string"}, value: values},
            "required": [key, value],
            "additionalProperties": False,
        }
        return wire | {"type": "array", "items": entry}, Entries(key=key, value=value, shape=shape)

    def _array(self, schema: JsonObject, path: str) -> Node:
        items, first = schema.get("items"), schema.get("prefixItems", [])
        if is_list(items):
            items, first = schema.get("additionalItems"), items
        if schema.get("maxItems") == 0 or (items is False and not first):
            assertions, whole = accepted("array", {**schema, "maxItems": 0}, self._dialect)
            return self.remarks.head("array", schema, path, whole) | {"items": null()[0]} | assertions, None
        if first:
            return self._tuple(schema, first, items, path)
        assertions, whole = accepted("array", schema, self._dialect)
        wire = self.remarks.head("array", schema, path, whole)
        if not isinstance(items, dict) or not items:
            if not self._dialect.untyped:
                self._problem(path, "its items have no type")
            return wire | assertions, None
        inner, shape = self.node(items, f"{path}/items")
        return wire | {"items": inner} | assertions, ListItems(rest=shape) if shape is not None else None

    def _tuple(self, schema: JsonObject, first: list[Any], items: Any, path: str) -> Node:
        """A list whose items differ by position: no decoder keeps the positions, all keep the count."""
        nodes = [self.node(inner, f"{path}/prefixItems/{index}") for index, inner in enumerate(first)]
        rest = [self.node(items, f"{path}/items")] if isinstance(items, dict) and items else []
        counted = schema if rest else {**schema, "maxItems": min(len(first), schema.get("maxItems", len(first)))}
        assertions, whole = accepted("array", counted, self._dialect)
        self.remarks.note(path, "the positions of `prefixItems` moved to the local check")
        shapes = tuple(shape for _, shape in nodes)
        wire = self.remarks.head("array", schema, path, whole)
        wire |= {"items": any_of(nodes + rest)[0]} | assertions
        tail = rest[0][1] if rest else None
        return wire, ListItems(first=shapes, rest=tail) if any(shapes) or tail is not None else None

    def _literals(self, schema: JsonObject, path: str) -> Node:
        wires, changes = literals(schema, self._dialect)
        for change in changes:
            self.remarks.note(path, change)
        if wires is None:
            return self._problem(path, "lists values that can't be listed (objects, lists, or none of its type)")
        head = self.remarks.head(None, schema, path, frozenset({"enum", "const"}))
        return any_of([(wire, None) for wire in wires], head.get("description"))

    def _reference(self, schema: JsonObject, path: str) -> Node:
        name = self.definitions.name(schema["$ref"])
        if name is None:
            return self._problem(path, f"refers to {schema['$ref']!r}, which does not exist")
        beside = {
            key: value for key, value in schema.items() if key != "$ref" and (key == "description" or judges(key))
        }
        if beside:
            inlined = self._combining.beside(name, beside, path)
            if inlined is not None:
                with self._combining.inside(name):
                    return self.node(inlined, path)
            for key in beside:
                where = "moved to the local check" if judges(key) else "left out"
                self.remarks.note(path, f"`{key}` next to `$ref` {where}")
        self.definitions.refer(self._source, name, firm=not self._optional)
        return {"$ref": f"#/$defs/{name}"}, NamedShape(name=name)

    def _without_all_of(self, schema: JsonObject, path: str) -> JsonObject:
        while isinstance(schema.get("allOf"), list):
            merged, left_out = self._combining.all_of(schema, path)
            for index in left_out:
                self.remarks.note(f"{path}/allOf/{index}", "`allOf` moved to the local check")
            if merged is None:
                self._problem(path, "`allOf` can't be expressed as one schema")
            schema = merged or {}
        return schema

    def _union(self, schema: JsonObject, keyword: str, path: str) -> Node:
        options: list[Any] = schema[keyword]
        base = {key: value for key, value in schema.items() if key != keyword}
        if any(keyword_beside in base for keyword_beside in OPTIONS):
            return self._problem(path, "`anyOf` and `oneOf` side by side can't be expressed as one union")
        if any(judges(key) for key in base):
            if fits_beside(base, options):
                self.remarks.note(path, f"`{keyword}` moved to the local check")
                return self.node(base, path)
            joined = self._combining.distributed(base, options)
            if joined is None:
                return self._problem(path, f"`{keyword}` and the keywords next to it can't be expressed as one union")
            options = joined
        if keyword == "oneOf":
            self.remarks.note(path, "`oneOf` sent as `anyOf`; that only one option holds is checked locally")
        nodes = [self.node(option, f"{path}/{keyword}/{index}") for index, option in enumerate(options)]
        head = self.remarks.head(None, base, path, frozenset(base) - {"default"})
        return self._any_of(nodes, head, path)

    def _any_of(self, nodes: list[Node], head: JsonObject, path: str) -> Node:
        """A union in which no list can be taken for a map that is sent as one."""
        node = any_of(nodes, head.get("description"))
        lists = [kind for kind in map(self._list_kind, branches(node)) if kind is not None]
        if len(set(lists)) > 1:
            self._problem(path, "a list and a map that is sent as the list of its entries can't be told apart")
        return node

    def _list_kind(self, branch: Node) -> Literal["map", "list"] | None:
        """What an array on the wire represents."""
        wire, shape = branch
        if "$ref" not in wire:
            return None if wire.get("type") != "array" else "map" if isinstance(shape, Entries) else "list"
        target = self.definitions.target(wire["$ref"].removeprefix("#/$defs/"))
        if not self._dialect.closed or not is_object(target):
            return None
        is_map = "object" in kinds(target) and not target.get("properties")
        return "list" if "array" in kinds(target) else "map" if is_map else None
