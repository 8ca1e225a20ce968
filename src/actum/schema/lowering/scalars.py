"""Which assertions about a string, number or list a dialect takes, which literals it lists, and how it spells them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from ..json import JsonObject, encode
from ..walk import EXCLUSIVE
from .definitions import ASSERTIONS, fits, kinds
from .dialects import Dialect
from .restoring import json_types

_PRINTED = '[^"\\\\\\x00-\\x1f]+$'
"""What ends no JSON string and needs no escape in one."""
REFERENCES: Mapping[str, str] = MappingProxyType({"^†": f"^†{_PRINTED}", "^[†{]": f"^[†{{]{_PRINTED}"})
"""The patterns of a reference and of one or a template, as the protocol writes them (T9), and the same for decoders.

`^†` is exactly † to xgrammar and any string to llama.cpp; what stands here is one thing to all.
"""
DEMANDING: Mapping[str, str] = MappingProxyType({**REFERENCES, "^[†{]": f'^(†|\\{{[^"\\\\\\x00-\\x1f†]*†){_PRINTED}'})
"""The same where nobody reads the pattern: a template that has no † is none, and a decoder must not begin one."""
SHORT: Mapping[str, str] = MappingProxyType({"^†": "^†.+$", "^[†{]": "^[†{].+$"})
"""The same for who reads a pattern as it stands, in few tokens."""

REFERENCE_WORDS: Mapping[str, str] = MappingProxyType({"^†": "a reference, †…", "^[†{]": "†… or {…}"})
"""What they say, for who takes no patterns."""

_EXACT = 2**53 - 1
"""Bounds from here on (zod's safe integers) say nothing and make grammars large."""


def accepted(kind: str, schema: JsonObject, dialect: Dialect) -> tuple[JsonObject, frozenset[str]]:
    """The assertions as the dialect takes them, and the names of those that say there all that they said."""
    result: JsonObject = {}
    whole: set[str] = set()
    family = ASSERTIONS.get("number" if kind == "integer" else kind, frozenset())
    for key, value in ((key, schema[key]) for key in schema if key in family):
        spelled = _spelled(kind, key, value, schema, dialect)
        if spelled is not None:
            result[spelled[0]] = spelled[1]
            if spelled[1] == value or (key == "pattern" and value in REFERENCES) or spelled[0] != key:
                whole.add(key)
    # vLLM refuses a length beside a pattern or a format; two ways to spell a string are one too many for the others.
    for stronger, weaker in (("pattern", ("format", "minLength", "maxLength")), ("format", ("minLength", "maxLength"))):
        if stronger in result:
            for key in weaker:
                result.pop(key, None)
                whole.discard(key)
    return result, frozenset(whole)


def _spelled(kind: str, key: str, value: Any, schema: JsonObject, dialect: Dialect) -> tuple[str, Any] | None:
    keywords = dialect.keywords.get(kind, frozenset())
    if kind == "integer" and key in EXCLUSIVE and key not in keywords:
        inclusive, step = EXCLUSIVE[key], 1 if key == "exclusiveMinimum" else -1
        whole = isinstance(value, int) and not isinstance(value, bool)
        if whole and inclusive not in schema:
            return _spelled(kind, inclusive, value + step, schema, dialect)
        return None
    if key not in keywords:
        return None
    match key:
        case "pattern":
            if value in REFERENCES:
                return key, _references(dialect)[value]
            return (key, value) if takes(dialect, value) else None
        case "format":
            return (key, value) if value in dialect.formats else None
        case _:
            return _bound(key, value, dialect.caps.get(key))


def _references(dialect: Dialect) -> Mapping[str, str]:
    if not dialect.shows_schema:
        return DEMANDING
    return SHORT if dialect.patterns == "plain" else REFERENCES


def _bound(key: str, value: Any, cap: int | None) -> tuple[str, Any] | None:
    if isinstance(value, bool) or not isinstance(value, int | float) or abs(value) >= _EXACT:
        return None
    if cap is None or value <= cap:
        return key, value
    return (key, cap) if key.startswith("min") else None


_NOT_PLAIN = re.compile(r"\(\?(?!:)|\\[1-9bBkpPuAzZGK]")
_SAFE = re.compile(
    r"""\^ (?: [^\\.\[\]^$|"\x00-\x1f]           # itself, or a group or a repetition
             | \\[dw\-./+*?()\[\]{}|^$@]          # a class of characters that need no escape in JSON
             | \[ (?! \^ ) (?: [^\\\]\["\x00-\x1f] | \\[dw\-./+*?()\[\]{}|^$@] )+ \]
             )* \$ """,
    re.VERBOSE,
)
_LONG = re.compile(r"\{[^}]*\d{4}")


def takes(dialect: Dialect, pattern: Any) -> bool:
    """Whether a pattern means to the dialect's decoder what it means here."""
    if dialect.patterns == "none" or not isinstance(pattern, str) or _NOT_PLAIN.search(pattern):
        return False
    return dialect.patterns == "plain" or (_SAFE.fullmatch(pattern) is not None and _LONG.search(pattern) is None)


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
