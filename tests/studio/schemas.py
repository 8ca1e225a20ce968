"""A dozen hard schemas: values that each takes, and one that it doesn't, with where that is told."""

from __future__ import annotations

from typing import Any

_NODE: dict[str, Any] = {
    "type": "object",
    "properties": {"name": {"type": "string"}, "children": {"type": "array", "items": {"$ref": "#/$defs/node"}}},
    "required": ["name"],
}
_SHAPES: list[Any] = [
    {
        "type": "object",
        "properties": {"kind": {"const": "circle"}, "radius": {"type": "number", "exclusiveMinimum": 0}},
        "required": ["kind", "radius"],
    },
    {
        "type": "object",
        "properties": {"kind": {"const": "box"}, "size": {"$ref": "#/$defs/size"}},
        "required": ["kind", "size"],
    },
]


def _object(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": list(properties)}


HARD: dict[str, tuple[Any, list[Any], tuple[Any, str]]] = {
    "nested objects": (
        _object(a=_object(b=_object(c={"type": "string", "minLength": 2}))),
        [{"a": {"b": {"c": "deep"}}}],
        ({"a": {"b": {"c": "x"}}}, "/a/b/c"),
    ),
    "optional parts": (
        {"type": "object", "properties": {"a": {"type": "string"}, "b": _object(n={"type": "integer"})}},
        [{}, {"a": "x"}, {"b": {"n": 3}}],
        ({"b": {}}, "/b/n"),
    ),
    "lists of objects": (
        _object(rows={"type": "array", "items": _object(n={"type": "integer"}, ok={"type": "boolean"}), "minItems": 1}),
        [{"rows": [{"n": 1, "ok": True}, {"n": -2, "ok": False}]}],
        ({"rows": [{"n": 1.5, "ok": True}]}, "/rows/0/n"),
    ),
    "choices of any type": (
        _object(one={"enum": ["a", 1, None, True, {"x": 1}, [2]]}),
        [{"one": value} for value in ("a", 1, None, True, {"x": 1}, [2])],
        ({"one": "b"}, "/one"),
    ),
    "variants with a discriminator": (
        {**_object(shape={"oneOf": _SHAPES}), "$defs": {"size": {"type": "array", "items": {"type": "number"}}}},
        [{"shape": {"kind": "circle", "radius": 2.5}}, {"shape": {"kind": "box", "size": [1, 2]}}],
        ({"shape": {"kind": "circle", "radius": -1}}, "/shape"),
    ),
    "null or more": (
        _object(a={"type": ["string", "null"]}, b={"anyOf": [{"type": "integer"}, {"type": "null"}]}),
        [{"a": None, "b": None}, {"a": "x", "b": 0}, {"a": "", "b": -1}],
        ({"a": 3, "b": None}, "/a"),
    ),
    "recursive": (
        {"$ref": "#/$defs/node", "$defs": {"node": _NODE}},
        [{"name": "a", "children": [{"name": "b"}, {"name": "c", "children": [{"name": "d", "children": []}]}]}],
        ({"name": "a", "children": [{}]}, "/children/0/name"),
    ),
    "open objects": (
        {"type": "object", "additionalProperties": {"type": "integer"}},
        [{}, {"a": 1, "b/c~d": 2}],
        ({"a": "x"}, "/a"),
    ),
    "members beside those that are named": (
        {
            **_object(a={"type": "string"}),
            "additionalProperties": True,
            "patternProperties": {"^x-": {"type": "string"}},
        },
        [{"a": "x", "more": [1, {"y": None}], "x-own": "z"}],
        ({"a": "x", "x-own": 1}, "/x-own"),
    ),
    "tuples": (
        _object(at={"type": "array", "prefixItems": [{"type": "number"}, {"type": "string"}], "items": False}),
        [{"at": [1.5, "north"]}],
        ({"at": ["x", "north"]}, "/at/0"),
    ),
    "all of several": (
        {
            "allOf": [_object(a={"type": "string"}), {"$ref": "#/$defs/more"}],
            "$defs": {"more": _object(b={"type": "number"})},
        },
        [{"a": "x", "b": 1e3}],
        ({"a": "x", "b": "y"}, "/b"),
    ),
    "formats, patterns and long texts": (
        _object(
            day={"type": "string", "format": "date"},
            code={"type": "string", "pattern": "^[A-Z]{2}$"},
            words={"type": "string", "maxLength": 5000},
            file={"type": "string", "contentEncoding": "base64"},
        ),
        [{"day": "2026-11-22", "code": "PT", "words": "one\n\ntwo  <b>", "file": "AAEC"}],
        ({"day": "2026-11-22", "code": "pt", "words": "", "file": ""}, "/code"),
    ),
    "conditions": (
        {
            **_object(country={"enum": ["PT", "US"]}),
            "if": {"properties": {"country": {"const": "US"}}},
            "then": {"required": ["zip"]},
        },
        [{"country": "PT"}, {"country": "US", "zip": "94110"}],
        ({"country": "US"}, "/zip"),
    ),
    "odd names": (
        _object(
            **{"a/b": {"type": "string"}, "~": {"type": "integer"}, "": {"type": "boolean"}, "<x>": {"type": "number"}}
        ),
        [{"a/b": "x", "~": 1, "": True, "<x>": 0.5}],
        ({"a/b": "x", "~": "y", "": True, "<x>": 0.5}, "/~0"),
    ),
}
