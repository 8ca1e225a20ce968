"""`enum` and `const` as a dialect takes them: the values by their types, a schema for each type."""

from __future__ import annotations

from typing import Any

from ..json import JsonObject, encode
from .dialects import Dialect
from .merging import fits, kinds
from .restoring import json_types


def literals(schema: JsonObject, dialect: Dialect) -> tuple[list[JsonObject] | None, list[str]]:
    """The options that the listed values make, None if one can't be listed; and what is left to the local check."""
    values: list[Any] = schema["enum"] if "enum" in schema else [schema["const"]]
    if "enum" in schema and "const" in schema:
        values = [value for value in values if value == schema["const"]]
    allowed = kinds({"type": schema["type"]}) if "type" in schema else ()
    values = [value for value in values if not allowed or any(fits(value, kind) for kind in allowed)]
    options: list[JsonObject] = []
    changes: list[str] = []
    for kind, listed in _grouped(values).items():
        if kind in {"object", "array"} and kind not in dialect.literals:
            return None, changes
        option = _option(kind, listed, dialect, is_const="const" in schema)
        if option == {"type": "boolean"} and len(listed) == 1:
            changes.append("which boolean is valid moved to the local check")
        options.append(option)
    return options or None, changes


def _grouped(values: list[Any]) -> dict[str, list[Any]]:
    numbers = "number" if any(isinstance(value, float) for value in values) else "integer"
    groups: dict[str, dict[str, Any]] = {}
    for value in values:
        types = json_types(value)
        kind = numbers if "number" in types else next(iter(types))
        groups.setdefault(kind, {}).setdefault(encode(value), value)
    return {kind: list(group.values()) for kind, group in groups.items()}


def _option(kind: str, values: list[Any], dialect: Dialect, *, is_const: bool) -> JsonObject:
    if kind == "null":
        return {"type": "null"}
    if kind == "boolean" and (len(values) == 2 or kind not in dialect.literals):
        return {"type": "boolean"}
    head: JsonObject = {} if kind in {"object", "array"} else {"type": kind}
    return head | ({"const": values[0]} if is_const and dialect.const else {"enum": values})
