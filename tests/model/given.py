"""What drawn runs are given: tools, delegates, contexts, and what carries calls out, approves and answers."""

from __future__ import annotations

import json
from typing import Any

from .values import Json
from .world import Failure

_PARAMETERS: Json = {"n": {}, "x": {}, "how": {}, "gate": {}}
_RESULT: Json = {"_output": {}}
_METHODS = ["set", "merge", "assign", "push", "concat", "erase"]
SCOPES = [
    "result",
    "error",
    "plan",
    "meta",
    "state",
    "state.a",
    "state.l",
    "state.o",
    "state.r",
    "state.s",
    "user",
    "input",
]
_PICKED: Json = {"_scopes": {"type": "array", "items": {"enum": SCOPES}}}
_ITEMS = ["a", "fail", "b"]


def _tool(*parts: Json, **meta: Any) -> Json:
    return {"properties": {key: schema for part in (_PARAMETERS, *parts) for key, schema in part.items()}, **meta}


TOOLS: dict[str, Json] = {
    "work": _tool(_RESULT),
    "give": _tool(_RESULT, {"_outputMethod": {"enum": _METHODS}}),
    "write": _tool(_RESULT, _effects="ordered"),
    "note": _tool(),
    "peek": _tool(_effects="none"),
    "post": _tool(_effects="ordered"),
    "look": _tool(_RESULT, _PICKED, _effects="none"),
    "list": _tool({"_output": {"type": "array"}}),
    "hand": _tool(_RESULT, _PICKED, _delegate="anonymous", _activity="hand"),
    "ask": _tool(_RESULT, _delegate="anonymous"),
    "sub": _tool(_RESULT, _PICKED, _delegate="helper"),
    "sort": _tool(_RESULT, {"_activity": {"enum": ["work", "give"]}}),
    "choose": _tool(_RESULT, _PICKED, {"_delegate": {"enum": ["helper", "other"]}}, _resolution="execution"),
    "firm": _tool(_PICKED, _delegate="typed", _resolution="upfront"),
    "loose": _tool(_RESULT, _delegate="typed"),
    "count": _tool(_RESULT, {"x": {"type": "integer"}}),
    "say": _tool({"_output": {"type": "integer"}}),
}
ACTIVITIES = frozenset(TOOLS.keys() - {"ask", "sub", "sort", "choose", "firm", "loose", "say"})
OVERRIDES: list[Json] = [
    {"type": "tool", "tool": {"note": _tool(_RESULT)}},
    {"type": "tool", "tool": {"work": _tool(_RESULT, _effects="ordered")}},
    {"type": "tool", "tool": {"look": _tool(_RESULT, _PICKED, _activity="work")}},
    {"type": "tool", "tool": {"write": _tool(_RESULT, _delegate="other")}},
]
"""Tools that a context defines in place of those of the same name (T4)."""
DELEGATES: dict[str, Json] = {
    "helper": {
        "context": [{"type": "system", "message": "delegate of helper"}, {"type": "state", "own": 7, "a": "helper's"}],
        "config": {"tools": ["work", "write", "note", "look"]},
    },
    "other": {
        "context": [
            {"type": "system", "message": "delegate of other"},
            {"type": "meta", "meta": {"path": "other", "version": "0.1"}},
        ]
    },
    "typed": {
        "context": [
            {"type": "system", "message": "delegate of typed"},
            {
                "type": "input",
                "input": {"more": 1},
                "schema": {"type": "object", "properties": {"x": {"type": "integer"}, "more": {"type": "integer"}}},
            },
        ],
        "schema": {"type": "integer"},
    },
}
CONTEXT: list[Json] = [
    {"type": "text", "text": "go"},
    {
        "type": "state",
        "a": 1,
        "l": [0],
        "o": {"k": 1, "m": {"u": 1}},
        "t": "text",
        "yes": True,
        "no": False,
        "abc": _ITEMS,
    },
    {"type": "data", "kind": "user", "data": {"z": 5}},
    {"type": "input", "q": "what"},
]
META: Json = {"type": "meta", "meta": {"path": "drawn", "version": "1.2"}}
"""What the request is part of, so that its model is asked for the next version (T5)."""
INSTANCES: list[Json] = [
    {"type": "state", "a": "one", "o": {"k": "one"}, "_instance": "①"},
    {"type": "state", "a": "two", "w": 2, "_instance": "②"},
]
REPLIES: dict[str, list[Json]] = {
    "helper": [{"calls": [], "output": ["sub", "†input"]}],
    "ask": [{"calls": [], "output": {"asked": 1}}],
    "typed": [{"calls": [], "output": 7}],
}
"""What is answered in delegates where nothing else is drawn."""
GATE = "†state.approvals.g"
"""The gate that holds whatever reads it until it is opened between runs (C7)."""
TEXT = "it is "
"""What drawn texts begin with."""
PLANNED = 800
"""From this number on, calls are those of a plan that a conversation begins with."""
FIRST_INSIDE = 900
"""From this number on, calls are those that delegates make."""
REFERENCES = ["†state.a", "†state.l", "†state.o", "†state.o.k", "†user.z", "†input.q", "†state.t"]


def carry(tool: str, arguments: Json) -> Any:
    """What the Activities do."""
    if arguments.get("how") in ["fail", "late"]:
        raise Failure("broken")
    if arguments.get("how") == "misfit":
        return "misfit"
    if tool == "give":
        return arguments.get("x")
    if "crossing" in arguments:
        # A text shows the order of keys, which the protocol leaves open.
        return [arguments.get("n"), json.loads(json.dumps(arguments["crossing"], sort_keys=True))]
    return [arguments.get("n"), arguments.get("x")]


def answer_read(arguments: Json) -> Any:
    """What the model answers as a reader."""
    kind = arguments["ask"].split()[0]
    return "junk" if kind == "junk" else {"calls": [], "output": None if kind == "nothing" else [arguments["of"]]}


def approve(_tool_name: str, arguments: Json) -> Any:
    match arguments.get("gate"):
        case "deny":
            return "not now"
        case "edit":
            return arguments | {"x": "edited"}
        case _:
            return True
