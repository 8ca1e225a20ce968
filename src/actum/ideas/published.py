"""The format of an Idea as a JSON Schema, for editors and for other programs (X1). Made from what the code knows."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import MISSING, fields
from functools import lru_cache
from inspect import cleandoc, getsource
from itertools import pairwise
from textwrap import dedent
from typing import get_type_hints

from ..messages import KINDS, Key, Kind
from ..messages.role import RAW
from ..protocol.call import EACH, ELSE, EXPECT, META, THEN, VALUE, WHEN, WITH
from ..protocol.config import Config, Limits
from ..schema.infer import adapter_of, jsonable, schema_of
from ..schema.json import JsonObject

ADDRESS = "https://json-schema.org/draft/2020-12/schema"
_STRING: JsonObject = {"type": "string"}

_NUMBERS = ("integer", "number")
_LEAST: JsonObject = {"minimum": 0}


def idea_schema() -> JsonObject:
    """The schema of an Idea file."""
    shapes = [_message(KINDS[name]) for name in sorted(KINDS.keys() - {RAW})]
    return {
        "$schema": ADDRESS,
        "title": "Idea",
        "description": "A saved request for an agent, perhaps with its answer.",
        "type": "object",
        "properties": {
            "$schema": _STRING,
            "meta": {"type": "object", "description": KINDS["meta"].about},
            "config": _config(),
            "context": {
                "type": "array",
                "items": {"$ref": "#/$defs/message"},
                "description": "The messages of the request, in order.",
            },
            "schema": {"type": ["object", "boolean"], "description": "The JSON Schema of the output."},
            "solution": _solution(),
        },
        "patternProperties": {"^\\$": True},
        "required": ["context"],
        "additionalProperties": False,
        "$defs": {"call": _call(), "message": {"anyOf": [*shapes, _message(KINDS[RAW], is_typed=False)]}},
    }


def _message(kind: Kind, *, is_typed: bool = True) -> JsonObject:
    keys = {name: _key(key) for name, key in kind.keys.items()}
    if kind.has_short_form:
        keys[kind.type] = {"description": "The data, in the long form."}
    rest: JsonObject = {} if kind.has_short_form else {"patternProperties": {"^_": True}, "additionalProperties": False}
    required = [name for name, key in kind.keys.items() if key.is_required]
    return {
        "type": "object",
        "description": kind.about,
        "properties": {"type": {"const": kind.type}, **keys} if is_typed else keys,
        "required": ["type", *required] if is_typed else required,
        **({"oneOf": [{"required": [name]} for name in kind.one_of]} if kind.one_of else {}),
        **rest,
    }


def _key(key: Key) -> JsonObject:
    schema: JsonObject = {"enum": list(key.choices)} if key.choices else {}
    if key.types:
        schema["type"] = key.types[0] if len(key.types) == 1 else list(key.types)
    if key.items is not None:
        schema["items"] = key.items
    return {**schema, "description": key.about}


_FLOW: JsonObject = {
    EACH: {"description": "The list for whose items it is made, one by one: a list, or a reference to one."},
    WHEN: {"type": ["string", "boolean"], "description": "The condition: it is skipped where this comes to false."},
    ELSE: {
        "description": "What it gives where it fails, or what an item gives where that does; †error is the kind of "
        "failure."
    },
}


def _call() -> JsonObject:
    """An element of `calls`."""
    return {
        "type": "object",
        "description": "A call, a value to compute, or what orders the calls before and behind it.",
        "anyOf": [_tool_call(), _value(), _then(), _expect()],
    }


def _tool_call() -> JsonObject:
    return {
        "description": "A call: the tool's name and its parameters; a string that begins with † is a reference.",
        "properties": {
            "_tool": {**_STRING, "description": META["_tool"]},
            **{name: {"description": words} for name, words in META.items() if name != "_tool"},
            **_FLOW,
            WITH: {"type": "object", "description": "References alongside the literal parameters, by their paths."},
            VALUE: False,
        },
        "required": ["_tool"],
    }


def _value() -> JsonObject:
    return {
        "description": "A value that is computed and has a number like the result of a call.",
        "properties": {
            VALUE: {"description": "A reference, a text with expressions in braces, or JSON with both."},
            **_FLOW,
            "_tool": False,
        },
        "patternProperties": {"^_": True},
        "required": [VALUE],
        "additionalProperties": False,
    }


def _then() -> JsonObject:
    return {
        "description": "What is listed behind it starts when all that is listed before it has succeeded.",
        "properties": {THEN: {"const": True}},
        "required": [THEN],
        "additionalProperties": False,
    }


def _expect() -> JsonObject:
    shaped: JsonObject = {
        "type": "object",
        "properties": {"of": _STRING, "as": {"type": ["string", "object"]}},
        "required": ["of", "as"],
        "additionalProperties": False,
    }
    return {
        "description": "What has to be true for what is listed behind it and for the output: a condition, or a value "
        "and the shape that it has to have.",
        "properties": {EXPECT: {"anyOf": [{"type": ["string", "boolean"]}, shaped]}},
        "required": [EXPECT],
        "additionalProperties": False,
    }


def _solution() -> JsonObject:
    return {
        "description": "The answer of a model, or the list of its calls: the plan where there is no model to ask.",
        "type": ["object", "array", "null"],
        "properties": {"calls": {"type": ["array", "null"]}, "output": {}, "meta": {}},
    }


def _config() -> JsonObject:
    return {
        "type": "object",
        "description": "How the request is made and run, and what it needs.",
        "properties": {
            **_members(Config),
            "servers": {
                "description": "Files of tool servers, MCP's and APIs, whose tools are offered, below the Idea's "
                "roots; an Idea's own user starts them, no caller of it does.",
                "type": ["string", "array"],
                "items": _STRING,
                "examples": ["mcp.json"],
            },
            "activities": {
                "description": "Python modules or files that register Activities; local Ideas only.",
                "type": ["string", "array"],
                "items": _STRING,
                "examples": ["tools.py", ["shop.tools"]],
            },
            "model": {**_STRING, "description": "The model that is asked.", "examples": ["openai:gpt-5.2"]},
            "limits": {
                "type": "object",
                "description": "What a run may spend.",
                "properties": _members(Limits),
                "additionalProperties": False,
                "examples": [{"requests": 20, "seconds": 120, "usd": 0.5}],
            },
            "origin": {**_STRING, "description": "The file that relative paths start from."},
            "batch": {
                "type": "number",
                "exclusiveMinimum": 0,
                "description": "Within how many seconds its worker has requests answered by a provider's batches.",
                "examples": [86400],
            },
            "deps": {
                **_STRING,
                "description": "Which of its worker's `deps` its tools are given.",
                "examples": ["shop"],
            },
        },
    }


_EXAMPLES: JsonObject = {
    "reader": ["openai:gpt-5.2-mini"],
    "settings": [{"temperature": 0}],
    "tools": [["weather", "read"]],
    "allow_hosts": [["ideas.example.internal"]],
    "grants": [["weather"]],
}


def _members(value: type) -> JsonObject:
    """The schema of each field of a dataclass: its type, what is said of it there, and its default.

    None of the numbers may be negative.
    """
    hints, docs = get_type_hints(value), _field_docs(value)
    defaults = {field.name: jsonable(field.default) for field in fields(value) if field.default is not MISSING}
    members: JsonObject = {}
    for name, hint in hints.items():
        schema = schema_of(adapter_of(hint), "validation")
        schema |= _LEAST if schema.get("type") in _NUMBERS else {}
        schema |= {"description": docs[name]} if name in docs else {}
        schema |= {"default": defaults[name]} if name in defaults else {}
        members[name] = schema | ({"examples": _EXAMPLES[name]} if name in _EXAMPLES else {})
    return members


@lru_cache
def _field_docs(value: type) -> Mapping[str, str]:
    """The docstring below each field of a class, which editors show; none where its source isn't at hand."""
    try:
        source = ast.parse(dedent(getsource(value))).body[0]
    except (OSError, TypeError):
        return {}
    return {
        field.target.id: cleandoc(text)
        for field, below in pairwise(source.body if isinstance(source, ast.ClassDef) else ())
        if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name)
        if isinstance(below, ast.Expr) and isinstance(below.value, ast.Constant)
        if isinstance(text := below.value.value, str)
    }
