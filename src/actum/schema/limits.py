"""How large a schema is by the measures that providers limit, and which limit of a dialect it exceeds."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, cast

from .dialects import Limits
from .json import JsonObject, encode

SMALL_ENUM = 250
"""An enum of more strings than this is limited in its characters too (OpenAI)."""


@dataclass(slots=True)
class Size:
    """What a schema holds, with the place where each count grew last."""

    properties: int = 0
    names: int = 0
    enum_values: int = 0
    optional: int = 0
    unions: int = 0
    large_enum: int = 0
    depth: int = 0
    at: dict[str, str] = field(default_factory=dict[str, str])
    within: Limits = field(default_factory=Limits)

    def add(self, what: str, amount: int, path: str) -> None:
        """Count, and keep the first place beyond the limit."""
        value = getattr(self, what) + amount
        setattr(self, what, value)
        self.reach(what, value, path)

    def reach(self, what: str, value: int, path: str) -> None:
        """Note a value that is not summed up, but whose greatest counts."""
        setattr(self, what, max(value, getattr(self, what)))
        most = getattr(self.within, what)
        if most is not None and value > most:
            self.at.setdefault(what, path)


_WORDS = {
    "properties": "properties in all",
    "depth": "levels of nesting",
    "names": "characters of names and literal values",
    "enum_values": "enum values in all",
    "large_enum": "characters in one enum",
    "optional": "optional properties in all",
    "unions": "unions in all",
}


def exceeded(schema: JsonObject, limits: Limits) -> tuple[str, ...]:
    """The limits that a schema exceeds: the place where it does, the number and the limit, a line each."""
    if limits == Limits():
        return ()
    size = Size(within=limits)
    definitions = cast("JsonObject", schema.get("$defs", {}))
    _measure(schema, "#", size)
    for name, definition in definitions.items():
        size.add("names", len(name), f"#/$defs/{name}")
        _measure(definition, f"#/$defs/{name}", size)
    depth, place = _depth(schema, definitions)
    size.reach("depth", depth, place)
    return tuple(
        f"{at}: {getattr(size, what)} {_WORDS[what]}, limit {getattr(limits, what)}" for what, at in size.at.items()
    )


def _measure(schema: Any, path: str, size: Size) -> None:
    if not isinstance(schema, dict):
        return
    node = cast("JsonObject", schema)
    properties = cast("JsonObject", node.get("properties", {}))
    required = set(node.get("required", ()))
    for name in properties:
        size.add("properties", 1, f"{path}/properties/{name}")
        size.add("names", len(name), f"{path}/properties/{name}")
        size.add("optional", name not in required, f"{path}/properties/{name}")
    values = cast("list[Any]", node.get("enum", [node["const"]] if "const" in node else []))
    characters = sum(len(value if isinstance(value, str) else encode(value)) for value in values)
    size.add("names", characters, path)
    size.add("enum_values", len(node.get("enum", ())), path)
    if len(values) > SMALL_ENUM:
        size.reach("large_enum", characters, path)
    size.add("unions", "anyOf" in node or isinstance(node.get("type"), list), path)
    for inner, below, _ in _children(node, path):
        _measure(inner, below, size)


def _children(node: JsonObject, path: str) -> Iterator[tuple[Any, str, int]]:
    """The schemas inside one, their places, and whether each is a level deeper."""
    for name, inner in cast("JsonObject", node.get("properties", {})).items():
        yield inner, f"{path}/properties/{name}", 1
    for keyword in ("items", "additionalProperties"):
        if isinstance(node.get(keyword), dict):
            yield node[keyword], f"{path}/{keyword}", 1
    for keyword, deeper in (("anyOf", 0), ("prefixItems", 1)):
        for index, inner in enumerate(cast("list[Any]", node.get(keyword, []))):
            yield inner, f"{path}/{keyword}/{index}", deeper


def _depth(root: JsonObject, definitions: JsonObject) -> tuple[int, str]:
    """The deepest nesting of objects and lists, and its place; a cycle counts once."""
    known: dict[str, tuple[int, str]] = {}

    def of(node: Any, path: str) -> tuple[int, str]:
        if not isinstance(node, dict):
            return 0, path
        members = cast("JsonObject", node)
        if "$ref" in members:
            name = str(members["$ref"]).removeprefix("#/$defs/")
            if name not in known:
                known[name] = (0, path)
                known[name] = of(definitions.get(name), f"#/$defs/{name}")
            return known[name]
        level = int(members.get("type") in ("object", "array"))
        deepest = max((of(inner, below) for inner, below, _ in _children(members, path)), default=(0, path), key=_first)
        return (level + deepest[0], deepest[1]) if deepest[0] else (level, path)

    return of(root, "#")


def _first(pair: tuple[int, str]) -> int:
    return pair[0]
