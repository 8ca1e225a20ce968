"""The types of a written function: what schemas declare, else what the examples were (R37)."""

from __future__ import annotations

import keyword
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Any

from ..schema.json import JsonObject, is_list, is_object
from ..schema.walk import required_of, unused
from .author import declared_at
from .python_layout import python_text

_SCALARS = {"string": "str", "integer": "int", "number": "float", "boolean": "bool", "null": "None"}
_NAMES: Mapping[type, str] = {type(None): "None", bool: "bool", str: "str", int: "int", float: "float"}
_MOST_CLASSES = 30


def is_python_name(word: str) -> bool:
    """Whether something can be the name of a variable or a key of a class."""
    return word.isascii() and word.isidentifier() and not keyword.iskeyword(word) and not word.startswith("_")


@dataclass
class PythonTypes:
    """The types of values by schemas; objects with known keys become classes."""

    classes: dict[str, list[str]] = field(default_factory=dict[str, list[str]])
    """The members of each, one per line."""
    imported: set[str] = field(default_factory=set[str])

    def of(self, schema: JsonObject, values: Sequence[Any], name: str) -> str:
        """The type of a value; a class of it would have this name."""
        options: Any = schema.get("enum")
        if is_list(options) and options and all(isinstance(option, str) for option in options):
            self.imported.add("Literal")
            return f"Literal[{', '.join(map(python_text, options))}]"
        kinds: Any = schema.get("type")
        if kinds is None and not {"properties", "anyOf", "oneOf", "allOf"} & schema.keys():
            return self._of_values(values, name)
        if kinds == "array":
            items = [item for value in values if is_list(value) for item in value]
            return f"list[{self.of(declared_at(schema, (0,)), items, f'{name}Item')}]"
        if kinds == "object" or "properties" in schema:
            return self._of_object(schema, values, name)
        named: list[Any] = [kinds] if isinstance(kinds, str) else kinds if is_list(kinds) else []
        types = [_SCALARS.get(kind, "") for kind in named]
        return " | ".join(types) if all(types) and types else self._any()

    def _of_object(self, schema: JsonObject, values: Sequence[Any], name: str) -> str:
        objects = [value for value in values if is_object(value)]
        declared: Any = schema.get("properties") or {}
        if not declared:
            return self._of_values(values, name) if objects else self._map()
        if not all(map(is_python_name, declared)) or len(self.classes) > _MOST_CLASSES:
            return self._map()
        required = required_of(schema)
        lines: list[str] = []
        class_name = self._class(name)
        for key in declared:
            held = [value[key] for value in objects if key in value]
            member = self.of(declared_at(schema, (key,)), held, f"{name}{titled(key)}")
            if key not in required:
                self.imported.add("NotRequired")
                member = f"NotRequired[{member}]"
            lines.append(f"{key}: {member}")
        self.classes[class_name] = lines
        return class_name

    def _of_values(self, values: Sequence[Any], name: str) -> str:
        """The type that all values have."""
        if values and all(map(is_object, values)):
            keys = values[0].keys()
            is_alike = keys and all(value.keys() == keys for value in values)
            schema: JsonObject = {"properties": {key: {} for key in keys}, "required": list(keys)}
            return self._of_object(schema, values, name) if is_alike else self._map()
        if values and all(map(is_list, values)):
            return f"list[{self._of_values([*chain(*values)], f'{name}Item')}]"
        scalars: Sequence[object] = values
        names = {_NAMES.get(type(value), "") for value in scalars}
        if names == {"int", "float"}:
            return "float"
        return names.pop() if len(names) == 1 and "" not in names else self._any()

    def _class(self, name: str) -> str:
        name = unused(name, self.classes, "")
        self.classes[name] = []
        self.imported.add("TypedDict")
        return name

    def _map(self) -> str:
        return f"dict[str, {self._any()}]"

    def _any(self) -> str:
        self.imported.add("Any")
        return "Any"


def titled(word: str) -> str:
    """A name in the form of a class's."""
    return "".join(part[:1].upper() + part[1:] for part in word.split("_"))
