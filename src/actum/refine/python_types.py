"""The types of a written function: what schemas declare, else what the examples were (R37)."""

from __future__ import annotations

import keyword
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from ..schema.json import JsonObject, is_list, is_object
from ..schema.walk import required_of
from .author import declared_at
from .python_layout import python_text

_SCALARS = {"string": "str", "integer": "int", "number": "float", "boolean": "bool", "null": "None"}
_MOST_CLASSES = 30


def is_python_name(word: str) -> bool:
    """Whether something can be the name of a variable or a key of a class."""
    return word.isascii() and word.isidentifier() and not keyword.iskeyword(word) and not word.startswith("_")


@dataclass
class PythonTypes:
    """The types of values by schemas; objects with known keys become classes."""

    classes: dict[str, list[str]] = field(default_factory=dict[str, list[str]])
    """The members of each, a line each."""
    imported: set[str] = field(default_factory=set[str])

    def of(self, schema: JsonObject, values: Sequence[Any], name: str) -> str:
        """The type of a value; a class of it would have this name."""
        options: Any = schema.get("enum")
        if is_list(options) and options and all(isinstance(one, str) for one in options):
            self.imported.add("Literal")
            return f"Literal[{', '.join(map(python_text, options))}]"
        kinds: Any = schema.get("type")
        if (
            kinds is None
            and "properties" not in schema
            and not any(key in schema for key in ("anyOf", "oneOf", "allOf"))
        ):
            return self._of_values(values, name)
        if kinds == "array":
            items = [item for one in values if is_list(one) for item in one]
            return f"list[{self.of(declared_at(schema, (0,)), items, f'{name}Item')}]"
        if kinds == "object" or "properties" in schema:
            return self._of_object(schema, values, name)
        named: list[str] = [kinds] if isinstance(kinds, str) else list(kinds) if is_list(kinds) else []
        found = [_SCALARS.get(kind, "") for kind in named]
        return " | ".join(found) if all(found) and found else self._any()

    def _of_object(self, schema: JsonObject, values: Sequence[Any], name: str) -> str:
        held = [one for one in values if is_object(one)]
        declared: Any = schema.get("properties") or {}
        if not declared:
            return self._of_values(values, name) if held else self._map()
        if not all(map(is_python_name, declared)) or len(self.classes) > _MOST_CLASSES:
            return self._map()
        required = required_of(schema)
        lines: list[str] = []
        own = self._class(name)
        for key in declared:
            found = self.of(
                declared_at(schema, (key,)), [one[key] for one in held if key in one], f"{name}{titled(key)}"
            )
            if key not in required:
                self.imported.add("NotRequired")
                found = f"NotRequired[{found}]"
            lines.append(f"{key}: {found}")
        self.classes[own] = lines
        return own

    def _of_values(self, values: Sequence[Any], name: str) -> str:
        """What all of the values are."""
        held = [one for one in values if is_object(one)]
        if held and len(held) == len(values):
            is_alike = (
                all(one.keys() == held[0].keys() for one in held) and all(map(is_python_name, held[0])) and held[0]
            )
            schema: JsonObject = {"properties": {key: {} for key in held[0]}, "required": list(held[0])}
            return self._of_object(schema, values, name) if is_alike else self._map()
        if values and all(is_list(one) for one in values):
            return f"list[{self._of_values([item for one in values for item in one], f'{name}Item')}]"
        kinds = {_kind(one) for one in values}
        if kinds == {"integer", "number"}:
            kinds = {"number"}
        return _SCALARS[kinds.pop()] if len(kinds) == 1 and "" not in kinds else self._any()

    def _class(self, name: str) -> str:
        own, number = name, 2
        while own in self.classes:
            own, number = f"{name}{number}", number + 1
        self.classes[own] = []
        self.imported.add("TypedDict")
        return own

    def _map(self) -> str:
        return f"dict[str, {self._any()}]"

    def _any(self) -> str:
        self.imported.add("Any")
        return "Any"


def titled(word: str) -> str:
    """A name in the form of a class's."""
    return "".join(part[:1].upper() + part[1:] for part in word.split("_"))


def _kind(value: object) -> str:
    """What a schema calls a scalar."""
    if value is None or isinstance(value, bool):
        return "null" if value is None else "boolean"
    if isinstance(value, str):
        return "string"
    return "integer" if isinstance(value, int) else "number" if isinstance(value, float) else ""
