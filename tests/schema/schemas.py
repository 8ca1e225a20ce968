"""Random schemas with values valid under them, made from a seed: strategies that hold strategies are far too slow."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from random import Random
from typing import Any

from .composing import References, accepts, call, compose
from .json_values import is_list, is_object

Json = Any
Schema = dict[str, Json]
Make = Callable[[], Json]
Sample = tuple[Json, Make]
"""A schema, and what makes values that are meant to be valid under it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Composed:
    """A composed schema of a few tools and a call of the first that is meant to be valid."""

    schema: Schema
    call: Json


_TREE: Schema = {
    "type": "object",
    "properties": {"name": {"type": "string"}, "children": {"type": "array", "items": {"$ref": "#/$defs/tree"}}},
    "required": ["name"],
    "additionalProperties": False,
}
_PAIR: Schema = {
    "type": "object",
    "properties": {"x": {"type": "integer"}, "y": {"type": "integer"}},
    "required": ["x"],
}
DEFINITIONS: Schema = {"tree": _TREE, "pair": _PAIR, "unit": {"enum": ["m", "km", None]}}

_REFERENCES = ("†state.x", "†input.days[0]", "†calls.0")
_NAMES = ("a", "b", "c", "naïve", "x-y", "key", "value")
_LISTED = ("a", 1, 2.5, None, False)


class Maker:
    """Draws schemas and values."""

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)

    def often(self) -> bool:
        return self.random.random() < 0.5

    def text(self) -> str:
        return "".join(self.random.choices('ab c"\\/é{}[],:\n', k=self.random.randrange(6)))

    def reference(self) -> str:
        return self.random.choice(_REFERENCES)

    def composed(self, references: References) -> Composed:
        """Up to three tools and a call of the first."""
        calls: list[Schema] = []
        values: list[Json] = []
        for number in range(self.random.randint(1, 3)):
            members = {name: self.schema(3) for name in self.random.sample(("p", "q", "r"), self.random.randint(0, 3))}
            required = [name for name in members if self.often()]
            output = self.schema(2) if self.often() else None
            more: Schema = {} if output is None else {"_output": output[0]}
            tool: Schema = {"properties": {name: sample[0] for name, sample in members.items()}, "required": required}
            offered = call(f"tool{number}", tool, references, **more)
            offered["required"] += list(more)
            calls.append(offered)
            value = {"_tool": f"tool{number}"} | self._parameters(members, required, references)
            values.append(value if output is None else value | {"_output": output[1]()})
        return Composed(schema=compose(calls, definitions=DEFINITIONS), call=values[0])

    def _parameters(self, members: dict[str, Sample], required: list[str], references: References) -> Schema:
        value: Schema = {}
        for name, (schema, make) in members.items():
            if name in required or self.often():
                refers = references == "wide" and schema != {"type": "string"} and self.often()
                value[name] = self.reference() if refers else make()
        if references == "aside" and members and self.often():
            value["_with"] = {name: self.reference() for name in members if self.often()}
            if not value["_with"]:
                del value["_with"]
        return value

    def schema(self, depth: int) -> Sample:
        """Any schema that a strict dialect may be able to say."""
        composite = (self._object, self._array, self._tuple, self._map, self._union, self._conjunction)
        if depth and self.random.random() < 0.6:
            return self.random.choice(composite)(depth - 1)
        return self.random.choice(self._scalars())

    def _scalars(self) -> list[Sample]:
        low = self.random.randint(-5, 5)
        pick, random = self.random.choice, self.random
        return [
            ({"type": "string"}, self.text),
            ({"type": "string", "minLength": 1, "maxLength": 4}, lambda: self.text()[:3] + "x"),
            ({"type": "string", "pattern": "^[a-c]+$"}, lambda: pick(["a", "abc"])),
            ({"type": "string", "pattern": "a|b", "default": "a"}, lambda: pick(["a", "xb"])),
            ({"type": "string", "format": "date"}, lambda: "2026-11-20"),
            ({"type": "integer", "minimum": low, "maximum": low + 3}, lambda: random.randint(low, low + 3)),
            ({"type": "integer", "exclusiveMinimum": low}, lambda: random.randint(low + 1, low + 99)),
            ({"type": "number", "exclusiveMaximum": 10, "multipleOf": 0.5}, lambda: pick([1, 2.5, -3])),
            ({"type": "boolean", "description": "Whether"}, self.often),
            ({"type": "null"}, lambda: None),
            ({"const": "one"}, lambda: "one"),
            ({"const": True}, lambda: True),
            ({"enum": list(_LISTED)}, lambda: pick(_LISTED)),
            ({"type": ["string", "null"]}, lambda: pick([None, self.text()])),
            ({"type": ["integer", "string"], "enum": [1, "x"]}, lambda: pick([1, "x"])),
            ({"$ref": "#/$defs/unit"}, lambda: pick(["m", "km", None])),
            ({"$ref": "#/$defs/tree"}, lambda: self._tree(2)),
            ({"$ref": "#/$defs/pair", "description": "Where"}, lambda: pick([{"x": 1}, {"x": 1, "y": 2}])),
        ]

    def _tree(self, depth: int) -> Json:
        count = self.random.randrange(3) if depth else 0
        children = {"children": [self._tree(depth - 1) for _ in range(count)]}
        return {"name": self.text()} | (children if self.often() else {})

    def _object(self, depth: int) -> Sample:
        members = {name: self.schema(depth) for name in self.random.sample(_NAMES, self.random.randint(1, 3))}
        required = [name for name in members if self.often()]
        schema: Schema = {
            "type": self.random.choice(["object", ["object", "null"]]),
            "properties": {name: member for name, (member, _) in members.items()},
            "required": required,
        } | ({"additionalProperties": False} if self.often() else {})

        def make() -> Json:
            if schema["type"] != "object" and self.often():
                return None
            return {
                name: make_member() for name, (_, make_member) in members.items() if name in required or self.often()
            }

        return schema, make

    def _array(self, depth: int) -> Sample:
        schema, make = self.schema(depth)
        least = self.random.randrange(3)
        bounds = {"minItems": least, "maxItems": 3} if self.often() else {}
        return {"type": "array", "items": schema} | bounds, lambda: [
            make() for _ in range(self.random.randint(least, 3))
        ]

    def _tuple(self, depth: int) -> Sample:
        items = [self.schema(depth) for _ in range(self.random.randint(1, 3))]
        bound = {"minItems": len(items)} if self.often() else {}
        schema = {"type": "array", "prefixItems": [schema for schema, _ in items], "items": False}
        return schema | bound, lambda: [make() for _, make in items]

    def _map(self, depth: int) -> Sample:
        schema, make = self.schema(depth)
        of_any = {"type": "object", "additionalProperties": schema}
        of_some = {"type": "object", "patternProperties": {"^[a-z]": schema}}
        return self.random.choice([of_any, of_some]), lambda: {
            name: make() for name in _NAMES if self.random.random() < 0.2
        }

    def _union(self, depth: int) -> Sample:
        options = [self.schema(depth) for _ in range(self.random.randint(1, 3))]
        # Two kinds of lists that differ only in what the wire can't say can't be told apart there.
        listed = [
            option for option in options if {"anyOf", "oneOf"} & option[0].keys() or option[0].get("type") == "array"
        ]
        options = [option for option in options if option not in listed[1:]]
        keyword = self.random.choice(["anyOf", "oneOf"])
        schema = {keyword: [schema for schema, _ in options], "description": "One of them"}

        def make() -> Json:
            _, make_one = self.random.choice(options)
            return make_one()

        return schema, make

    def _conjunction(self, depth: int) -> Sample:
        (left, make_left), (right, make_right) = self._object(depth), self.schema(depth)
        base = {key: value for key, value in left.items() if key != "additionalProperties"} | {"type": "object"}
        extension: Schema = {"type": "object", "properties": {"more": right}, "required": ["more"]}

        def make() -> Json:
            value: Schema = make_left() or {}
            return {**value, "more": make_right()}

        return {"allOf": [base, extension]}, make

    def written(self, wire: Json, definitions: Schema, depth: int = 0) -> Json:
        """A value as a decoder could write it under a schema of the wire, which is a small language."""
        if "$ref" in wire:
            return self.written(definitions[wire["$ref"].removeprefix("#/$defs/")], definitions, depth + 1)
        if "anyOf" in wire:
            # Beyond some depth null, where it is one of them, so that recursion ends.
            branches = sorted(wire["anyOf"], key=lambda branch: branch.get("type") != "null")
            return self.written(branches[0] if depth > 4 else self.random.choice(branches), definitions, depth)
        if "enum" in wire or "const" in wire:
            return self.random.choice(wire.get("enum", [wire.get("const")]))
        if wire.get("type") == "object":
            return self._written_object(wire, definitions, depth + 1)
        if wire.get("type") == "array":
            least = wire.get("minItems", 0)
            most = least if depth > 4 else min(wire.get("maxItems", 3), 3)
            items = wire.get("items", {"type": "null"})
            return [
                self.written(items, definitions, depth + 1) for _ in range(self.random.randint(least, max(least, most)))
            ]
        if is_list(kinds := wire.get("type")):
            return self._written_scalar({"type": self.random.choice(kinds)})
        return self._written_scalar(wire)

    def _written_object(self, wire: Schema, definitions: Schema, depth: int) -> Json:
        properties, rest = wire.get("properties", {}), wire.get("additionalProperties")
        chosen = [name for name in properties if name in wire.get("required", []) or (depth < 5 and self.often())]
        value = {name: self.written(properties[name], definitions, depth) for name in chosen}
        names = [name for name in ("k1", "k2") if is_object(rest) and depth < 5 and self.often()]
        return value | {name: self.written(rest, definitions, depth) for name in names}

    def _written_scalar(self, wire: Schema) -> Json:
        offered: list[Json] = {
            "string": [self.text(), self.reference(), "2026-11-20", "abc", "xb"],
            "integer": [*range(-9, 99)],
            "number": [0, 1, 2.5, 9, -3],
            "boolean": [True, False],
            "null": [None],
        }.get(wire.get("type", ""), [None, self.text()])
        return self.random.choice([value for value in offered if accepts(wire, value)])
