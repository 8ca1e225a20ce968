"""How large a schema is by the measures that providers limit, and which limit of a dialect it exceeds."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, TypeAlias

from ..json import JsonObject, encode, is_list, is_object
from ..walk import Subschema, held, properties_of, required_of, subschemas
from .dialects import SizeLimits

_MOST_STEPS = 200
SMALL_ENUM = 250
"""An enum of more strings than this is limited in its characters too (OpenAI)."""


Path: TypeAlias = tuple[str | int, ...]


@dataclass(slots=True)
class Size:
    """What a schema holds, with the path where each count grew last."""

    properties: int = 0
    names: int = 0
    enum_values: int = 0
    optional: int = 0
    unions: int = 0
    large_enum: int = 0
    depth: int = 0
    at: dict[str, Path] = field(default_factory=dict[str, Path])
    within: SizeLimits = field(default_factory=SizeLimits)

    def add(self, what: str, amount: int, path: Path) -> None:
        """Count, and keep the first path beyond the limit."""
        value = getattr(self, what) + amount
        setattr(self, what, value)
        self.reach(what, value, path)

    def reach(self, what: str, value: int, path: Path) -> None:
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


def exceeded(schema: JsonObject, limits: SizeLimits) -> tuple[str, ...]:
    """The limits that a lowered schema exceeds: the path where it does, the number and the limit, a line each."""
    if limits == SizeLimits():
        return ()
    size = Size(within=limits)
    for one in subschemas(schema):
        if one.keyword == "$defs":
            size.add("names", len(str(one.path[-1])), one.path)
        _measure(one, size)
    if limits.depth is not None:
        size.reach("depth", *_depth(schema))
    return tuple(
        f"{'/'.join(map(str, ('#', *at)))}: {getattr(size, what)} {_WORDS[what]}, limit {getattr(limits, what)}"
        for what, at in size.at.items()
    )


def _measure(one: Subschema, size: Size) -> None:
    schema, path, _ = one
    required = set(required_of(schema))
    for name in properties_of(schema):
        inner = (*path, "properties", name)
        size.add("properties", 1, inner)
        size.add("names", len(name), inner)
        size.add("optional", name not in required, inner)
    values: list[Any] = schema.get("enum", [schema["const"]] if "const" in schema else [])
    characters = sum(len(value if isinstance(value, str) else encode(value)) for value in values)
    size.add("names", characters, path)
    size.add("enum_values", len(schema.get("enum", ())), path)
    if len(values) > SMALL_ENUM:
        size.reach("large_enum", characters, path)
    size.add("unions", "anyOf" in schema or is_list(schema.get("type")), path)


def _depth(root: JsonObject) -> tuple[int, Path]:
    """The deepest nesting of objects and lists, and its path; a cycle counts once."""
    # By recursion, which ends far below every limit: a chain of definitions may be of any length.
    known: dict[str, tuple[int, Path]] = {}
    definitions: JsonObject = root.get("$defs", {})

    def of(schema: Any, path: Path, steps: int = 0) -> tuple[int, Path]:
        if not is_object(schema) or steps > _MOST_STEPS:
            return 0, path
        if "$ref" in schema:
            name = str(schema["$ref"]).removeprefix("#/$defs/")
            if name not in known:
                known[name] = (0, path)
                known[name] = of(definitions.get(name), ("$defs", name), steps + 1)
            return known[name]
        level = int(schema.get("type") in ("object", "array"))
        inner = (of(slot.schema, path + slot.steps, steps + 1) for slot in held(schema) if slot.keyword != "$defs")
        deepest = max(inner, default=(0, path), key=_first)
        return (level + deepest[0], deepest[1]) if deepest[0] else (level, path)

    return of(root, ())


def _first(pair: tuple[int, Path]) -> int:
    return pair[0]
