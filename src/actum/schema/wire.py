"""A schema as one provider's strict mode takes it (T9): one walk, which also keeps how answers are read back.

What a dialect can't say is dropped with a note where values are still judged afterwards, and is a problem where the
model could then write less than the schema allows.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, TypeAlias, cast

from .definitions import Definitions
from .dialects import Dialect
from .json import JsonObject, encode
from .literals import literals
from .merging import fits_beside, judges, kinds, merged, of_kind, takes_null, weight
from .restoring import Branch, Choice, Entries, Items, Member, Members, Named, Shape
from .scalars import REFERENCE, kept


@dataclass(frozen=True, slots=True, kw_only=True)
class Note:
    """What lowering changed at a place of the composed schema, and what is therefore checked locally."""

    path: str
    change: str


Node: TypeAlias = tuple[JsonObject, Shape]

NULL: JsonObject = {"type": "null"}
OPTIONS: tuple[Literal["anyOf", "oneOf"], ...] = ("anyOf", "oneOf")

_INLINED = 20_000
"""How many values may be copied from definitions into the places that say more than the reference."""

_LONGEST_WORD = 80


class Wire:
    """The walk over one composed schema."""

    def __init__(self, document: JsonObject, dialect: Dialect) -> None:
        self.notes: list[Note] = []
        self.problems: list[str] = []
        self.definitions = Definitions(document)
        self._dialect = dialect
        self._budget = _INLINED
        self._inlining: list[str] = []
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
            self.problems.extend(
                f"#/$defs/{name}: refers to itself, recursion is "
                + ("refused" if recursion == "refused" else "taken in optional properties only")
                for name in self.definitions.cycles(firm=recursion == "optional")
            )
        return result

    def node(self, schema: Any, path: str) -> Node:
        """One schema."""
        if schema is False:
            return self._problem(path, "takes no value at all")
        node = self._without_all_of(cast("JsonObject", schema) if isinstance(schema, dict) else {}, path)
        if "$ref" in node:
            return self._reference(node, path)
        for keyword in OPTIONS:
            if isinstance(node.get(keyword), list):
                return self._union(node, keyword, path)
        if "enum" in node or "const" in node:
            return self._literals(node, path)
        types = kinds(node)
        if len(types) > 1:
            return self._any_of([self._typed(kind, of_kind(node, kind), path) for kind in types], node)
        if not types:
            return self._untyped(node, path)
        return self._typed(types[0], node, path)

    def call(self, schema: JsonObject, path: str) -> Node:
        """The schema of a call: `_output` may be owed, and is then null (C4); references stand beside (T9)."""
        return self._object(schema, path, is_call=True)

    def _typed(self, kind: str, schema: JsonObject, path: str) -> Node:
        match kind:
            case "object":
                return self._object(schema, path)
            case "array":
                return self._array(schema, path)
            case _:
                assertions, whole = kept(kind, schema, self._dialect)
                return self._described(kind, schema, path, whole) | assertions, None

    def _untyped(self, schema: JsonObject, path: str) -> Node:
        if not self._dialect.untyped:
            return self._problem(path, "has no type")
        return self._described(None, schema, path, frozenset()), None

    def _problem(self, path: str, what: str) -> Node:
        self.problems.append(f"{path}: {what}")
        return {}, None

    def _note(self, path: str, change: str) -> None:
        self.notes.append(Note(path=path, change=change))

    def _described(self, kind: str | None, schema: JsonObject, path: str, said: frozenset[str]) -> JsonObject:
        """The beginning of a node: its type, and in words what only the local check holds."""
        words: list[str] = []
        for key, value in schema.items():
            if key == "default":
                self._note(path, "`default` moved to the description")
            elif not judges(key) or key in said or key in _STRUCTURE:
                continue
            else:
                self._note(path, f"`{key}` moved to the local check")
            words.append(_word(key, value))
        told = ", ".join(word for word in words if word)
        text = " ".join(part for part in (schema.get("description"), f"({told})" if told else "") if part)
        return ({} if kind is None else {"type": kind}) | ({"description": text} if text else {})

    def _object(self, schema: JsonObject, path: str, *, is_call: bool = False) -> Node:
        required = cast("list[str]", schema.get("required", []))
        properties = dict.fromkeys(required, {}) | cast("JsonObject", schema.get("properties", {}))
        properties = {name: properties[name] for name in _ordered(schema, properties)}
        extra = schema.get("additionalProperties")
        if not properties and extra is not False:
            return self._map(schema, path, "key", "value")
        wire = self._described("object", schema, path, frozenset())
        rest, rest_shape = self._rest(schema, path)
        wires: JsonObject = {}
        firm: list[str] = []
        members: dict[str, Member] = {}
        for name, inner in properties.items():
            place = f"{path}/properties/{name}"
            wires[name], members[name], is_firm = self._property(name, inner, place, name in required, is_call)
            firm.extend([name] if is_firm else [])
        wire |= {"properties": wires, "required": firm, "additionalProperties": rest}
        telling = any(member != Member() for member in members.values()) or rest_shape is not None
        return wire, Members(named=members, rest=rest_shape) if telling else None

    def _property(
        self, name: str, schema: Any, path: str, required: bool, is_call: bool
    ) -> tuple[JsonObject, Member, bool]:
        if is_call and name == "_with" and self._dialect.closed:
            wire, shape = self._map(schema, path, "parameter", "reference")
            return wire, Member(shape=shape, dropped="empty"), True
        self._optional += not required
        node = self.node(schema, path)
        self._optional -= not required
        if is_call and name == "_output":
            wire, shape = self._or_null(node)
            return wire, Member(shape=shape), required or self._dialect.all_required
        left_out = not required and not takes_null(schema, self._target)
        if not required and self._dialect.all_required:
            node = self._or_null(node)
        return (
            node[0],
            Member(shape=node[1], dropped="null" if left_out else None),
            required or self._dialect.all_required,
        )

    def _rest(self, schema: JsonObject, path: str) -> tuple[Any, Shape]:
        extra = schema.get("additionalProperties")
        if "patternProperties" in schema and (self._dialect.closed or extra is False):
            self._problem(path, "properties by pattern (`patternProperties`) can't be listed")
        if extra is None and "patternProperties" not in schema:
            # Open by the letter of the standard; an object that lists its properties means those.
            return False, None
        if extra is False:
            return False, None
        if self._dialect.closed:
            self._problem(path, "further properties (`additionalProperties`) can't be listed")
            return False, None
        return self._values(extra, f"{path}/additionalProperties")

    def _values(self, schema: Any, path: str) -> tuple[Any, Shape]:
        """The schema of a map's values."""
        return self.node(schema, path) if isinstance(schema, dict) and schema else (True, None)

    def _map(self, schema: JsonObject, path: str, key: str, value: str) -> Node:
        extra = schema.get("additionalProperties")
        by_pattern = list(cast("JsonObject", schema.get("patternProperties", {})).values())
        if by_pattern:
            self._note(path, "the names of `patternProperties` moved to the local check")
        if len(by_pattern) > 1 or (by_pattern and isinstance(extra, dict)):
            return self._problem(path, "properties by pattern (`patternProperties`) can't be listed")
        inner = by_pattern[0] if by_pattern else extra
        wire = self._described("object", schema, path, frozenset())
        if not self._dialect.closed:
            values, shape = self._values(inner, f"{path}/additionalProperties")
            return wire | {"additionalProperties": values}, Members(rest=shape) if shape is not None else None
        if not isinstance(inner, dict) or not inner:
            return self._problem(path, "an open object (`additionalProperties`) can't be closed")
        values, shape = self.node(inner, f"{path}/additionalProperties")
        self._note(path, "sent as the list of its entries")
        entry: JsonObject = {
            "type": "object",
            "properties": {key: {"type": "string"}, value: values},
            "required": [key, value],
            "additionalProperties": False,
        }
        return wire | {"type": "array", "items": entry}, Entries(key=key, value=value, shape=shape)

    def _array(self, schema: JsonObject, path: str) -> Node:
        items, first = schema.get("items"), cast("list[Any]", schema.get("prefixItems", []))
        if isinstance(items, list):
            items, first = schema.get("additionalItems"), cast("list[Any]", items)
        if schema.get("maxItems") == 0 or (items is False and not first):
            assertions, whole = kept("array", {**schema, "maxItems": 0}, self._dialect)
            return self._described("array", schema, path, whole) | {"items": NULL} | assertions, None
        if first:
            return self._tuple(schema, first, items, path)
        assertions, whole = kept("array", schema, self._dialect)
        wire = self._described("array", schema, path, whole)
        if not isinstance(items, dict) or not items:
            if not self._dialect.untyped:
                self._problem(path, "its items have no type")
            return wire | assertions, None
        inner, shape = self.node(items, f"{path}/items")
        return wire | {"items": inner} | assertions, Items(rest=shape) if shape is not None else None

    def _tuple(self, schema: JsonObject, first: list[Any], items: Any, path: str) -> Node:
        """A list whose items differ by position: no decoder keeps the positions, all keep the count."""
        nodes = [self.node(inner, f"{path}/prefixItems/{index}") for index, inner in enumerate(first)]
        rest = [self.node(items, f"{path}/items")] if isinstance(items, dict) and items else []
        counted = schema if rest else {**schema, "maxItems": min(len(first), schema.get("maxItems", len(first)))}
        assertions, whole = kept("array", counted, self._dialect)
        self._note(path, "the positions of `prefixItems` moved to the local check")
        shapes = tuple(shape for _, shape in nodes)
        wire = self._described("array", schema, path, whole)
        wire |= {"items": self._any_of(nodes + rest, {})[0]} | assertions
        tail = rest[0][1] if rest else None
        return wire, Items(first=shapes, rest=tail) if any(shapes) or tail is not None else None

    def _literals(self, schema: JsonObject, path: str) -> Node:
        wires, changes = literals(schema, self._dialect)
        for change in changes:
            self._note(path, change)
        if wires is None:
            return self._problem(path, "lists values that can't be listed (objects, lists, or none of its type)")
        said = self._described(None, schema, path, frozenset({"enum", "const"}))
        return self._any_of([(wire, None) for wire in wires], said)

    def _reference(self, schema: JsonObject, path: str) -> Node:
        name = self.definitions.name(schema["$ref"])
        if name is None:
            return self._problem(path, f"refers to {schema['$ref']!r}, which is not there")
        beside = {
            key: value for key, value in schema.items() if key == "description" or (judges(key) and key != "$ref")
        }
        if beside:
            inlined = self._inlined(name, beside)
            if inlined is not None:
                self._inlining.append(name)
                node = self.node(inlined, path)
                self._inlining.pop()
                return node
            for key in beside:
                self._note(path, f"`{key}` beside `$ref` left out" + (", checked locally" if judges(key) else ""))
        self.definitions.refer(self._source, name, firm=not self._optional)
        return {"$ref": f"#/$defs/{name}"}, Named(name=name)

    def _inlined(self, name: str, beside: JsonObject) -> JsonObject | None:
        """A definition with what stands beside the reference to it, as no provider takes both (OpenAI, Google)."""
        target = self.definitions.target(name)
        if name in self._inlining or not isinstance(target, dict):
            return None
        cost = weight(target)
        if cost > self._budget:
            return None
        self._budget -= cost
        return merged(beside, cast("JsonObject", target))

    def _target(self, reference: Any) -> Any:
        name = self.definitions.name(reference)
        return None if name is None else self.definitions.target(name)

    def _without_all_of(self, schema: JsonObject, path: str) -> JsonObject:
        parts = schema.get("allOf")
        if not isinstance(parts, list):
            return schema
        result: JsonObject = {key: value for key, value in schema.items() if key != "allOf"}
        for index, part in enumerate(cast("list[Any]", parts)):
            if not isinstance(part, dict) or part.keys() <= _CONDITIONS:
                self._note(f"{path}/allOf/{index}", "`allOf` moved to the local check")
                continue
            one = self._joined(result, cast("JsonObject", part), alone=len(cast("list[Any]", parts)) == 1)
            if one is None:
                self._problem(path, "`allOf` can't be said as one schema")
                return result
            result = one
        return self._without_all_of(result, path)

    def _joined(self, schema: JsonObject, part: JsonObject, *, alone: bool) -> JsonObject | None:
        if "$ref" not in part or (alone and "$ref" not in schema):
            return merged(schema, part)
        name = self.definitions.name(part["$ref"])
        others = {key: value for key, value in part.items() if key != "$ref"}
        inlined = None if name is None else self._inlined(name, others)
        return None if inlined is None else merged(schema, inlined)

    def _union(self, schema: JsonObject, keyword: Literal["anyOf", "oneOf"], path: str) -> Node:
        options = cast("list[Any]", schema[keyword])
        base = {key: value for key, value in schema.items() if key != keyword}
        if any(other in base for other in OPTIONS):
            return self._problem(path, "`anyOf` and `oneOf` side by side can't be said as one")
        if any(judges(key) for key in base):
            if fits_beside(base, options):
                self._note(path, f"`{keyword}` moved to the local check")
                return self.node(base, path)
            joined = self._distributed(base, options)
            if joined is None:
                return self._problem(path, f"`{keyword}` and what stands beside it can't be said as one")
            options = joined
        if keyword == "oneOf":
            self._note(path, "`oneOf` sent as `anyOf`, that no two hold moved to the local check")
        nodes = [self.node(option, f"{path}/{keyword}/{index}") for index, option in enumerate(options)]
        return self._any_of(nodes, self._described(None, base, path, frozenset(base) - {"default"}))

    def _distributed(self, base: JsonObject, options: list[Any]) -> list[Any] | None:
        asserted = {key: value for key, value in base.items() if judges(key)}
        self._budget -= weight(asserted) * len(options)
        parts: list[Any] = []
        for option in options:
            if not isinstance(option, dict) or "$ref" in option or self._budget < 0:
                return None
            part = merged(asserted, cast("JsonObject", option))
            if part is None:
                return None
            parts.append(part)
        return parts

    def _or_null(self, node: Node) -> Node:
        return self._any_of([node, (NULL, None)], {})

    def _any_of(self, nodes: list[Node], said: JsonObject) -> Node:
        """A union of what was lowered: flat, without repetitions, and with its description in front."""
        options: dict[str, Node] = {}
        text = said.get("description")
        for wire, shape in nodes:
            for one in _options(wire, shape):
                options.setdefault(encode(one[0]), one)
            if "anyOf" in wire:
                text = text or wire.get("description")
        if len(options) == 1:
            wire, shape = next(iter(options.values()))
            return ({**wire, "description": text} if text and "$ref" not in wire else wire), shape
        head: JsonObject = {"description": text} if text else {}
        wires = [wire for wire, _ in options.values()]
        branches = tuple(
            Branch(types=frozenset(kinds(wire)) or None, wire=wire, shape=shape) for wire, shape in options.values()
        )
        told = any(branch.shape is not None for branch in branches)
        return head | {"anyOf": wires}, Choice(branches=branches) if told else None


_STRUCTURE = frozenset(
    {"type", "properties", "required", "additionalProperties", "patternProperties", "items", "prefixItems"}
    | {"additionalItems", "$ref", "anyOf", "oneOf"}
)
_CONDITIONS = {"if", "then", "else", "not", "description", "title", "$comment"}


def _options(wire: JsonObject, shape: Shape) -> list[Node]:
    """The branches of a union, or the one schema that is none."""
    if "anyOf" not in wire:
        return [(wire, shape)]
    shapes = [branch.shape for branch in shape.branches] if isinstance(shape, Choice) else [None] * len(wire["anyOf"])
    return list(zip(cast("list[JsonObject]", wire["anyOf"]), shapes, strict=True))


def _ordered(schema: JsonObject, properties: JsonObject) -> list[str]:
    """As they are listed; what is only required stands last."""
    return list(dict.fromkeys([*cast("JsonObject", schema.get("properties", {})), *properties]))


def _word(key: str, value: Any) -> str:
    if value == REFERENCE:
        return "a reference, it begins with †"
    if isinstance(value, dict | list) or (isinstance(value, int | float) and abs(value) >= 2**53 - 1):
        return ""
    text = encode(value)
    return f"{key}: {text}" if len(text) <= _LONGEST_WORD else ""
