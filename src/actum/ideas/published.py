"""The format of an Idea as a JSON Schema, for editors and for other programs (X1). Made from what the code knows."""

from __future__ import annotations

from typing import get_type_hints

from ..protocol.call import EACH, META
from ..protocol.config import Config, Limits
from ..protocol.message import DATA_KINDS, FORMS
from ..schema.infer import adapter_of, schema_of
from ..schema.json import JsonObject

ADDRESS = "https://json-schema.org/draft/2020-12/schema"
_STRING: JsonObject = {"type": "string"}
_SCHEMA: JsonObject = {"$ref": ADDRESS}
_CALL: JsonObject = {"$ref": "#/$defs/call"}

_MEMBERS: dict[str, JsonObject] = {
    "text": {**_STRING, "description": "What is said."},
    "role": {"enum": ["system", "user", "assistant"], "description": "Who says it; the user, where nothing is said."},
    "message": {**_STRING, "description": "What is said."},
    "tool": {"type": "object", "description": "Tools by name, each a JSON Schema; or one schema with its `_tool`."},
    "data": {"description": "A value of a kind; it merges deeply into what the kind holds."},
    "kind": {**_STRING, "description": "What the data is called in references: `†kind.path`."},
    "schema": {"type": ["object", "boolean"], "description": "The JSON Schema that the data should have."},
    "description": {"description": "What the data is, for the model."},
    "plan": {"type": "array", "description": "Calls that run; those that are done have left a message behind it."},
    "mode": {"enum": ["eager", "lazy"], "description": "Lazy only stands there, and runs nothing."},
    "output": {"description": "The answer once the plan has run; it may refer to results."},
    "meta": {"type": "object", "description": "Who the Idea is."},
    "error": {"description": "What went wrong."},
    "call": {"description": "The call that it is about."},
    "of": {**_STRING, "description": "Where the call stands: the message of its plan, a dot, its place there."},
    "decision": {"enum": ["held", "approve", "deny"]},
    "reason": {**_STRING, "description": "Why it was denied."},
    "as": {"type": "object", "description": "The call that runs in its place."},
    "shown": {"type": "object", "description": "What was approved: the call with its values, and what crosses to it."},
    "takes": {"type": "object", "description": "The schema of the parameters that the tool of the call takes."},
    "context": {"type": "array", "description": "What the delegate had come to."},
}
_OF_TYPE: dict[tuple[str, str], JsonObject] = {
    ("plan", "plan"): {"type": "array", "items": _CALL, "description": _MEMBERS["plan"]["description"]},
    ("approval", "call"): {"type": "object"},
    ("suspended", "call"): {"type": "object"},
}
_SAID = {
    "text": "A text, of the user where no role is named.",
    "system": "An instruction.",
    "user": "What the user says.",
    "assistant": "What was answered before.",
    "tool": "Tools that the context brings along.",
    "data": "Data of a kind of one's own.",
    "input": "The data that the request is about. Members beside `schema` and `description` are the data itself.",
    "state": "What is known. Members beside `schema` and `description` are the data itself.",
    "plan": "Calls that are to be made.",
    "meta": "Who the Idea is.",
    "error": "What went wrong with a call.",
    "approval": "What was decided of a call.",
    "suspended": "What the delegate of a call had come to when it was cut.",
}


_NUMBERS = ("integer", "number")
_LEAST: JsonObject = {"minimum": 0}


def idea_schema() -> JsonObject:
    """The schema of an Idea file."""
    shapes = [_message(kind) for kind in sorted(FORMS)] + [_data(kind) for kind in sorted(DATA_KINDS - {"data"})]
    return {
        "$schema": ADDRESS,
        "title": "Idea",
        "description": "A saved request for an agent, perhaps with its answer.",
        "type": "object",
        "properties": {
            "$schema": _STRING,
            "meta": {"type": "object", "description": _MEMBERS["meta"]["description"]},
            "config": _config(),
            "context": {
                "type": "array",
                "items": {"anyOf": [*shapes, _raw()]},
                "description": "The messages of the request, in order.",
            },
            "schema": {**_MEMBERS["schema"], "description": "The JSON Schema of the output."},
            "solution": _solution(),
        },
        "patternProperties": {"^\\$": True},
        "required": ["context"],
        "additionalProperties": False,
        "$defs": {"call": _call()},
    }


def _message(kind: str) -> JsonObject:
    required, optional = FORMS[kind]
    members = {name: _OF_TYPE.get((kind, name), _MEMBERS[name]) for name in sorted(required | optional)}
    return {
        "type": "object",
        "description": _SAID[kind],
        "properties": {"type": {"const": kind}, **members},
        "patternProperties": {"^_": True},
        "required": ["type", *sorted(required)],
        "additionalProperties": False,
    }


def _data(kind: str) -> JsonObject:
    notes = {name: _MEMBERS[name] for name in ("schema", "description")}
    return {
        "type": "object",
        "description": _SAID[kind],
        "properties": {"type": {"const": kind}, kind: {"description": "The data, in the long form."}, **notes},
        "required": ["type"],
    }


def _raw() -> JsonObject:
    return {
        "type": "object",
        "description": "A message as chat models take it.",
        "properties": {"role": _MEMBERS["role"], "content": {}},
        "patternProperties": {"^_": True},
        "required": ["role", "content"],
        "additionalProperties": False,
    }


def _call() -> JsonObject:
    return {
        "type": "object",
        "description": "A call: the tool's name and its parameters; a string that begins with † is a reference.",
        "properties": {
            "_tool": {**_STRING, "description": "The tool that is called."},
            **{name: True for name in (*META, EACH) if name != "_tool"},
        },
        "required": ["_tool"],
    }


def _solution() -> JsonObject:
    return {
        "type": ["object", "null"],
        "description": "The answer of a model. Where there is no model to ask, it is the plan.",
        "properties": {"calls": {"type": ["array", "null"]}, "output": {}, "meta": {}},
    }


def _config() -> JsonObject:
    return {
        "type": "object",
        "description": "How the request is made and run, and what it needs.",
        "properties": {
            **_members(Config),
            "activities": {
                "description": "Python modules or files that register Activities; local Ideas only.",
                "type": ["string", "array"],
                "items": _STRING,
            },
            "model": {**_STRING, "description": "A model such as openai:gpt-5.2."},
            "limits": {
                "type": "object",
                "description": "What a run may spend.",
                "properties": _members(Limits),
                "additionalProperties": False,
            },
            "origin": {**_STRING, "description": "The file that relative paths start from."},
        },
    }


def _members(value: type) -> JsonObject:
    """The schema of each field of a dataclass, as its type says; none of its numbers may be negative."""
    members = {name: schema_of(adapter_of(hint), "validation") for name, hint in get_type_hints(value).items()}
    return {name: {**own, **_LEAST} if own.get("type") in _NUMBERS else own for name, own in members.items()}
